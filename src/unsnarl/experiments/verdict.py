# SPDX-License-Identifier: Apache-2.0
"""What the three arms of an experiment say of a finding; docs/commands.md has the rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from unsnarl.experiments.arms import (
    NO_ARM,
    STILL_FAILS,
    SURE,
    Series,
    brings,
    forcing_decides,
    half_decides,
    has_failed,
    stays,
)
from unsnarl.experiments.statistics import fisher
from unsnarl.model.report import Arm, Status, UndoneWork


@dataclass(frozen=True)
class Verdict:
    """What the experiment says of a finding.

    Attributes:
        why: For a status other than confirmed: what kept it from being that, in words.
        windows: Points of the campaign: other accesses that were forbidden as well (windows.py).
        left_out: Failing runs that do not have it, and have another cause.
        calls: The function whose calls were kept apart as a whole (calls.py): the verdict is on
            these.
        undone: What the later thread of its order has left undone.
    """

    status: Status
    forced: Arm
    forbidden: Arm
    control: Arm
    p_value: float
    why: str = ""
    windows: tuple[int, ...] = ()
    left_out: int = 0
    calls: str = ""
    undone: UndoneWork | None = None


def concluded(forcing: Series, forbidding: Series, controlling: Callable[[], Arm]) -> Verdict:
    """The verdict of three arms, none of them longer than it takes.

    If a run fails without the order, it is not confirmed; whether that refutes it depends on
    whether forcing brings the failure at all.
    """
    if not forbidding.until(has_failed).fail:
        forced = forcing_result(forcing, forbidding)
        control = controlling() if brings(forced) else NO_ARM
        return judge(forced, forbidding.arm, control)
    if not forcing.until(has_failed).fail:
        forbidding.until(half_decides(forbidding.size))
    return judge(forcing.arm, forbidding.arm, NO_ARM)


def forcing_result(forcing: Series, forbidding: Series) -> Arm:
    """The forced arm, where no forbidden run fails."""
    return forcing.until(forcing_decides(forcing.size, forbidding.arm.runs))


def judge(forced: Arm, forbidden: Arm, control: Arm) -> Verdict:
    """Confirmed: forbidding removes the failure, holding elsewhere does not, forcing brings it."""
    p_value = fisher(forced.fail, forced.runs, forbidden.fail, forbidden.runs)
    status: Status = "inconclusive"
    why = _missing(forced, forbidden, control, p_value)
    if not why:
        status = "confirmed"
    elif forced.runs and not forced.realised and not forced.fail:
        status = "infeasible"
        why = f"this order could not be brought about in any of {forced.runs} runs"
    # Only if both arms agree: an experiment that did not succeed says more about itself
    # (docs/adr/0012).
    elif forbidden.fail >= STILL_FAILS * forbidden.runs and not forced.fail:
        status = "refuted"
        why = "runs fail without this order, and none fails because of it"
    return Verdict(status, forced, forbidden, control, p_value, why)


def _missing(forced: Arm, forbidden: Arm, control: Arm, p_value: float) -> str:
    """The first condition of a confirmed finding that does not hold, in words; "" if all do."""
    if not forced.runs or not forbidden.runs:
        return "this order was in no run that could be repeated"
    if forbidden.fail:
        return f"without this order {forbidden.fail} of {forbidden.runs} runs fail all the same"
    if not brings(forced):
        return f"this order alone makes only {forced.fail} of {forced.runs} runs fail"
    if not stays(control):
        held = f"{control.runs - control.fail} of {control.runs}"
        return f"holding threads elsewhere removes the failure as well, in {held} runs"
    if p_value >= SURE:
        return "there are too few failing runs to exclude chance"
    return ""
