# SPDX-License-Identifier: Apache-2.0
"""The fix that is found for small broken programs is the one that a person would make."""

import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace

import pytest
from msgspec.structs import replace as with_fields

from unsnarl import config
from unsnarl.analyses.methods import rank_with
from unsnarl.campaigns import store as stores
from unsnarl.campaigns.comparisons import Comparisons
from unsnarl.campaigns.store import Store
from unsnarl.campaigns.tally import Tally
from unsnarl.execution import target
from unsnarl.execution.runner import started
from unsnarl.execution.trials import Trials
from unsnarl.experiments.fix import Fixer
from unsnarl.experiments.named_fix import named
from unsnarl.model.plan import Match, Rule
from unsnarl.reports.fixes import fix_note

CERTAIN = 50
MAIN = """

def run(*threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

"""
LOCK = (
    """import threading

class Shelf:
    def __init__(self):
        self.lock = threading.Lock()
        self.books = ["one"]

    def count(self):
        with self.lock:
            return len(self.books)  # early

    def take(self):
        with self.lock:
            return self.books.pop()  # late

def reader(shelf):
    if shelf.count():  # begin
        shelf.take()  # end
"""
    + MAIN
    + """
shelf = Shelf()
run(*(threading.Thread(target=reader, args=(shelf,)) for _ in range(2)))
"""
)
NO_LOCK = (
    """import threading

class Account:
    def __init__(self):
        self.total = 0
        self.log = []

def pay(account):
    before = account.total  # begin
    account.log.append(abs(1))
    account.total = before + 1  # end
    account.log.append(abs(2))  # elsewhere
    account.log.append(abs(3))
"""
    + MAIN
    + """
account = Account()
run(*(threading.Thread(target=pay, args=(account,)) for _ in range(2)))
assert account.total == 2
"""
)
ORDER = """import threading

class Job:
    def __init__(self):
        self.result = None

def compute(job):
    job.result = abs(-3)  # begin

job = Job()
threading.Thread(target=compute, args=(job,)).start()
abs(len("some work of its own"))
print(job.result + 1)  # end
"""
# A test's own time limits: each would run out for a thread that is held for ever.
LIMITS = {
    "join": (
        "",
        "",
        "for thread in threads:\n    thread.join(30)\n    assert not thread.is_alive()",
    ),
    "get": ("done = queue.Queue()", "done.put(1)", "done.get(timeout=5), done.get(timeout=5)"),
    "event": (
        "done = [threading.Event(), threading.Event()]",
        "done[which].set()",
        "assert all(event.wait(10) for event in done)",
    ),
    "condition": (
        "done, count = threading.Condition(), []",
        "with done:\n        count.append(which)\n        done.notify()",
        "with done:\n    assert done.wait_for(lambda: len(count) == 2, timeout=5)",
    ),
    "acquire": (
        "done = [threading.Lock(), threading.Lock()]\n[lock.acquire() for lock in done]",
        "done[which].release()",
        "assert all(lock.acquire(timeout=3) for lock in done)",
    ),
    "poll": (
        "done = []",
        "done.append(which)",
        "end = time.monotonic() + 5\nwhile len(done) < 2:\n    time.sleep(0.05)\n"
        "    assert time.monotonic() < end",
    ),
}
LIMITED = """import queue, threading, time

class Account:
    def __init__(self):
        self.total = 0
        self.log = []

account = Account()
MAKE

def pay(which):
    before = account.total  # begin
    account.log.append(abs(1))
    account.total = before + 1  # end
    DONE

threads = [threading.Thread(target=pay, args=(n,), daemon=True) for n in range(2)]
for thread in threads:
    thread.start()
WAIT
assert account.total == 2
"""


def limited(make, done, wait):
    """The program with one of the limits."""
    return LIMITED.replace("MAKE", make).replace("DONE", done or "pass").replace("WAIT", wait)


PROGRAMS = {"lock": LOCK, "no_lock": NO_LOCK, "order": ORDER}
PROGRAMS |= {f"limit_{name}": limited(*parts) for name, parts in LIMITS.items()}


class Case:
    """A hunted program, and the fix of its first finding."""

    def __init__(self, source, fixer, answer):
        self.source = source
        self.fixer = fixer
        self.fix = fixer.fix(answer, certain=CERTAIN)
        self.repair = named(self.fix)
        self.context = self.fix.placement.context

    def line(self, marker):
        """The line with this comment."""
        lines = self.source.splitlines()
        return next(at for at, text in enumerate(lines, 1) if text.endswith(f"# {marker}"))

    def points(self, marker):
        """All points of that line, in the order of the code."""
        wanted = self.line(marker)
        points = {event.point for event in self.context.events}
        met = (point for point in points if self.context.line(point)[2] == wanted)
        return tuple(sorted(met))

    def outcome(self, *rules):
        """What the screening says of other rules than those of the fix."""
        return self.fixer.screen(replace(self.fix.candidate, rules=rules))


@contextmanager
def hunted(folder, name):
    """The program after a short hunt, with a runner for trials."""
    (folder / f"{name}.py").write_text(PROGRAMS[name])
    hunt = ["hunt", "--no-confirm", "--fail=8", "--pass=8", "--switch=gil", "--"]
    command = [sys.executable, "-m", "unsnarl", *hunt, sys.executable, f"{name}.py"]
    subprocess.run(command, cwd=folder, check=False, capture_output=True)
    store = Store.open(stores.find(folder))
    settings = config.override(store.description.options, {})
    tally = Tally(settings.fail, settings.passed, settings.seed)
    for stored in store.runs():
        tally.restore(stored.record, stored.phase, stored.kept)
    comparisons = Comparisons(store, tally)
    (compared,) = comparisons.all()
    found = target.parse(store.description.command, folder)
    try:
        with started(found, store.folder, settings) as runner:
            trials = Trials(runner, folder, compared.switch, settings.timeout)
            fixer = Fixer(trials, compared, comparisons.interner, [])
            yield Case(PROGRAMS[name], fixer, rank_with("joined", compared.comparison)[0])
    finally:
        store.close()


@pytest.fixture(scope="module")
def case(tmp_path_factory, request):
    with hunted(tmp_path_factory.mktemp("fix"), request.param) as made:
        yield made


def of(name):
    return pytest.mark.parametrize("case", [name], indirect=True)


@of("lock")
class TestALockThatShouldBeHeld:
    def test_it_is_named_with_the_lines_around_which_to_hold_it(self, case):
        begin, end = case.line("begin"), case.line("end")
        assert (case.repair.kind, case.repair.lock) == ("region", "Shelf.lock")
        assert (case.repair.begin.line, case.repair.end.line) == (begin, end)
        assert (case.repair.function, case.repair.others) == ("reader", ())
        assert case.repair.reentrant  # count() and take() have it themselves
        assert fix_note(case.repair) == (
            f"Fix: hold Shelf.lock (an RLock) from lock.py:{begin} to :{end}: "
            f"0/{CERTAIN} runs fail, no deadlock."
        )

    def test_a_region_that_begins_too_late_is_told_apart(self, case):
        first, *rest = case.fix.candidate.rules
        late = with_fields(first, when=Match(case.points("late")))
        assert case.outcome(late, *rest).bad

    def test_a_region_that_ends_too_early_is_told_apart(self, case):
        first, *rest = case.fix.candidate.rules
        early = with_fields(first, until=Match(case.points("early")))
        assert case.outcome(early, *rest).bad


@of("no_lock")
class TestNoLockAtAll:
    def test_the_lines_to_be_made_atomic_are_found(self, case):
        begin, end = case.line("begin"), case.line("end")
        assert (case.repair.kind, case.repair.lock, case.repair.lock_site) == ("region", "", "")
        assert (case.repair.begin.line, case.repair.end.line) == (begin, end)
        assert case.repair.works
        assert case.repair.runs == CERTAIN
        assert f"make no_lock.py:{begin} to :{end} atomic (a new lock)" in fix_note(case.repair)

    def test_a_region_elsewhere_is_told_apart(self, case):
        first, last = case.points("elsewhere")[0], case.points("elsewhere")[-1]
        elsewhere = Rule(when=Match((first,)), until=Match((last,)), exclusive=0)
        assert case.outcome(elsewhere).bad

    def test_what_waits_for_ever_is_a_deadlock(self, case):
        nobody = Rule(hold=Match(case.points("begin")), until=Match(case.points("end")))
        outcome = case.outcome(*case.fix.candidate.rules, nobody)
        assert (outcome.fail, outcome.deadlocks) == (0, outcome.runs)


@pytest.mark.parametrize("case", [f"limit_{name}" for name in LIMITS], indirect=True)
class TestATimeLimitOfTheProgram:
    def test_it_does_not_run_out_because_the_fix_holds_a_thread(self, case):
        assert case.repair.works, case.repair
        assert (case.repair.begin.line, case.repair.end.line) == (
            case.line("begin"),
            case.line("end"),
        )


@of("order")
class TestAnOrder:
    def test_what_must_come_first_is_found(self, case):
        assert case.repair.kind == "order"
        assert case.repair.begin.line == case.line("begin")
        assert case.repair.end.line == case.line("end")
        assert case.repair.works

    def test_the_other_order_is_told_apart(self, case):
        other = Rule(hold=Match(case.points("begin")), until=Match(case.points("end")))
        assert case.outcome(other).bad
