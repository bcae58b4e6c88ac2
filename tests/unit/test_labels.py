# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from unsnarl.errors import UsageError
from unsnarl.execution.labels import Judgement, Labeller
from unsnarl.execution.server import Done
from unsnarl.model.run import Failure, Frame, Wait, in_cycle

ROOT = Path("/project")
ERROR = Failure("exception", "KeyError", "'x'", "0.1", (Frame("/project/a.py", 3, "work"),))
DEADLOCK = Failure("deadlock", "Deadlock", "two wait", "0.1", (Frame("/project/a.py", 9, "go"),))


def label(done: Done, *failures: Failure, waiting=(), fail_if="", output=Path("none")) -> Judgement:
    return Labeller(ROOT, fail_if).label(done, failures, waiting, output)


def test_a_clean_end_is_a_pass():
    assert label(Done(1)) == Judgement("pass")


def test_an_exception_in_any_thread_fails_a_run_that_exits_with_0():
    verdict = label(Done(1, status=0), ERROR)
    assert (verdict.label, verdict.signature) == ("fail", "KeyError in a.py:work: '…'")
    assert verdict.failure is ERROR


def test_the_first_exception_counts():
    second = Failure("assertion", "AssertionError", "later")
    assert label(Done(1, status=1), ERROR, second).failure is ERROR


def test_an_exit_status_without_an_exception():
    verdict = label(Done(1, status=7))
    assert (verdict.label, verdict.signature) == ("fail", "exit status 7")
    assert verdict.failure is not None and verdict.failure.kind == "exit"


@pytest.mark.parametrize(
    "done", [Done(1, status=97), Done(1, status=137, signal=9, timed_out=True)]
)
def test_time_outs_hang(done):
    verdict = label(done)
    assert (verdict.label, verdict.signature) == ("hang", "hang")
    assert verdict.failure is not None and verdict.failure.kind == "hang"


def test_a_deadlock_is_a_failure_with_its_points():
    waiting = [Frame("/project/b.py", 5, "x"), Frame("/project/b.py", 8, "y")]
    verdict = label(Done(1, status=96), DEADLOCK, waiting=waiting)
    assert (verdict.label, verdict.signature) == ("fail", "deadlock: b.py:x | b.py:y")
    assert verdict.failure is not None and verdict.failure.kind == "deadlock"


def test_a_deadlock_without_waits_uses_the_note():
    assert label(Done(1, status=96), DEADLOCK).signature == "deadlock: a.py:go"


def test_an_exception_before_a_deadlock_is_the_cause():
    assert label(Done(1, status=96), ERROR, DEADLOCK).failure is ERROR


def test_a_target_may_exit_with_the_status_of_a_deadlock():
    own = Failure("exit", "SystemExit", "exit status 96")
    assert label(Done(1, status=96), own).signature == "exit status 96"


def test_a_signal_is_a_failure():
    verdict = label(Done(1, status=139, signal=11))
    assert (verdict.label, verdict.signature) == ("fail", "SIGSEGV")
    assert verdict.failure is not None and verdict.failure.kind == "signal"


def test_output_can_make_a_run_fail(tmp_path):
    output = tmp_path / "out"
    output.write_bytes(b"fine\n\xff lost 3 items\n")
    verdict = label(Done(1), fail_if=r"lost \d+ items", output=output)
    assert (verdict.label, verdict.signature) == ("fail", "output: lost N items")
    assert label(Done(1), fail_if="never", output=output).label == "pass"
    assert label(Done(1), fail_if="x", output=tmp_path / "missing").label == "pass"


def test_a_bad_pattern_is_a_usage_error():
    with pytest.raises(UsageError) as caught:
        Labeller(ROOT, "(")
    assert caught.value.slug == "bad-pattern"


def test_only_the_threads_of_a_cycle_make_the_signature():
    joins = Wait(0, 1 << 4, 1, 100)
    one, two = Wait(1, 2 << 4, 2, 200), Wait(2, 3 << 4, 1, 300)
    bystander = Wait(3, 4 << 4, 2, 200)
    assert in_cycle((joins, one, two, bystander)) == (one, two)
    assert in_cycle((joins, bystander)) == ()


def test_a_status_that_is_said_to_be_good_is_no_failure(tmp_path):
    good = Labeller(ROOT, "", (3,))
    chosen = Failure("exit", "SystemExit", "exit status 3")
    assert good.label(Done(1, status=3), (), (), tmp_path / "none").label == "pass"
    assert good.label(Done(1, status=3), (chosen,), (), tmp_path / "none").label == "pass"
    assert good.label(Done(1, status=4), (), (), tmp_path / "none").label == "fail"
    # What went wrong is said by more than the status.
    assert good.label(Done(1, status=3), (ERROR,), (), tmp_path / "none").label == "fail"
