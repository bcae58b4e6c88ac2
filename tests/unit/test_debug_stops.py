# SPDX-License-Identifier: Apache-2.0
"""Where in a traced replay the steps of an explanation happen, and how strictly one is followed."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.runfile_writer import notes, records, run_file, thread
from tests.unit.test_anchors import BEGIN, READ_SIZE, SIZE, SOURCE, START, TWICE, schedule_of

from unsnarl.errors import UnsnarlError, UsageError
from unsnarl.execution.labels import Judgement
from unsnarl.execution.result import Result
from unsnarl.execution.server import Done
from unsnarl.model.event import Op
from unsnarl.model.report import (
    Finding,
    FindingPoint,
)
from unsnarl.replay.anchors import TO_THE_END, Codes
from unsnarl.replay.debug_stops import Stops
from unsnarl.replay.debugging import choose_stop, debug_plan
from unsnarl.replay.replayer import Replayer
from unsnarl.reports.steps import brief_steps
from unsnarl.runfile import SiteTable
from unsnarl.runfile.layout import COUNTERS, Section
from unsnarl.runfile.reader import parse_run

READ, WRITE = 19 << 4 | Op.READ, 43 << 4 | Op.WRITE  # size: qsize; twice: qsize, first time
ACQUIRE = 15 << 4 | Op.ACQUIRE


@pytest.fixture
def project(tmp_path):
    (tmp_path / "queue.py").write_text(SOURCE)
    file = str(tmp_path / "queue.py")
    codes = [msgspec.structs.replace(code, file=file) for code in (SIZE, TWICE)]
    document = {"version": 1, "watermark": 100, "codes": codes}
    (tmp_path / "codes.json").write_bytes(msgspec.json.encode(document))
    return tmp_path


def make_run(events=(), waits=(), failing="0.1", left=0):
    threads = [thread(at, path) for at, path in enumerate(("0", "0.1", "0.2"))]
    counters = [0] * len(COUNTERS)
    counters[COUNTERS.index("diverged_segment")] = left
    failure = {"failure": {"kind": "exception", "type": "E", "thread": failing}}
    sections = [
        records(Section.THREADS, threads),
        records(Section.TRACE, [(at, 9, point, who) for at, (who, point) in enumerate(events)]),
        records(Section.WAITS, [(who, point, 0, 0) for who, point in waits]),
        notes(failure),
        b"" if not left else _counters(counters),
    ]
    return parse_run(run_file([one for one in sections if one]))


def _counters(values):
    from tests.unit.runfile_writer import section

    return section(Section.COUNTERS, b"".join(n.to_bytes(8, "little") for n in values), 8)


def stops(project, run):
    codes = Codes.load(project / "codes.json", project)
    return Stops(run, SiteTable.load(project / "codes.json", project), codes)


def shown(op, role, path, function="size", text="return self.qsize"):
    return FindingPoint("queue.py", 3, function, path, role, op, "qsize", "body", 1.0, text=text)


EXPLANATION = [
    shown("read", 1, "0.1"),
    shown("write", 2, "0.2", "twice", "self.qsize += 1"),
    shown("read", 1, "0.1"),
    shown("fail", 1, "0.1"),
]


def found(stops, points):
    return {at: (one.path, one.point, one.occurrence) for at, one in stops.of(points).items()}


def test_steps_are_found_from_the_end_each_before_the_next(project):
    run = make_run([(1, READ), (1, READ), (2, WRITE), (1, READ)])
    assert found(stops(project, run), EXPLANATION) == {
        0: ("0.1", READ, 2),
        1: ("0.2", WRITE, 1),
        2: ("0.1", READ, 3),
    }


def test_other_threads_may_have_the_roles_but_the_failing_one_fails(project):
    run = make_run([(2, READ), (1, WRITE), (2, READ)], failing="0.2")
    assert found(stops(project, run), EXPLANATION) == {
        0: ("0.2", READ, 1),
        1: ("0.1", WRITE, 1),
        2: ("0.2", READ, 2),
    }


def test_waits_that_never_ended_have_no_order(project):
    waits = [(2, 15 << 4 | Op.WAIT), (1, 15 << 4 | Op.WAIT)]
    points = [shown("wait", role, f"0.{role}", text="with self.lock:") for role in (2, 1)]
    run = make_run([(1, ACQUIRE)], waits)
    assert found(stops(project, run), points) == {
        0: ("0.2", ACQUIRE, 1),
        1: ("0.1", ACQUIRE, 2),
    }


class Trials:
    """Gives prepared runs instead of making them; notes the plans."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.plans = []

    def run(self, plans, until=None):
        trials = []
        for plan in plans:
            self.plans.append(plan)
            label, run = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
            judgement = Judgement(label, "boom" if label == "fail" else "")
            trials.append(Result(plan, Done(0), judgement, run))
            if until is not None and until(trials):
                break
        return trials

    def some(self, plans, doing):
        return self.run(plans)


def replayer(project, *outcomes, places=(READ_SIZE,), steps=(("0", 0, 4), ("0", TO_THE_END, 0))):
    trials = Trials(*outcomes)
    schedule = schedule_of(places, steps)
    return Replayer(schedule, trials, project / "codes.json", project), trials


def test_a_schedule_that_leads_to_the_failure_is_followed_strictly(project):
    one, trials = replayer(project, ("fail", make_run()))
    told = one.summary(one.follow(3))
    assert (told.failed, told.times, told.loose, told.left, told.changed) == (
        3,
        3,
        False,
        None,
        None,
    )
    assert [plan.anchors for plan in trials.plans] == [[("0", [READ], 4), ("0", [], 0)]] * 3


def test_one_that_does_not_is_followed_without_the_waits_of_libraries(project):
    steps = [("0.1", 0, 1), ("0", 1, 4)]
    outcomes = [("pass", make_run(left=2)), ("fail", make_run())]
    one, trials = replayer(project, *outcomes, places=(START, READ_SIZE), steps=steps)
    told = one.summary(one.follow(2))
    assert (told.failed, told.times, told.loose) == (2, 2, True)
    assert (told.left.step, told.left.thread, told.left.function) == (2, "0", "size")
    assert [len(plan.anchors) for plan in trials.plans] == [2, 1, 1]


def test_a_program_that_is_repaired_is_said_to_pass(project):
    one, _ = replayer(project, ("pass", make_run()))
    told = one.summary(one.follow(2))
    assert (told.failed, told.times, told.signatures) == (0, 2, {"": 2})


def test_what_has_changed_is_said_with_its_step(project):
    gone = msgspec.structs.replace(READ_SIZE, function="length")
    steps = [("0", 0, 0), ("0.1", 1, 2)]
    one, _ = replayer(project, ("fail", make_run()), places=(BEGIN, gone), steps=steps)
    changed = one.summary(one.follow(1)).changed
    assert (changed.step, changed.steps, changed.thread) == (2, 2, "0.1")
    assert changed.message == "there is no length in queue.py any more"


def explained(points):
    finding = Finding(1, "joined", 1.0, {}, "atomicity", ("qsize",), tuple(points), 1)
    return [step.points for step in brief_steps(finding)]


EVENTS = [(1, READ), (2, WRITE), (1, READ), (2, WRITE)]


def test_the_decisive_access_is_the_failing_threads_last_of_the_explanation(project):
    one, trials = replayer(project, ("fail", make_run(EVENTS)))
    stop = choose_stop(explained(EXPLANATION), one, None)
    assert (stop.path, stop.point, stop.occurrence) == ("0.1", READ, 2)
    assert trials.plans[-1].trace is True
    plan = debug_plan(stop)
    assert (plan.path, plan.points, plan.occurrence) == ("0.1", (READ,), 2)
    assert plan.title.startswith("thread 0.1 is about to read in size, queue.py:3")


def test_a_step_of_the_explanation_can_be_asked_for(project):
    one, _ = replayer(project, ("fail", make_run(EVENTS)))
    stop = choose_stop(explained(EXPLANATION), one, 2)
    assert (stop.path, stop.point, stop.occurrence) == ("0.2", WRITE, 1)
    with pytest.raises(UsageError, match="no step 9"):
        choose_stop(explained(EXPLANATION), one, 9)


def test_without_an_explanation_it_is_the_failing_threads_last_event(project):
    one, _ = replayer(project, ("fail", make_run(EVENTS)))
    stop = choose_stop(explained(EXPLANATION[3:]), one, None)
    assert (stop.path, stop.point, stop.occurrence) == ("0.1", READ, 2)


def test_there_is_no_stop_in_a_run_that_does_not_fail_any_more(project):
    one, _ = replayer(project, ("pass", make_run(EVENTS)))
    with pytest.raises(UnsnarlError, match="it passes") as caught:
        choose_stop(explained(EXPLANATION), one, None)
    assert (caught.value.slug, caught.value.exit_code) == ("replay-differs", 4)
