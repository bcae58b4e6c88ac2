# SPDX-License-Identifier: Apache-2.0
"""Constraints in a new process, and what a replay falls back on."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.runfile_writer import notes, records, run_file, thread
from tests.unit.test_anchors import READ_SIZE, SIZE, SOURCE, TWICE, schedule_of

from unsnarl.campaigns.store import Stored
from unsnarl.execution.budget import Budget
from unsnarl.execution.labels import Judgement
from unsnarl.execution.result import Result
from unsnarl.execution.server import Done
from unsnarl.model.constraint import Actor, Constraint
from unsnarl.model.event import Event, Op
from unsnarl.model.plan import Match
from unsnarl.model.run import RunRecord
from unsnarl.replay.anchors import (
    TO_THE_END,
    Anchor,
    AnchoredConstraint,
    AnchoredEvent,
    Anchorer,
    Codes,
    Resolved,
    resolve,
)
from unsnarl.replay.constraints import Constrained, rules_of
from unsnarl.replay.replayer import (
    Replayed,
    Track,
    keep_schedules,
    load_schedule,
    stored_schedules,
)
from unsnarl.replay.target_process import FRESH_RUNS, TargetProcess
from unsnarl.reports.replay_text import remarks
from unsnarl.runfile.layout import Section
from unsnarl.runfile.reader import parse_run

ADD = Anchor("queue.py", "twice", 6, "self.qsize += 1", 0, "qsize", Op.WRITE)
LOCK = Anchor("queue.py", "size", 2, "with self.lock:", 0, "", Op.ACQUIRE)
# Thread 0.2 writes before thread 0.1 takes the lock in which it reads.
BEFORE = AnchoredEvent("0.2", 1, 1, 1, 2)
HOLD = AnchoredEvent("0.1", 2, 3, 0, 1)
AFTER = AnchoredEvent("0.1", 0, 3, 0, 1)
ORDER = AnchoredConstraint(BEFORE, HOLD, AFTER)
PLACES = (READ_SIZE, ADD, LOCK)
WRITE = Event(4, "0.2", 43 << 4 | Op.WRITE, 1, 9)
READ = Event(6, "0.1", 19 << 4 | Op.READ, 3, 9)
STEPS = (("0", 0, 4), ("0", TO_THE_END, 0))


@pytest.fixture
def project(tmp_path):
    (tmp_path / "queue.py").write_text(SOURCE)
    write_codes(tmp_path, SIZE, TWICE)
    return tmp_path


def write_codes(folder, *codes):
    here = [msgspec.structs.replace(code, file=str(folder / "queue.py")) for code in codes]
    document = {"version": 1, "watermark": 100, "codes": here}
    (folder / "codes.json").write_bytes(msgspec.json.encode(document))


def constrained_schedule(places=PLACES, orders=(ORDER,)):
    return msgspec.structs.replace(schedule_of(places, STEPS), constraints=tuple(orders))


def make_run(satisfied=1, released=0, reads=3):
    """A run under one rule; thread 0.1 reads so many times."""
    effect = (1, satisfied, released, 0, 1 - satisfied - released, 0, 0, 0)
    sections = [
        records(Section.THREADS, [thread(0, "0"), thread(1, "0.1"), thread(2, "0.2")]),
        records(Section.COUNTS, [(1, 19, reads, 19, 0)]),
        records(Section.RULES, [effect]),
        notes(),
    ]
    return parse_run(run_file(sections))


class Trials:
    """Gives what is prepared for replays and for runs under rules."""

    def __init__(self, replay, under_rules=("pass", None)):
        self._outcomes = {False: replay, True: under_rules}
        self.plans = []
        self.budget = Budget()

    def run(self, plans, until=None):
        made = []
        for plan in plans:
            self.plans.append(plan)
            label, run = self._outcomes[bool(plan.rules)]
            judgement = Judgement(label, "boom" if label == "fail" else "")
            made.append(Result(plan, Done(0), judgement, run))
            if until is not None and until(made):
                break
        return made

    def some(self, plans, doing):
        return self.run(plans)

    @property
    def ruled(self):
        return [plan for plan in self.plans if plan.rules]


class Store:
    overlay = ()

    def __init__(self, root):
        self.folder = root
        self.codes = root / "codes.json"
        self.description = self
        self.root = str(root)


@pytest.fixture
def repeat(project, monkeypatch):
    """Replays a schedule in a process that is only pretended."""

    def run(trials, schedule, times=1, others=()):
        monkeypatch.setattr("unsnarl.replay.target_process.stored_schedules", lambda store: others)
        return TargetProcess(Store(project), trials, project / "codes.json").repeat(
            schedule, times
        )[0]

    return run


def test_constraints_are_anchored_like_steps_and_by_the_site_that_is_meant(project):
    # both instructions of the line `self.qsize += 1` touch qsize; the write is the second
    hold = Event(5, "0.1", 15 << 4 | Op.ACQUIRE, 3, 8)
    threads = records(Section.THREADS, [thread(0, "0")])
    run = parse_run(run_file([threads, records(Section.SCHEDULE, [(0, 0, 4, 0)]), notes()]))
    record = RunRecord(7, "fail", "boom", "walk", 3, "gil", 1, 0, 0.1, 2, 2)
    anchorer = Anchorer(project / "codes.json", project, "3.11.7")
    found = anchorer.schedule(record, run, [Constraint(WRITE, READ, hold)])
    (order,) = found.constraints
    assert found.anchors == (ADD, READ_SIZE, LOCK)
    assert order.before == AnchoredEvent("0.2", 0, 1, 1, 2)
    assert order.hold == AnchoredEvent("0.1", 2, 3, 0, 1)
    assert order.after == AnchoredEvent("0.1", 1, 3, 0, 1)


def test_constraints_of_equal_threads_stay_such_when_they_are_stored(store):
    cast = (Actor("0.1", equal=True), Actor("0.3", equal=True, role=2))
    orders = [Constraint(WRITE, READ, READ, cast), Constraint(READ, WRITE, WRITE)]
    keep_schedules(store, {7: orders})
    schedule = load_schedule(store, 7)
    resolved = {at: Resolved((17,), "same") for at in range(len(schedule.anchors))}
    first, second = rules_of(schedule, resolved).rules
    assert (first.until.path, first.until.equal, first.until.role) == ("0.1", True, 0)
    assert (first.hold.path, first.hold.equal, first.hold.role) == ("0.3", True, 2)
    assert (second.hold.path, second.hold.equal) == ("0.2", False)


def test_a_schedule_with_constraints_is_read_as_it_was_written():
    schedule = constrained_schedule()
    assert msgspec.json.decode(msgspec.json.encode(schedule), type=type(schedule)) == schedule


def test_a_schedule_that_was_kept_before_there_were_constraints_has_none():
    document = msgspec.to_builtins(constrained_schedule())
    del document["constraints"]
    assert msgspec.convert(document, type=type(constrained_schedule())).constraints == ()


@pytest.fixture
def store(project):
    """A campaign with one failing and one passing run, as far as schedules need it."""

    class Folder(Store):
        name, python = "c", "3.11.7"

        def run_file(self, number):
            return self.folder / f"{number}.run"

        def runs(self):
            rest = ("boom", "walk", 3, "gil", 1, 0, 0.1, 2, 2)
            made = [RunRecord(7, "fail", *rest), RunRecord(8, "pass", *rest)]
            return [Stored(record, "hunt", True) for record in made]

    sections = [records(Section.THREADS, [thread(0, "0")]), notes()]
    (project / "7.run").write_bytes(run_file(sections))
    return Folder(project)


def test_a_schedule_is_written_anew_when_constraints_are_given(store):
    keep_schedules(store)
    assert [one.constraints for one in stored_schedules(store)] == [()]
    keep_schedules(store, {7: [Constraint(WRITE, READ, READ)]})
    assert len(load_schedule(store, 7).constraints) == 1
    keep_schedules(store)  # as a replay does before it reads
    assert len(load_schedule(store, 7).constraints) == 1


def asked(project, schedule):
    codes = Codes.load(project / "codes.json", project)
    places = enumerate(schedule.anchors)
    return rules_of(schedule, {at: resolve(place, codes) for at, place in places})


def test_the_later_thread_is_held_until_the_earlier_event_has_happened(project):
    found = asked(project, constrained_schedule())
    (rule,) = found.rules
    assert rule.hold == Match((15 << 4 | Op.ACQUIRE,), "0.1", 3)
    assert (rule.until.points, rule.until.path) == ((43 << 4 | Op.WRITE,), "0.2")
    assert (rule.when, rule.limit, found.gone) == (None, 0, ())


def test_where_a_line_has_other_sites_than_then_all_of_them_count(project):
    first = msgspec.structs.replace(BEFORE, site=2, sites=3)
    (rule,) = asked(
        project, constrained_schedule(orders=[AnchoredConstraint(first, HOLD, AFTER)])
    ).rules
    assert rule.until.points == (41 << 4 | Op.WRITE, 43 << 4 | Op.WRITE)


@pytest.mark.parametrize("at", range(3), ids=["after", "before", "hold"])
def test_a_constraint_whose_code_is_gone_is_named_and_not_asked_for(project, at):
    places = list(PLACES)
    places[at] = msgspec.structs.replace(places[at], function="length")
    found = asked(project, constrained_schedule(places))
    assert found.rules == ()
    (gone,) = found.gone
    assert gone.startswith(f"{places[1].says} in thread 0.2 before {places[0].says}")


def test_no_run_is_made_under_constraints_if_the_schedule_leads_to_the_failure(repeat):
    trials = Trials(("fail", make_run()))
    told = repeat(trials, constrained_schedule(), times=3)
    assert (told.failed, told.constrained, trials.ruled) == (3, None, [])
    assert remarks(told) == []


def test_where_the_schedule_leads_nowhere_fresh_runs_are_made_under_the_constraints(repeat):
    trials = Trials(("pass", make_run()), ("fail", make_run()))
    told = repeat(trials, constrained_schedule())
    assert told.constrained == Constrained(
        7, 1, (), FRESH_RUNS, FRESH_RUNS, FRESH_RUNS, 0, {"boom": FRESH_RUNS}
    )
    assert len({plan.seed for plan in trials.ruled}) == FRESH_RUNS
    assert {plan.switch for plan in trials.plans} == {"gil"}
    assert remarks(told) == [
        "the failure comes back under its 1 minimised constraint: 20 of 20 runs"
    ]


def test_more_replays_ask_for_more_fresh_runs(repeat):
    trials = Trials(("pass", make_run()), ("fail", make_run()))
    assert repeat(trials, constrained_schedule(), times=30).constrained.runs == 30


def test_a_run_that_was_not_minimised_falls_back_on_another_of_its_signature(repeat):
    trials = Trials(("pass", make_run()), ("fail", make_run()))
    other = msgspec.structs.replace(constrained_schedule(), run=9)
    foreign = msgspec.structs.replace(other, run=8, signature="bang")
    told = repeat(trials, schedule_of(PLACES, STEPS), others=[foreign, other])
    assert told.constrained.run == 9
    assert "under run 9's 1 minimised constraint" in remarks(told)[-1]


def test_without_constraints_it_says_that_there_are_none(repeat):
    trials = Trials(("pass", make_run()))
    told = repeat(trials, schedule_of(PLACES, STEPS))
    assert (told.constrained, trials.ruled) == (None, [])
    assert remarks(told) == ["it has no minimised constraints to try instead"]


def test_constraints_that_cannot_be_asked_for_are_said(repeat):
    gone = (msgspec.structs.replace(READ_SIZE, function="length"), ADD, LOCK)
    trials = Trials(("pass", make_run()))
    told = repeat(trials, constrained_schedule(gone))
    assert (told.constrained.runs, trials.ruled) == (0, [])
    assert remarks(told)[-1].startswith(
        "a constraint cannot be tried, its code is gone: twice, queue.py:6 [self.qsize += 1] "
        "in thread 0.2 before length, queue.py:3 [return self.qsize] in thread 0.1"
    )


@pytest.mark.parametrize(
    "run, kept, released, words",
    [
        (make_run(), 20, 0, "the order was kept in 20 of 20 runs, and no longer leads to"),
        (make_run(0, 1), 0, 20, "the order is now impossible: in 20 of 20 runs it was given up"),
        (make_run(0, 0), 0, 0, "the events that its constraints put in order no longer happen"),
        # the thread that was to come later never does
        (make_run(reads=2), 0, 0, "the events that its constraints put in order no longer happen"),
        (None, 0, 0, "the events that its constraints put in order no longer happen"),
    ],
)
def test_it_is_said_whether_the_order_came_about(repeat, run, kept, released, words):
    trials = Trials(("pass", make_run()), ("pass", run))
    told = repeat(trials, constrained_schedule())
    assert (told.constrained.kept, told.constrained.released) == (kept, released)
    (line,) = remarks(told)
    assert "does not come back under its 1 minimised constraint: 0 of 20 runs" in line
    assert words in line


def test_a_run_that_hangs_has_not_passed(repeat):
    trials = Trials(("hang", None), ("hang", None))
    told = repeat(trials, constrained_schedule())
    assert (told.signatures, told.constrained.signatures) == ({"hang": 1}, {"hang": 20})


def test_where_the_track_was_left_comes_before_the_constraints():
    track = Track(4, 9, "0.1", "queue.py", 3, "size", "return self.qsize", "")
    tried = Constrained(7, 2, (), 20, 20, 20, 0, {"boom": 20})
    told = Replayed(7, "boom", 1, 0, {"": 1}, left=track, constrained=tried)
    assert remarks(told) == [
        "left the recorded schedule in segment 4 of 9: thread 0.1 did not reach size, queue.py:3 "
        "[return self.qsize] as recorded",
        "the failure comes back under its 2 minimised constraints: 20 of 20 runs",
    ]
