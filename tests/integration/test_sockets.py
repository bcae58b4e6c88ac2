# SPDX-License-Identifier: Apache-2.0
"""Sockets between threads of a run are controlled: who goes on is drawn, not a matter of time."""

import pytest
from tests.integration.rule_programs import Program

pytestmark = pytest.mark.core

# Each thread writes down when it got its answer.
ANSWERS = """
import socket, select, selectors

log = []

def serve(server):
    for _ in range(2):
        connection, _ = server.accept()
        connection.sendall(connection.recv(10))
        connection.close()

def ask(name):
    with socket.create_connection(server.getsockname()) as connection:
        connection.settimeout(TIMEOUT)
        connection.sendall(name)
        WAIT
        log.append(connection.recv(10).decode())

server = socket.create_server(("127.0.0.1", 0))
go(lambda: serve(server), lambda: ask(b"a"), lambda: ask(b"b"))
assert log == ["a", "b"], log
"""
WAITS = {
    "recv": "pass",
    "select": "select.select([connection], [], [], 10)",
    "selector": "with selectors.DefaultSelector() as s: s.register(connection, 1); s.select(10)",
    "poll by hand": "p = select.poll(); p.register(connection, select.POLLIN); p.poll(10000)",
    "poll": "with selectors.PollSelector() as s: s.register(connection, 1); s.select()",
}
# After the failure the first thread waits for the other one, as fixtures do.
FAILS = """
class Box:
    done = False

def work():
    for _ in range(20):
        Box.done = False
    Box.done = True

thread = threading.Thread(target=work)
thread.start()
try:
    assert Box.done
finally:
    thread.join(LIMIT)
    time.sleep(20)
"""


@pytest.fixture
def program(tmp_path):
    made = []

    def make(text):
        made.append(Program(tmp_path, "import time\n" + text, "gil"))
        return made[-1]

    yield make
    for one in made:
        one.client.close()


def schedule(run):
    return [(one.path, one.point, one.occurrence) for one in run.schedule]


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("timeout", ["None", "10"])
def test_a_socket_between_threads_is_controlled_like_a_lock(program, wait, timeout):
    made = program(ANSWERS.replace("WAIT", WAITS[wait]).replace("TIMEOUT", timeout))
    ends = set()
    for seed in range(1, 9):
        plan = {"seed": seed, "strategy": ("walk", "pos")[seed % 2]}
        (done, one), (_, other) = made.run_calmly(**plan), made.run_calmly(**plan)
        assert done["status"] in (0, 1), made.output()
        assert one.counters["stalls"] == other.counters["stalls"] == 0
        assert schedule(one) == schedule(other)
        ends.add(done["status"])
    assert ends == {0, 1}


def test_time_limits_of_sockets_are_kept(program):
    text = """
import socket
one, other = socket.socketpair()

def late():
    one.settimeout(0.05)
    try:
        one.recv(1)
    except TimeoutError as error:
        assert str(error) == "timed out"
        other.send(b"x")

def never():
    one.settimeout(0)
    try:
        one.recv(1, socket.MSG_DONTWAIT)
    except BlockingIOError:
        pass

go(never, never)
go(late, lambda: None)
assert one.recv(1) == b"x"
"""
    done, run = program(text).run()
    assert done["status"] == 0 and not run.failures


# Nobody connects, nobody writes: a run has 20 s.
UNANSWERED = """
import select, socket

def listen():
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert select.select([server], [], [], 30) == ([], [], [])

def receive():
    with socket.create_server(("127.0.0.1", 0)) as server:
        connection = socket.create_connection(server.getsockname(), timeout=30)
        accepted, _ = server.accept()
        try:
            connection.recv(1)
        except TimeoutError:
            connection.close()
            accepted.close()

def pair():
    one, other = socket.socketpair()
    one.settimeout(30)
    try:
        one.recv(1)
    except TimeoutError:
        one.close()
        other.close()

go(listen, receive, pair)
"""


def test_no_time_passes_for_what_only_the_run_itself_could_send(program):
    done, run = program(UNANSWERED).run_calmly()
    assert (done["status"], done["timed_out"]) == (0, False)
    assert run.counters["stalls"] == 0


def test_what_a_thread_waits_for_after_it_failed_takes_no_time(program):
    made = program(FAILS.replace("LIMIT", "20"))
    for seed in range(1, 5):
        done, run = made.run_calmly(seed=seed, strategy="pct", depth=1)
        assert not done["timed_out"]
        assert run.counters["stalls"] == 0
        assert [one.type for one in run.failures] in ([], ["AssertionError"])


# A reply in two small parts: the kernel keeps the second one back until the first is acknowledged,
# which the reader's side puts off (Nagle's algorithm, delayed acknowledgements).
IN_PARTS = """
import socket

def serve(server):
    connection, _ = server.accept()
    for _ in range(3):
        connection.recv(10)
        connection.sendall(b"head")
        connection.sendall(b"body")
    connection.close()

def ask():
    with socket.create_connection(server.getsockname(), timeout=5) as connection:
        for _ in range(3):
            connection.sendall(b"ask")
            answer = b""
            while len(answer) < 8:
                answer += connection.recv(8)
            assert answer == b"headbody"

server = socket.create_server(("127.0.0.1", 0))
go(lambda: serve(server), ask)
"""


def test_no_time_limit_runs_out_while_data_is_on_its_way(program):
    made = program(IN_PARTS)
    for seed in range(1, 9):
        done, run = made.run(seed=seed, strategy=("walk", "pos")[seed % 2])
        assert done["status"] == 0 and not run.failures, made.output()


# Linux leaves a thread in accept() when another one closes the socket; it must not be woken here.
CLOSED = """
import socket

def serve():
    try:
        server.accept()
    except OSError as error:
        log.append(error)

log = []
server = socket.create_server(("127.0.0.1", 0))
thread = threading.Thread(target=serve, daemon=True)
thread.start()
time.sleep(1)
server.close()
other = socket.socket()
time.sleep(1)
assert not log, log
"""


def test_who_waits_for_a_socket_is_not_woken_by_its_close(program):
    made = program(CLOSED)
    for seed in range(1, 5):
        done, run = made.run(seed=seed, strategy=("walk", "pos")[seed % 2])
        assert done["status"] == 0 and not run.failures, made.output()


# A thread that waits has kept its file, and hears of the end although the number is another's now.
SHUT_DOWN = """
import os, socket

one, other = socket.socketpair()
heard = []
reader = threading.Thread(target=lambda: heard.append(one.recv(10)))
reader.start()
time.sleep(1)
number = one.fileno()
one.shutdown(socket.SHUT_RDWR)
one.close()
assert os.open("/dev/null", os.O_RDONLY) == number
reader.join()
assert heard == [b""], heard
assert other.recv(10) == b""
"""


def test_who_waits_for_a_socket_that_is_shut_down_and_closed_hears_of_it(program):
    made = program(SHUT_DOWN)
    for seed in range(1, 5):
        done, run = made.run(seed=seed, strategy=("walk", "pos")[seed % 2])
        assert done["status"] == 0 and not run.failures, made.output()
