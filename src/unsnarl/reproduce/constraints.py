# SPDX-License-Identifier: Apache-2.0
"""Minimised constraints in a new process: the gate's rules for them, and what came of these.

A schedule is followed step by step, so it can be lost in any edit of what the threads pass by. Its
constraints name only what matters for the failure, and leave the rest to chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from unsnarl.experiments.constraints import Rule
from unsnarl.experiments.trials import Trial
from unsnarl.model.site import Op
from unsnarl.reproduce.anchors import AnchoredEvent, AnchoredOrder, AnchoredSchedule, Resolved
from unsnarl.runfile import RunFile

# Run files count these events by site.
COUNTED = (Op.READ, Op.WRITE, Op.CALL, Op.ACQUIRE)


class Asked(NamedTuple):
    """The rules for constraints, their later events, and in words those whose code is gone."""

    rules: tuple[Rule, ...]
    after: tuple[Rule, ...]
    gone: tuple[str, ...]


class Constrained(msgspec.Struct, frozen=True):
    """Fresh runs under the minimised constraints of a run.

    Attributes:
        run: The run that was minimised.
        constraints: How many constraints it has.
        gone: Those that could not be asked for because their code is gone, in words.
        runs: How many runs were made under the others.
        failed: Those of them that failed with the recorded signature.
        kept: Those in which everything happened in the order that was asked for.
        released: Those in which a constraint was given up because nobody else could go on.
        signatures: How often they ended in which way; "" for a run that passed.
    """

    run: int
    constraints: int
    gone: tuple[str, ...] = ()
    runs: int = 0
    failed: int = 0
    kept: int = 0
    released: int = 0
    signatures: dict[str, int] = {}

    @classmethod
    def of(
        cls, schedule: AnchoredSchedule, asked: Asked, trials: Sequence[Trial], failed: int
    ) -> Constrained:
        """What is told of these trials."""
        runs = [trial.run for trial in trials if trial.run is not None]
        return cls(
            run=schedule.run,
            constraints=len(schedule.constraints),
            gone=asked.gone,
            runs=len(trials),
            failed=failed,
            kept=sum(_is_kept(run, asked) for run in runs),
            released=sum(any(one.released for one in run.rules) for run in runs),
            signatures=ends(trials),
        )


def ends(trials: Sequence[Trial]) -> dict[str, int]:
    """How often they ended in which way: the signature, "" for one that passed."""
    return dict(
        Counter("" if one.label == "pass" else one.signature or one.label for one in trials)
    )


def _is_kept(run: RunFile, asked: Asked) -> bool:
    """Whether both events of every constraint happened, in this order."""
    satisfied = all(one.satisfied and not one.released for one in run.rules)
    return bool(run.rules) and satisfied and all(_happened(run, one) for one in asked.after)


def _happened(run: RunFile, match: Rule) -> bool:
    if any(point & 15 not in COUNTED for point in match["points"]):
        return True  # as far as a run file tells
    sites = {point >> 4 for point in match["points"]}
    seen = sum(
        count
        for thread, site, count, *_ in run.counts.tolist()
        if site in sites and run.threads[thread].path == match["path"]
    )
    return bool(seen >= match["occurrence"])


def rules_of(schedule: AnchoredSchedule, resolved: Mapping[int, Resolved]) -> Asked:
    """What the gate is asked for by a schedule's constraints."""
    there, gone = [], []
    for order in schedule.constraints:
        if all(resolved[event.place].points for event in _events(order)):
            there.append(order)
        else:
            gone.append(_says(order, schedule))
    rules = [_rule(order, resolved) for order in there]
    after = [_match(order.after, resolved[order.after.place]) for order in there]
    return Asked(tuple(rules), tuple(after), tuple(gone))


def _events(order: AnchoredOrder) -> tuple[AnchoredEvent, ...]:
    return (order.before, order.hold, order.after)


def _rule(order: AnchoredOrder, resolved: Mapping[int, Resolved]) -> Rule:
    """As experiments.constraints.Constraint.rule makes it."""
    hold, until = (_match(one, resolved[one.place]) for one in (order.hold, order.before))
    return {"when": None, "hold": hold, "until": until, "limit": 0}


def _match(event: AnchoredEvent, resolved: Resolved) -> Rule:
    points = resolved.points
    # As many sites as then are the same sites; else the compiler has made them differently, and
    # to count all of them as one is right unless a thread passes several on its way.
    if event.site >= 0 and len(points) == event.sites:
        points = points[event.site : event.site + 1]
    return {
        "who": "any",
        "points": list(points),
        "path": event.path,
        "occurrence": event.occurrence,
    }


def _says(order: AnchoredOrder, schedule: AnchoredSchedule) -> str:
    first, second = (schedule.places[one.place].says for one in (order.before, order.after))
    return f"{first} in thread {order.before.path} before {second} in thread {order.after.path}"
