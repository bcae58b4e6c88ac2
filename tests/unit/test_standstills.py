# SPDX-License-Identifier: Apache-2.0
"""Standstills: which one became a failure, and what a timeline and a trial make of it."""

from types import SimpleNamespace

import pytest
from tests.unit.runfile_writer import notes, records, run_file, thread

from unsnarl.campaigns.standstills import assign_standstills
from unsnarl.execution.symptom import Symptom
from unsnarl.model.event import Op
from unsnarl.placement.timeline import Timeline
from unsnarl.runfile import Interner, RunFileError, SiteTable
from unsnarl.runfile.layout import NOBODY, Section
from unsnarl.runfile.reader import parse_run
from unsnarl.workflows.campaign_report import _failed_before

A, B, C = 0xA, 0xB, 0xC
GET, LEFT, RIGHT, TAKE_A, TAKE_B, JOIN = range(1, 7)  # sites
RAN_OUT, ALONE = 1, 2
SECOND = 10**9


def point(site, op=Op.WAIT):
    return site << 4 | op


def row(
    number, who, site, owner=NOBODY, *, held=C, taken=0, since=0, limit=0, flags=ALONE, op=Op.WAIT
):
    wait = (who, point(site, op), owner, taken, held, since)
    return (*wait, 100 * number, limit, number, flags)


def polling(number=1, limit=SECOND // 10):
    """One thread polls a queue; the other one waits for its end."""
    return [
        row(number, 1, GET, limit=limit, flags=ALONE | RAN_OUT),
        row(number, 0, JOIN, 1, limit=5 * SECOND, op=Op.JOIN),
    ]


def cycle(number=1, flags=0):
    """Two threads, each with the lock of the other."""
    return [
        row(number, 1, LEFT, 2, held=B, taken=point(TAKE_B, Op.ACQUIRE), since=20, flags=flags),
        row(number, 2, RIGHT, 1, held=A, taken=point(TAKE_A, Op.ACQUIRE), since=10, flags=flags),
        row(number, 0, JOIN, 1, limit=5 * SECOND, flags=flags | RAN_OUT, op=Op.JOIN),
    ]


def lost(number=1, flags=ALONE):
    """A wait that nobody ends."""
    return [row(number, 1, GET, limit=5 * SECOND, flags=flags | RAN_OUT)]


def run(*standstills, trace=(), kind="assertion", since=0):
    threads = [thread(at, path) for at, path in enumerate(("0", "0.1", "0.2"))]
    return parse_run(
        run_file(
            [
                records(Section.THREADS, threads),
                records(Section.TRACE, trace),
                records(Section.STANDSTILLS, [one for rows in standstills for one in rows]),
                notes({"failure": {"kind": kind, "type": "E", "thread": "0", "since": since}}),
            ]
        )
    )


def assigned(failing, passing=()):
    interner = Interner(SiteTable((), "/", watermark=100))
    count = assign_standstills(failing, list(passing), interner)
    return [one.standstill and one.standstill.time // 100 for one in failing], count


def test_a_standstill_is_read_with_its_limits():
    (one,) = run(cycle()).standstills
    assert (one.time, one.ran_out, one.limits, one.is_alone) == (100, 0, {0: 5.0}, False)
    assert one.waiting == {point(LEFT), point(RIGHT)}


def test_a_standstill_that_no_limit_ended_is_damage():
    with pytest.raises(RunFileError, match="standstills"):
        run([row(1, 1, GET)])


def test_what_no_passing_run_goes_through_became_the_failure():
    assert assigned([run(lost()), run(lost())], [run()]) == ([1, 1], 0)


def test_a_loop_that_polls_in_passing_runs_too_is_no_deadlock():
    assert assigned([run(polling())], [run(polling()), run()]) == ([None], 0)


def test_who_waits_after_the_failure_waits_for_what_never_comes():
    assert assigned([run(lost(2), since=100)], [run()]) == ([None], 0)
    assert assigned([run(lost(2), since=300)], [run()]) == ([2], 0)


def test_who_waits_for_work_after_an_exception_that_sets_the_runs_apart_is_not_stuck():
    one = run()
    assert not _failed_before(one)  # nothing better is known than who waits
    one.failing_point = SimpleNamespace()
    assert _failed_before(one)
    limited = run(lost())
    limited.failing_point = one.failing_point
    assigned([limited], [run()])
    assert not _failed_before(limited)


def test_of_waits_that_nobody_ends_only_the_last_became_the_failure():
    assert assigned([run(lost(1), polling(2))], [run(polling())]) == ([None], 0)
    assert assigned([run(polling(1), lost(2))], [run(polling())]) == ([2], 0)


def test_what_comes_after_the_failure_did_not_become_it():
    assert assigned([run(lost(), since=50)], [run()]) == ([None], 0)
    assert assigned([run(lost(), since=150)], [run()]) == ([1], 0)


def test_while_another_thread_sleeps_only_a_cycle_cannot_end():
    assert assigned([run(lost(flags=0))], [run()]) == ([None], 0)
    assert assigned([run(cycle(), polling(2))], [run(polling())]) == ([1], 0)


def timer(who, limit):
    """All wait; one of them for a moment."""
    flags = ALONE | RAN_OUT
    return [
        row(1, who, GET, limit=limit, flags=flags),
        row(1, 1 - who, LEFT, limit=5 * SECOND, flags=ALONE),
    ]


def test_a_short_limit_of_a_thread_that_does_not_fail_is_a_timer():
    assert assigned([run(timer(1, SECOND // 1000))], [run()]) == ([None], 0)
    assert assigned([run(timer(1, SECOND))], [run()]) == ([1], 0)
    assert assigned([run(timer(0, SECOND // 1000))], [run()]) == ([1], 0)


def test_a_long_limit_is_a_timer_where_it_runs_out_in_passing_runs_too():
    passing = [run(polling(limit=SECOND))]
    assert assigned([run(timer(1, SECOND))], passing) == ([None], 0)
    assert assigned([run(timer(1, 2 * SECOND))], passing) == ([1], 0)
    assert assigned([run(timer(0, SECOND))], passing) == ([1], 0)


def test_a_cycle_counts_though_some_runs_pass_by_luck():
    assert assigned([run(cycle()), run(cycle())], [run(cycle()), run()]) == ([1, 1], 1)


def test_a_cycle_that_the_program_lives_with_does_not():
    assert assigned([run(cycle())], [run(cycle())] * 9 + [run()]) == ([None], 0)


def test_a_deadlock_that_no_limit_ended_is_that_of_the_end():
    assert assigned([run(cycle(), kind="deadlock")], [run()]) == ([None], 0)


def test_what_comes_after_the_standstill_is_no_part_of_the_timeline():
    trace = [
        (40, A, point(TAKE_A, Op.ACQUIRE), 1),
        (50, B, point(TAKE_B, Op.ACQUIRE), 2),
        (150, C, point(GET, Op.READ), 0),
    ]
    one = run(cycle(), trace=trace)
    assert len(Timeline(one).done) == 3
    assigned([one], [run()])
    timeline = Timeline(one)
    assert [event.site for event in timeline.done] == [TAKE_A, TAKE_B]
    # First who took first; who only waits for the others' end is not among them.
    assert [(event.path, event.site) for event in timeline.pending] == [
        ("0.1", LEFT),
        ("0.2", RIGHT),
    ]


def test_another_run_of_the_schedule_stops_at_the_same_standstill():
    failing, other = run(polling(1), cycle(2)), run(polling(3), cycle(7))
    assigned([failing], [run(polling())])
    other.stop_where(failing)
    assert other.standstill is other.standstills[1]
    other.stop_where(run())
    assert other.standstill is None


@pytest.mark.parametrize(
    ("standstills", "shows"), [((), False), ((polling(),), False), ((cycle(),), True)]
)
def test_a_trial_that_stands_still_shows_the_symptom_though_it_passes(standstills, shows):
    trial = SimpleNamespace(fails_as=lambda signature: signature == "other", run=run(*standstills))
    assert Symptom("E", frozenset({run(cycle()).standstills[0].waiting})).is_in(trial) is shows
    assert not Symptom("E").is_in(trial)
    assert Symptom("other").is_in(trial)
