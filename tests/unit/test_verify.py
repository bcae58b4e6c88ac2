# SPDX-License-Identifier: Apache-2.0
"""What a verification says, and with which exit code."""

from __future__ import annotations

import msgspec
import pytest

from unsnarl.campaigns.tally import Tally
from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE, EXIT_OK
from unsnarl.model.report import Notice, RunCounts
from unsnarl.model.run import RunRecord
from unsnarl.replay.constraints import Constrained
from unsnarl.replay.fresh import Before, Hunted, summary
from unsnarl.replay.old_rate import FEWEST_RUNS, MOST_CHANCE, OldRate
from unsnarl.replay.replayer import Replayed, Track
from unsnarl.replay.verify import exit_code, judged, settled
from unsnarl.reports.replay_text import hunt_statement, statement

TRACK = Track(4, 9, "0.1", "queue.py", 3, "size", "return self.qsize", "size is another one")
GONE = "put, queue.py:9 [self.n += 1] in thread 0.1 before get, queue.py:4 [self.n] in thread 0.2"


def replays(count=5, **fields):
    """Replays of so many schedules that pass, or end as they are told."""
    plain = {"times": 1, "failed": 0, "signatures": {"": 1}}
    return [Replayed(run, "boom", **{**plain, **fields}) for run in range(1, count + 1)]


FAILING = {"failed": 1, "signatures": {"boom": 1}}
OTHERWISE = {"signatures": {"bang": 1}}


def constrained(**fields):
    """50 runs under 2 constraints that pass, or end as they are told."""
    plain = {"run": 1, "constraints": 2, "runs": 50, "signatures": {"": 50}}
    return Constrained(**{**plain, **fields})


KEPT = constrained(kept=50)
RELEASED = constrained(released=50)
CERTAIN = constrained(failed=50, kept=50, signatures={"boom": 50})


@pytest.mark.parametrize(
    "told, tried, verdict, words",
    [
        (
            replays(**FAILING),
            None,
            "fails",
            "the recorded interleaving still fails: 5 of 5 replays",
        ),
        (
            replays(20, **FAILING),
            CERTAIN,
            "fails",
            "the proven interleaving still fails: 20 of 20 replays and 50 of 50 runs under its 2 "
            "minimised constraints",
        ),
        (
            # the schedule is lost, but not what matters of it
            replays(left=TRACK, gone=True),
            CERTAIN,
            "fails",
            "the proven interleaving still fails: 0 of 5 replays and 50 of 50 runs under its 2 "
            "minimised constraints",
        ),
        (
            # half a fix: the interpreter seldom switches where it still fails
            replays(left=TRACK),
            constrained(released=50, free_runs=20, free_failed=6),
            "fails",
            "the proven interleaving still fails: 0 of 5 replays and 0 of 50 runs under its 2 "
            "minimised constraints, and 6 of 20 with free switching",
        ),
        (
            replays(1, **OTHERWISE),
            constrained(signatures={"": 48, "crash": 2}),
            "differs",
            "the proven interleaving now fails in another way: 1 of 1 replay: bang; 2 of 50 runs "
            "under its 2 minimised constraints: crash",
        ),
        (
            replays(left=TRACK),
            RELEASED,
            "impossible",
            "the proven interleaving is now impossible: 0 of 5 replays and 0 of 50 runs under its "
            "2 minimised constraints fail; in 50 of 50 runs it was given up because no other "
            "thread could go on",
        ),
        (
            replays(left=TRACK),
            None,
            "impossible",
            "the recorded interleaving is now impossible: 0 of 5 replays fail; left the recorded "
            "schedule in segment 4 of 9: thread 0.1 did not reach size, queue.py:3 "
            "[return self.qsize] as recorded; without minimised constraints, similar schedules "
            "remain untested",
        ),
        (
            replays(),
            KEPT,
            "harmless",
            "the proven interleaving no longer fails: 0 of 5 replays and 0 of 50 runs under its 2 "
            "minimised constraints fail; the order was kept in 50 of 50 runs, and no longer leads "
            "to the failure",
        ),
        (
            replays(),
            None,
            "harmless",
            "the recorded interleaving no longer fails: 0 of 5 replays fail; 5 of 5 followed the "
            "recorded schedule to its end",
        ),
        (
            replays(gone=True, changed=TRACK),
            None,
            "untested",
            "the recorded interleaving was not tested: in segment 4 of 9, thread 0.1, size is "
            "another one",
        ),
        (
            replays(),
            constrained(gone=(GONE,), kept=50),
            "untested",
            f"the proven interleaving was not tested: its code is gone: {GONE}",
        ),
        (
            replays(),
            constrained(),
            "untested",
            "the proven interleaving was not tested: the events that its constraints put in order "
            "no longer happen",
        ),
    ],
)
def test_the_statement_says_what_was_tried_and_no_more(told, tried, verdict, words):
    verified = judged(told, tried)
    assert (verified.verdict, statement(verified)) == (verdict, words)


def test_one_order_that_is_kept_in_some_runs_and_given_up_in_others_is_not_impossible():
    assert judged(replays(), constrained(kept=3, released=47)).verdict == "harmless"


def test_one_schedule_whose_code_is_gone_does_not_hide_the_others():
    told = [*replays(1, gone=True, changed=TRACK), *replays(2)]
    verified = judged(told, None)
    assert (verified.verdict, verified.gone, verified.followed) == ("harmless", False, 2)


def hunted(**fields):
    plain = {
        "campaign": "c",
        "runs": RunCounts(300, 300, 0, 0),
        "repeated": {},
        "new": {},
        "warnings": (),
        "code": EXIT_OK,
    }
    return Hunted(**{**plain, **fields})


CLEAN = hunted()
STOPPED = hunted(
    runs=RunCounts(3, 3, 0, 0), code=EXIT_INCONCLUSIVE, stopped=Notice("no-threads", "none\nmore")
)


@pytest.mark.parametrize(
    "found, lines",
    [
        (CLEAN, ["0 failures in 300 runs: failure rate below 1 % at 95 % confidence"]),
        (hunted(repeated={"boom": 2}), ["the same failure in 2 of 300 runs: boom"]),
        (
            hunted(repeated={"boom": 2}, new={"bang": 1}),
            [
                "the same failure in 2 of 300 runs: boom",
                "a new failure in 1 of 300 runs: bang",
            ],
        ),
        (STOPPED, ["ended after 3 runs: none [no-threads]"]),
        (
            hunted(latent={"bang": 7}, passing={"gil": 80}),
            [
                "only with free switching, 7 of 300 runs: bang",
                "0 failures in 80 runs under the interpreter's lock",
            ],
        ),
    ],
)
def test_the_hunt_names_failures_else_the_bound(found, lines):
    assert hunt_statement(found) == lines


def tallied(*rows):
    """Runs by label, signature and mode, so many of each."""
    tally = Tally(25, 25, 1)
    number = 0
    for count, label, signature, switch, phase in rows:
        for _ in range(count):
            number += 1
            rest = ("walk", 3, switch, 0, 0, 0.1, 2, 2)
            tally.count(RunRecord(number, label, signature, *rest), phase)
    return tally


LATENT = tallied(
    (30, "pass", "", "gil", "hunt"), (5, "fail", "bang", "free", "hunt"),
    (60, "pass", "", "gil", "support"),
)  # fmt: skip


@pytest.mark.parametrize(
    "tally, before, fields",
    [
        # A failure that the lock prevents does not count against an edit under the lock ...
        (LATENT, Before(frozenset({"boom"}), False), ({}, {}, {"bang": 5}, EXIT_OK)),
        # ... unless it is the one that was to be removed, or of its kind.
        (LATENT, Before(frozenset({"bang"}), False), ({"bang": 5}, {}, {}, EXIT_FAILURE_FOUND)),
        (LATENT, Before(frozenset({"boom"}), True), ({}, {"bang": 5}, {}, EXIT_FAILURE_FOUND)),
        (
            tallied((9, "pass", "", "gil", "hunt"), (5, "fail", "bang", "free", "hunt")),
            Before(frozenset({"boom"}), False),
            ({}, {}, {"bang": 5}, EXIT_INCONCLUSIVE),
        ),
        (
            tallied((90, "pass", "", "gil", "hunt"), (5, "fail", "bang", "gil", "hunt")),
            Before(frozenset({"boom"}), False),
            ({}, {"bang": 5}, {}, EXIT_FAILURE_FOUND),
        ),
    ],
)
def test_what_the_lock_prevents_is_not_the_edits_fault(tally, before, fields):
    found = summary("c", tally, before, EXIT_FAILURE_FOUND, ())
    assert (found.repeated, found.new, found.latent, found.code) == fields


def test_runs_behind_a_claim_count_as_passing():
    found = summary("c", LATENT, Before(frozenset(), False), EXIT_FAILURE_FOUND, ())
    assert found.passing == {"gil": 90}


PASSING, HARMFUL = judged(replays(), KEPT), judged(replays(**FAILING), None)
UNKNOWN, DIFFERENT = judged(replays(), constrained()), judged(replays(**OTHERWISE), None)
UNMET = settled(UNKNOWN, OldRate("gil", 15, 100), hunted(passing={"gil": 200}))


@pytest.mark.parametrize(
    "verified, found, code",
    [
        ([PASSING], CLEAN, EXIT_OK),
        ([judged(replays(left=TRACK), RELEASED)], CLEAN, EXIT_OK),
        ([PASSING, HARMFUL], CLEAN, EXIT_FAILURE_FOUND),
        ([DIFFERENT], CLEAN, EXIT_FAILURE_FOUND),
        ([PASSING], hunted(new={"bang": 1}, code=1), EXIT_FAILURE_FOUND),
        ([PASSING], hunted(repeated={"boom": 1}, code=1), EXIT_FAILURE_FOUND),
        ([PASSING, UNKNOWN], CLEAN, EXIT_INCONCLUSIVE),
        ([PASSING, UNMET], CLEAN, EXIT_OK),
        ([UNMET], hunted(code=EXIT_INCONCLUSIVE), EXIT_INCONCLUSIVE),
        ([PASSING], hunted(latent={"bang": 7}), EXIT_OK),
        ([UNKNOWN], hunted(new={"bang": 1}, code=1), EXIT_FAILURE_FOUND),
        ([PASSING], STOPPED, EXIT_INCONCLUSIVE),
        ([PASSING], hunted(code=EXIT_INCONCLUSIVE), EXIT_INCONCLUSIVE),
    ],
)
def test_it_exits_with_0_only_if_everything_was_tested_and_passes(verified, found, code):
    assert exit_code(verified, found) == code


@pytest.mark.parametrize(
    "rate, found, verdict",
    [
        (OldRate("gil", 15, 100), hunted(passing={"gil": 200}), "unmet"),
        # Runs of another mode say nothing of it.
        (OldRate("gil", 15, 100), hunted(passing={"free": 200}), "untested"),
        # 40 % of the runs failed, but the edit may have made it rarer.
        (OldRate("gil", 40, 100), hunted(passing={"gil": 99}), "untested"),
        # Too rare for 300 runs.
        (OldRate("gil", 3, 300), hunted(passing={"gil": 300}), "untested"),
        (OldRate("gil", 15, 100), hunted(passing={"gil": 200}, new={"bang": 1}), "untested"),
        (OldRate("gil", 15, 100), hunted(passing={"gil": 200}, repeated={"boom": 1}), "untested"),
        (None, hunted(passing={"gil": 200}), "untested"),
    ],
)
def test_fresh_runs_decide_only_if_they_would_have_met_the_failure(rate, found, verdict):
    assert settled(UNKNOWN, rate, found).verdict == verdict


def test_fresh_runs_change_no_verdict_that_was_found_otherwise():
    found = hunted(passing={"gil": 1000})
    for one in (PASSING, HARMFUL, DIFFERENT):
        assert settled(one, OldRate("gil", 50, 100), found) is one


def test_a_few_runs_under_constraints_say_nothing():
    cut = judged(replays(1), constrained(runs=3, kept=3, signatures={"": 3}))
    assert (cut.verdict, statement(cut)) == (
        "untested",
        "the proven interleaving was not tested: only 3 runs under its 2 minimised constraints "
        "were made",
    )


def test_it_is_said_why_fresh_runs_suffice_and_how_many_would():
    assert statement(UNMET).endswith(
        "no longer happen. before, 15 of 100 gil runs failed; now, 0 of 200: had nothing changed, "
        "the chance of that would be below 1e-9"
    )
    few = settled(UNKNOWN, OldRate("gil", 15, 100), hunted(passing={"gil": 50}))
    assert statement(few).endswith(
        "no longer happen. 100 gil runs without a failure would rule it out, 50 passed (--time)"
    )


@pytest.mark.parametrize("failed, runs", [(1, 1), (1, 100), (15, 269), (60, 60), (3, 1000)])
def test_so_many_runs_as_are_needed_leave_less_than_the_chance_allowed(failed, runs):
    rate = OldRate("gil", failed, runs)
    assert 0 < rate.least < failed / runs
    assert rate.chance_to_miss(rate.runs_needed) <= MOST_CHANCE
    fewer = rate.runs_needed - 1
    assert fewer < FEWEST_RUNS or rate.chance_to_miss(fewer) > MOST_CHANCE


def test_what_is_known_can_be_written():
    document = msgspec.json.decode(msgspec.json.encode(HARMFUL))
    assert document["runs"] == [1, 2, 3, 4, 5] and document["verdict"] == "fails"
