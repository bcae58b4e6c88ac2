# SPDX-License-Identifier: Apache-2.0
"""Verify: is a failure gone after an edit? First what failed before, then a fresh hunt.

    stored schedules  -->  replayed  \\
    their constraints -->  50 runs    }-->  a verdict per signature  -->  exit code
    the same budget   -->  a hunt    /      and the bound for the rest

A clean hunt alone says little of a rare failure. A schedule that led to it every time says more,
and constraints that are kept, or can no longer be kept, say it without depending on every event.
Where the edit leaves nothing of both that could be tried, the hunt decides, if it made so many runs
that it would surely have met the failure (old_rate.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from unsnarl.campaigns.store import Store
from unsnarl.errors import (
    EXIT_FAILURE_FOUND,
    EXIT_INCONCLUSIVE,
    EXIT_OK,
    UsageError,
)
from unsnarl.execution.budget import Budget, OutOfTimeError
from unsnarl.replay.anchors import AnchoredSchedule
from unsnarl.replay.constraints import Constrained
from unsnarl.replay.fresh import Hunted
from unsnarl.replay.old_rate import FEWEST_RUNS, MOST_CHANCE, OldRate
from unsnarl.replay.replayer import Replayed, Replayer, Track, stored_schedules
from unsnarl.replay.target_process import TargetProcess, start_target

# fails: as recorded; differs: in another way; impossible: the order cannot come about any more;
# harmless: it can, and passes; unmet: it could not be tried, but fresh runs would have met it;
# untested: none of these was found out.
Conclusion = Literal["fails", "differs", "impossible", "harmless", "unmet", "untested"]

MOST_SCHEDULES = 20
CONSTRAINED_RUNS = 50
FREE_RUNS = 20
# If the time ends before all of them: with fewer, nothing is said.
FEWEST_CONSTRAINED = 12
# Of the time for one signature: what the run that was minimised may take. Its constraints say more
# than the schedules of others.
SHARE_OF_PROVEN = 0.7


class Verified(msgspec.Struct, frozen=True):
    """What the code, as it is now, makes of the stored runs of one signature.

    Attributes:
        runs: The runs whose schedules were replayed, once each.
        failed: How many of these replays failed as recorded.
        followed: How many followed their schedule to its end.
        signatures: How often they ended in which way; "" for a replay that passed.
        left: Where the first one left its schedule.
        changed: The first segment of any at which the program is no longer what it was.
        gone: Whether the code of a segment is not there any more, in every schedule.
        constrained: The runs under minimised constraints; None if there are none.
        before: How often it failed before the edit, where fresh runs have to decide.
        fresh: The fresh runs of that mode, none of which failed.
    """

    signature: str
    verdict: Conclusion
    runs: tuple[int, ...]
    failed: int
    followed: int
    signatures: dict[str, int]
    left: Track | None
    changed: Track | None
    gone: bool
    constrained: Constrained | None
    before: OldRate | None = None
    fresh: int = 0


def verify_schedules(store: Store, budget: Budget) -> Iterator[Verified]:
    """Replay what is stored of every signature, in one new process."""
    stored = stored_schedules(store)
    if not stored:
        raise UsageError(
            "nothing-to-verify",
            f"no failing run of campaign {store.name} is stored",
            "name a campaign that has one: unsnarl verify CAMPAIGN",
        )
    signatures = list(dict.fromkeys(one.signature for one in stored))
    with start_target(store, budget=budget) as process:
        for index, signature in enumerate(signatures):
            chosen = [one for one in stored if one.signature == signature]
            with budget.share(1 / (len(signatures) - index)):
                found = _Schedules(chosen, process).verified()
            yield found


class _Schedules:
    """The stored schedules of one signature, tried one after the other while there is time."""

    def __init__(self, schedules: Sequence[AnchoredSchedule], process: TargetProcess) -> None:
        self._signature = schedules[0].signature
        self._proven = next((one for one in schedules if one.constraints), None)
        others = [one for one in schedules if one is not self._proven]
        # The one that the constraints are of must be among those replayed.
        self._others = others[: MOST_SCHEDULES - (self._proven is not None)]
        self._process = process
        self._budget = process.trials.budget
        self._replayed: list[Replayed] = []
        self._constrained: Constrained | None = None

    def verified(self) -> Verified:
        """The verdict, by what there was time for."""
        try:
            if self._proven is not None:
                with self._budget.share(SHARE_OF_PROVEN):
                    self._try_proven(self._proven)
            for schedule in self._others:
                if self._budget.is_interrupted:
                    break
                self._replay(schedule)
        except OutOfTimeError:
            whole = len(self._others) + (self._proven is not None)
            text = f"{len(self._replayed)} of {whole} schedules were replayed: {self._signature}"
            self._budget.note("replay", text, "time")
        if not self._replayed:
            return _untested(self._signature)
        return judged(self._replayed, self._constrained)

    def _try_proven(self, schedule: AnchoredSchedule) -> None:
        replayer = self._replay(schedule)
        found = self._constrained = replayer.constrained(CONSTRAINED_RUNS)
        # Half a fix often hides the order only from where the interpreter could switch.
        if not found.failed and found.runs == CONSTRAINED_RUNS and schedule.switch == "gil":
            free = replayer.freely_constrained(FREE_RUNS)
            failed = sum(map(replayer.fails, free))
            self._constrained = replace(found, free_runs=len(free), free_failed=failed)

    def _replay(self, schedule: AnchoredSchedule) -> Replayer:
        replayer = self._process.replayer(schedule)
        self._replayed.append(replayer.summary(replayer.follow(1)))
        return replayer


def _untested(signature: str) -> Verified:
    """Not even one replay could be made."""
    return Verified(signature, "untested", (), 0, 0, {}, None, None, False, None)


def judged(replayed: Sequence[Replayed], constrained: Constrained | None) -> Verified:
    """What replays of one signature, and its constraints, say together."""
    # A schedule whose code is gone was not followed, and says nothing of its order.
    whole = [one for one in replayed if not one.gone]
    followed = sum(one.left is None for one in whole)
    signatures = _sum(one.signatures for one in replayed)
    failed = sum(one.failed for one in replayed)
    ends = _sum([signatures, constrained.signatures if constrained else {}])
    verdict: Conclusion
    if failed or (constrained and (constrained.failed or constrained.free_failed)):
        verdict = "fails"
    elif any(ends[one] for one in ends if one):
        verdict = "differs"
    elif constrained is not None:
        verdict = _by_constraints(constrained)
    else:
        verdict = "harmless" if followed else "impossible" if whole else "untested"
    return Verified(
        signature=replayed[0].signature,
        verdict=verdict,
        runs=tuple(one.run for one in replayed),
        failed=failed,
        followed=followed,
        signatures=dict(signatures),
        left=next((one.left for one in replayed if one.left), None),
        changed=next((one.changed for one in replayed if one.changed), None),
        gone=not whole,
        constrained=constrained,
    )


def _by_constraints(constrained: Constrained) -> Conclusion:
    if constrained.gone or constrained.runs < FEWEST_CONSTRAINED:
        return "untested"
    if constrained.kept:
        return "harmless"
    # Said only where the code was reached and the order could not be brought about (docs/adr/0014).
    return "impossible" if constrained.released else "untested"


def _sum(counts: Iterable[dict[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return total


def settled(one: Verified, rate: OldRate | None, hunted: Hunted) -> Verified:
    """With what the fresh hunt says, where the interleaving itself could not be tried."""
    if one.verdict != "untested" or rate is None:
        return one
    fresh = hunted.passing.get(rate.switch, 0)
    clean = not hunted.repeated and not hunted.new and hunted.stopped is None
    surely = fresh >= FEWEST_RUNS and rate.chance_to_miss(fresh) < MOST_CHANCE
    verdict: Conclusion = "unmet" if clean and surely else "untested"
    return replace(one, verdict=verdict, before=rate, fresh=fresh)


def exit_code(verified: Sequence[Verified], hunted: Hunted) -> int:
    """1 if anything fails, 0 if everything was tested and nothing does."""
    verdicts = {one.verdict for one in verified}
    if verdicts & {"fails", "differs"} or hunted.repeated or hunted.new:
        return EXIT_FAILURE_FOUND
    if "untested" in verdicts or hunted.code != EXIT_OK:
        return EXIT_INCONCLUSIVE
    return EXIT_OK
