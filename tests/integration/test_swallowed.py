# SPDX-License-Identifier: Apache-2.0
"""Exceptions that programs swallow: noted in every run, and the chain from race to symptom."""

import json
import subprocess

import pytest
from tests.integration.interpreters import PYTHON
from tests.integration.test_campaign import hunt, rows

from unsnarl.runfile import read_run

pytestmark = pytest.mark.core

# The race: both threads may find the key, one of them then drops it in vain.
STORE = """
import contextlib, logging, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

class Store:
    def __init__(self):
        self.items = {"tea": 1}
        self.after = 0
        self.closed = 0
    def drop(self):
        if "tea" in self.items:
            self.pause()
            del self.items["tea"]  # raised
    def pause(self):
        return len(self.items)

def together(*jobs):
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

store, errors = Store(), []
"""
COLLECTED = """
def job():
    try:
        store.drop()
    except Exception as error:  # caught
        errors.append(error)
together(job, job)
assert not errors
"""
FUTURE = """
with ThreadPoolExecutor(2) as pool:
    futures = [pool.submit(store.drop) for _ in range(2)]
assert not any(future.exception() for future in futures)
"""
RESULT = """
def ask(future):
    try:
        return future.result()
    except KeyError:
        errors.append(1)
with ThreadPoolExecutor(2) as pool:
    for future in [pool.submit(store.drop) for _ in range(2)]:
        ask(future)
assert not errors
"""
LOGGED = """
logging.disable()
def job():
    try:
        store.drop()
        errors.append("done")
    except KeyError:  # caught
        logging.exception("lost")
together(job, job)
sys.exit(0 if len(errors) == 2 else 3)
"""
SUPPRESSED = """
def job():
    with contextlib.suppress(KeyError):  # caught
        store.drop()
        errors.append("done")
together(job, job)
assert len(errors) == 2
"""
MANAGED = """
@contextlib.contextmanager
def guarded():
    try:
        yield
    except KeyError:
        errors.append(1)
def job():
    with guarded():  # caught
        store.drop()
together(job, job)
assert not errors
"""
GENERATOR = """
def dropped():
    yield store.drop()
def job():
    try:
        list(dropped())
    except KeyError:  # caught
        errors.append(1)
together(job, job)
assert not errors
"""
PROGRAMS = {
    "collected": COLLECTED,
    "logged": LOGGED,
    "suppressed": SUPPRESSED,
    "managed": MANAGED,
    "generator": GENERATOR,
    "future": FUTURE,
    "result": RESULT,
}


def line_of(source, mark):
    return next((at for at, row in enumerate(source.splitlines(), 1) if f"# {mark}" in row), 0)


def hunted(tmp_path, source, *options):
    (tmp_path / "main.py").write_text(source)
    words = ("--fail", "8", "--pass", "8", "--max-runs", "300", *options)
    return hunt(tmp_path, *words, "--", PYTHON, "main.py")


def runs(tmp_path):
    return [read_run(path) for path in sorted(tmp_path.glob(".unsnarl/*/runs/*.run"))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_swallowed_exception_is_the_failing_point(name, tmp_path):
    source = STORE + PROGRAMS[name]
    (failure,) = hunted(tmp_path, source, "--no-confirm")["failures"]
    (link,) = failure["chain"]
    assert (link["type"], link["message"]) == ("KeyError", "'tea'")
    assert link["raised"]["line"] == line_of(source, "raised")
    assert (link["failing"], link["passing"]) == (failure["failing"], 0)
    if "# caught" in source:
        assert (link["caught"]["file"], link["caught"]["line"]) == (
            "main.py",
            line_of(source, "caught"),
        )
    elif name == "future":
        assert link["caught"]["file"].endswith("concurrent/futures/thread.py")
    points = failure["findings"][0]["explanation"]
    raised = [point for point in points if point["caught"]]
    assert [(point["op"], point["value"]) for point in raised] == [("fail", "KeyError")]


def test_a_thread_that_dies_is_the_failure_itself(tmp_path):
    source = STORE + "threading.excepthook = lambda args: None\ntogether(store.drop, store.drop)\n"
    (failure,) = hunted(tmp_path, source, "--no-confirm")["failures"]
    assert failure["message"].startswith("KeyError")
    assert failure["chain"] == []


FINALLY = """
def job():
    try:
        try:
            store.drop()
        finally:
            store.after += 1
    except KeyError:
        store.closed += 1
        errors.append(1)
together(job, job)
assert not errors
"""


@pytest.mark.parametrize("outer", ["    except KeyError:\n        store.closed += 1\n", None])
def test_what_a_thread_does_after_the_exception_is_no_evidence(outer, tmp_path):
    """Neither in the clause that catches it nor in a `finally` on the way there."""
    source = STORE + FINALLY
    if outer is None:  # nobody catches it: the thread dies, but the `finally` comes first
        source = source.replace("    except KeyError:", "    finally:").replace(
            "errors.append", "id"
        )
    failures = hunted(tmp_path, source, "--no-confirm")["failures"]
    named = {
        name
        for failure in failures
        for finding in failure["findings"]
        for name in finding["variables"]
    }
    assert any("items" in name for name in named)
    assert not named & {"Store.after", "Store.closed"}


USUAL = """
def job():
    for key in ("a", "b", "tea"):
        try:
            store.items[key]
        except KeyError:
            pass
    for number in iter(range(3)):
        with contextlib.suppress(ValueError):
            int("x")
    store.drop()
together(job, job)
"""


def test_usual_exceptions_are_noted_once_and_explain_nothing(tmp_path):
    (failure,) = hunted(tmp_path, STORE + USUAL, "--no-confirm")["failures"]
    assert failure["chain"] == []
    for run in runs(tmp_path):
        kinds = [(one.type, one.by.line) for one in run.caught]
        assert len(kinds) == len(set(kinds))
        assert {"KeyError", "ValueError"} == {kind for kind, _ in kinds}


TWO_WAYS = """
class Names:
    def __init__(self):
        self.all = {"a": 1}
    def walk(self):
        for name in self.all:
            self.look(name)
    def look(self, name):
        return len(self.all)
    def add(self):
        self.all["b"] = 2
names = Names()
def job(work):
    try:
        work()
    except Exception:
        errors.append(1)
together(*(lambda work=work: job(work) for work in (store.drop, store.drop, names.walk, names.add)))
assert not errors
"""


def test_failures_that_differ_in_a_swallowed_exception_have_signatures_of_their_own(tmp_path):
    words = ("--fail", "30", "--pass", "30", "--max-runs", "600", "--jobs", "1", "--no-confirm")
    (tmp_path / "main.py").write_text(STORE + TWO_WAYS)
    report = hunt(tmp_path, *words, "--", PYTHON, "main.py")
    links = {
        one["signature"]: [link["type"] for link in one["chain"]] for one in report["failures"]
    }
    assert sorted(links.values()) == [["KeyError"], ["RuntimeError"]]
    assert all(" after " in signature for signature in links)
    stored = {signature for _, label, signature, _ in rows(tmp_path) if label == "fail"}
    assert stored == set(links)
    (split,) = tmp_path.glob(".unsnarl/*/swallowed.json")
    ((base, points),) = json.loads(split.read_text()).items()
    assert stored == {f"{base} after {point}" for point in points}


TRANSPARENT = """
import sys, traceback
seen = []
class Loud(Exception):
    def __str__(self):
        seen.append("str")
        return "loud"
    __repr__ = __str__
def inner():
    raise Loud(Loud())
def outer():
    try:
        inner()
    except Loud as error:
        seen.append(sys.exc_info()[1] is error)
        seen.append([row.lineno for row in traceback.extract_tb(error.__traceback__)])
        try:
            raise KeyError("next")
        except KeyError as other:
            seen.append(other.__context__ is error)
            seen.append(other.__cause__)
            seen.append(sys.getrefcount(other))
    seen.append(sys.exc_info())
thread = threading.Thread(target=outer)
thread.start()
thread.join()
print(seen)
"""


def test_the_program_notices_nothing(tmp_path):
    source = "import threading\n" + TRANSPARENT
    (tmp_path / "main.py").write_text(source + "store = 1\n")
    plain = tmp_path / "plain.py"
    plain.write_text(source + "open('plain.txt', 'w').write(repr(seen))\n")
    subprocess.run([PYTHON, "plain.py"], cwd=tmp_path, check=True)
    (tmp_path / "main.py").write_text(
        source + "expected = open('plain.txt').read()\nassert repr(seen) == expected, seen\n"
    )
    words = ("--max-runs", "5", "--pass", "5", "--no-confirm")
    hunt(tmp_path, *words, "--", PYTHON, "main.py", code=0)


# What unittest's assertRaises does.
STRIPPED = """
import threading
class Expected:
    def __enter__(self):
        return self
    def __exit__(self, kind, error, traceback):
        self.error = error.with_traceback(None)
        return True
def job():
    with Expected() as expected:
        raise KeyError("expected")
    assert expected.error.__traceback__ is None
threads = [threading.Thread(target=job) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_an_exception_may_have_lost_its_traceback(tmp_path):
    (tmp_path / "main.py").write_text(STRIPPED)
    words = ("--max-runs", "5", "--pass", "5", "--no-confirm")
    hunt(tmp_path, *words, "--", PYTHON, "main.py", code=0)
