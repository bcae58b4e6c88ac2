# SPDX-License-Identifier: Apache-2.0
"""What a capture notes of a real run: locks, critical sections, elements, calls into libraries."""

import json
import textwrap
from typing import NamedTuple

import pytest
from tests.integration.test_server import Client

from unsnarl.runfile.reader import read_run

pytestmark = pytest.mark.core

READ, WRITE, ACQUIRE, RELEASE, WAIT, CALL = 0, 1, 2, 3, 4, 10
MOST_RUNS = 200


class Taken(NamedTuple):
    """One entry of the note."""

    event: int
    point: int
    path: str
    value: str
    locks: list[str]
    variable: str
    held: list[tuple[int, int]]
    cell: tuple[int, str, int]
    stack: list[tuple[str, int, str]]


@pytest.fixture
def start(tmp_path):
    clients = []

    def make(source):
        (tmp_path / "subject.py").write_text(textwrap.dedent(source))
        clients.append(Client(tmp_path, "script", "subject.py"))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def sites(client, function, kind):
    """The ids of a function's sites of one kind, in the order of the code."""
    codes = json.loads((client.folder / "codes.json").read_text())["codes"]
    (code,) = [code for code in codes if code["function"] == function]
    return [code["base"] + row[0] for row in code["sites"] if row[1] == kind]


def captured(client, points, number=1, **plan):
    assert client.run(number, capture=points, **plan)["status"] == 0
    return [Taken(*value) for value in read_run(client.path(number, "run")).notes.values]


LOCKS = """
    import threading
    class Box:
        def __init__(self):
            self.n = 0
            self.lock = threading.RLock()
    def twice(box):
        with box.lock:
            with box.lock:
                box.n = 1
            box.n = 2
        with box.lock:
            box.n = 3
    def work():
        for box in [Box(), Box()]:
            twice(box)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
"""


def test_every_lock_and_every_critical_section_has_a_number(start):
    client = start(LOCKS)
    points = [site << 4 | WRITE for site in sites(client, "twice", "attr_write")]
    values = captured(client, points)
    assert [value.locks for value in values] == [["Box.lock"]] * 6
    locks = [lock for value in values for lock, _ in value.held]
    assert locks == [1, 1, 1, 2, 2, 2]
    first, second, third, fourth, *_ = [section for value in values for _, section in value.held]
    assert first == second and len({second, third, fourth}) == 3
    assert len({value.cell[2] for value in values}) == 2


DECORATED = """
    import threading
    SHELF = threading.Lock()
    def locked(lock):
        def decorate(function):
            def wrapper():
                with lock:
                    function()
            return wrapper
        return decorate
    @locked(SHELF)
    def put():
        pass
    def work():
        put()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
"""


def test_of_a_lock_its_name_and_the_calls_that_led_to_it_are_taken(start):
    client = start(DECORATED)
    client.run(1, trace=True)
    trace = read_run(client.path(1, "run")).trace
    taken = {int(point) for point in trace["point"] if point & 15 == ACQUIRE}
    waits = {point & ~15 | WAIT for point in taken}
    values = captured(client, sorted(taken | waits), number=2)
    # `with lock:` knows it by another name; each has begun to wait before it took the lock.
    shelf = [value for value in values if value.variable == "SHELF"]
    assert [value.point & 15 for value in shelf] == [WAIT, ACQUIRE]
    for value in shelf:
        assert [function for _, _, function in value.stack] == [
            "locked.<locals>.decorate.<locals>.wrapper",
            "work",
        ]


WAITING = """
    import threading
    ready = threading.Condition()
    done = []
    def work():
        with ready:
            while not done:
                ready.wait()
        done.append(1)
    thread = threading.Thread(target=work)
    thread.start()
    with ready:
        done.append(0)
        ready.notify()
    thread.join()
"""


def test_of_a_wait_the_lock_that_it_gives_back_and_the_calls_are_taken(start):
    client = start(WAITING)
    # The worker is first to come to the lock, finds nothing done, and waits.
    for number in range(1, MOST_RUNS):
        client.run(number, trace=True, seed=number)
        trace = read_run(client.path(number, "run")).trace
        points = sorted({int(point) for point in trace["point"]})
        values = captured(client, points, number=number + MOST_RUNS, seed=number)
        released = [one for one in values if one.point & 15 == RELEASE and one.stack]
        waits = [one for one in released if one.stack[0][1] == 8]
        if waits:
            break
    (wait,) = [one for one in waits if one.variable]
    assert (wait.variable, [function for *_, function in wait.stack]) == ("ready", ["work"])


def test_what_a_condition_leaves_behind_is_no_lock_of_the_target(start):
    client = start(WAITING)
    *_, append = sites(client, "work", "method")
    for number in range(1, 20):
        (value,) = captured(client, [append << 4 | WRITE], number, seed=number)
        assert value.locks == []


ELEMENTS = """
    import threading
    class Cache:
        def __init__(self):
            self.table = {"a": 1}
        def work(self):
            self.table["b"] = 2
            return len(self.table)
    thread = threading.Thread(target=Cache().work)
    thread.start()
    thread.join()
"""


def test_an_element_is_told_from_its_container(start):
    client = start(ELEMENTS)
    (item,) = sites(client, "Cache.work", "item_write")
    (length,) = sites(client, "Cache.work", "shape_read")
    element, whole = captured(client, [item << 4 | WRITE, length << 4 | READ])
    assert (element.variable, element.cell[1], element.value) == ("Cache.table", "['b']", "2")
    assert (whole.variable, whole.cell[1], whole.value) == ("Cache.table", "", "{'a': 1, 'b': 2}")
    assert element.cell[0] == whole.cell[0]


OPERATORS = """
    import collections
    import threading
    class Mine:
        def __init__(self):
            self.inner = {}
        def __getitem__(self, key):
            return self.inner[key]
        def __setitem__(self, key, value):
            self.inner[key] = value
    chain = collections.ChainMap({"k": 1})
    mine = Mine()
    def work(any_of):
        any_of["a"] = 1
        return any_of["a"]
    def shape(any_of):
        for key in any_of:
            pass
        return len(any_of), "a" in any_of
    def remove(any_of):
        del any_of["a"]
    def run():
        work(mine)
        work(chain)
        shape(chain)
        remove(chain)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
"""


def test_an_operator_of_a_library_class_is_a_call(start):
    client = start(OPERATORS)
    kinds = [
        ("work", "item_write"),
        ("work", "item_read"),
        ("shape", "shape_read"),
        ("remove", "item_delete"),
    ]
    # To look an element up changes nothing, as the library's code shows.
    ops = {"item_read": READ}
    calls = [
        site << 4 | ops.get(kind, CALL)
        for function, kind in kinds
        for site in sites(client, function, kind)
    ]
    assert [value.point for value in captured(client, calls)] == calls
    assert {value.variable for value in captured(client, calls, 2)} == {"any_of"}


def test_an_operator_of_a_class_of_the_target_is_watched_inside(start):
    client = start(OPERATORS)
    inner = sites(client, "Mine.__getitem__", "item_read")
    assert [value.value for value in captured(client, [inner[0] << 4 | READ])] == ["1"]


CHECK_THEN_ACT = """
    import configparser
    import threading
    archives = configparser.ConfigParser()
    archives.read_string("[satellite]")
    def search():
        if "satellite" in archives:
            archives["satellite"]
    def retire():
        del archives["satellite"]
    threads = [threading.Thread(target=target) for target in (search, retire)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_may_switch_inside_an_operator_of_a_library_class(start):
    client = start(CHECK_THEN_ACT)
    runs = range(1, MOST_RUNS)
    strategies = ("walk", "pos", "pct")
    failing = (n for n in runs if not passes(client, n, strategies[n % 3]))
    assert next(failing, None) is not None


def passes(client, number, strategy):
    client.run(number, seed=number, strategy=strategy, switch="gil")
    return not read_run(client.path(number, "run")).failures


CALLS = """
    import threading

    class Box:
        def __init__(self):
            self.value = 1

        def get(self):
            return self.value

    def outer(box):
        return box.get()

    box = Box()
    thread = threading.Thread(target=outer, args=(box,))
    thread.start()
    thread.join()
"""


def test_the_calls_that_led_to_an_access_are_noted(start):
    client = start(CALLS)
    (read,) = sites(client, "Box.get", "attr_read")
    (taken,) = captured(client, [read << 4])
    assert [(line, function) for _, line, function in taken.stack] == [
        (9, "Box.get"),
        (12, "outer"),
    ]
