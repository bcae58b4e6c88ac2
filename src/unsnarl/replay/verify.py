# SPDX-License-Identifier: Apache-2.0
"""Verify: is a failure gone after an edit? First what failed before, then a fresh hunt.

    stored schedules  -->  replayed  \\
    their constraints -->  50 runs    }-->  a verdict per signature  -->  exit code
    the same budget   -->  a hunt    /      and the bound for the rest

A clean hunt alone says little of a rare failure. A schedule that led to it every time says more,
and constraints that are kept, or can no longer be kept, say it without depending on every event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from unsnarl.campaigns.store import Store
from unsnarl.errors import (
    EXIT_FAILURE_FOUND,
    EXIT_INCONCLUSIVE,
    EXIT_OK,
    UsageError,
)
from unsnarl.replay.anchors import AnchoredSchedule
from unsnarl.replay.constraints import Constrained
from unsnarl.replay.fresh import Hunted
from unsnarl.replay.replayer import Replayed, Track, stored_schedules
from unsnarl.replay.target_process import TargetProcess, start_target

# fails: as recorded; differs: in another way; impossible: the order cannot come about any more;
# harmless: it can, and passes; untested: neither was found out.
Conclusion = Literal["fails", "differs", "impossible", "harmless", "untested"]

MOST_SCHEDULES = 20
CONSTRAINED_RUNS = 50


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


def verify_schedules(store: Store) -> Iterator[Verified]:
    """Replay what is stored of every signature, in one new process."""
    stored = stored_schedules(store)
    if not stored:
        raise UsageError(
            "nothing-to-verify",
            f"no failing run of campaign {store.name} is stored",
            "name a campaign that has one: unsnarl verify CAMPAIGN",
        )
    with start_target(store) as process:
        for signature in dict.fromkeys(one.signature for one in stored):
            yield _verify([one for one in stored if one.signature == signature], process)


def _verify(schedules: Sequence[AnchoredSchedule], process: TargetProcess) -> Verified:
    """The verdict on the schedules of one signature."""
    proven = next((one for one in schedules if one.constraints), None)
    # The one that the constraints are of must be among those replayed.
    first = [proven] if proven is not None else []
    chosen = [*first, *(one for one in schedules if one is not proven)][:MOST_SCHEDULES]
    replayed = []
    for schedule in chosen:
        replayer = process.replayer(schedule)
        replayed.append(replayer.summary(replayer.follow(1)))
    constrained = process.replayer(proven).constrained(CONSTRAINED_RUNS) if proven else None
    return judged(replayed, constrained)


def judged(replayed: Sequence[Replayed], constrained: Constrained | None) -> Verified:
    """What replays of one signature, and its constraints, say together."""
    # A schedule whose code is gone was not followed, and says nothing of its order.
    whole = [one for one in replayed if not one.gone]
    followed = sum(one.left is None for one in whole)
    signatures = _sum(one.signatures for one in replayed)
    failed = sum(one.failed for one in replayed)
    ends = _sum([signatures, constrained.signatures if constrained else {}])
    verdict: Conclusion
    if failed or (constrained and constrained.failed):
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
    if constrained.gone:
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


def exit_code(verified: Sequence[Verified], hunted: Hunted) -> int:
    """1 if anything fails, 0 if everything was tested and nothing does."""
    verdicts = {one.verdict for one in verified}
    if verdicts & {"fails", "differs"} or hunted.repeated or hunted.new:
        return EXIT_FAILURE_FOUND
    if "untested" in verdicts or hunted.code != EXIT_OK:
        return EXIT_INCONCLUSIVE
    return EXIT_OK
