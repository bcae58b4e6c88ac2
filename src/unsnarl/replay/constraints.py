# SPDX-License-Identifier: Apache-2.0
"""Minimised constraints in a new process: the gate's rules for them, and what came of these.

A schedule is followed event by event, so any edit of what the threads pass by can break it. Its
constraints name only what matters for the failure, and leave the rest to chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from unsnarl.execution.trials import Trial
from unsnarl.model.constraint import Actor, order_rule
from unsnarl.model.event import Op, op_of, site_of
from unsnarl.model.plan import Match, Rule
from unsnarl.placement.roles import equal_paths
from unsnarl.replay.anchors import (
    Actors,
    AnchoredConstraint,
    AnchoredEvent,
    AnchoredSchedule,
    Resolved,
)
from unsnarl.runfile import RunFile

# Run files count these events by site.
COUNTED = (Op.READ, Op.WRITE, Op.CALL, Op.ACQUIRE)


class Enforced(NamedTuple):
    """The rules for constraints, their later events, and in words those whose code is gone."""

    rules: tuple[Rule, ...]
    after: tuple[Match, ...]
    gone: tuple[str, ...]


class Constrained(msgspec.Struct, frozen=True):
    """Fresh runs under the minimised constraints of a run.

    Attributes:
        run: The run that was minimised.
        constraints: How many constraints it has.
        gone: Those that could not be enforced because their code is gone, in words.
        runs: How many runs were made under the others.
        failed: Those of them that failed with the recorded signature.
        kept: Those in which everything happened in the order of the constraints.
        released: Those in which a constraint was given up because nobody else could go on.
        signatures: How often they ended in which way; "" for a run that passed.
        free_runs: Further runs, with switches at the events themselves.
        free_failed: Those of them that failed with the recorded signature.
    """

    run: int
    constraints: int
    gone: tuple[str, ...] = ()
    runs: int = 0
    failed: int = 0
    kept: int = 0
    released: int = 0
    signatures: dict[str, int] = {}
    free_runs: int = 0
    free_failed: int = 0

    @classmethod
    def of(
        cls, schedule: AnchoredSchedule, enforced: Enforced, trials: Sequence[Trial], failed: int
    ) -> Constrained:
        """What to report of these trials."""
        runs = [trial.run for trial in trials if trial.run is not None]
        return cls(
            run=schedule.run,
            constraints=len(schedule.constraints),
            gone=enforced.gone,
            runs=len(trials),
            failed=failed,
            kept=sum(_is_kept(run, enforced) for run in runs),
            released=sum(any(one.released for one in run.rules) for run in runs),
            signatures=ends(trials),
        )


def ends(trials: Sequence[Trial]) -> dict[str, int]:
    """How often they ended in which way: the signature, "" for one that passed."""
    return dict(
        Counter("" if one.label == "pass" else one.signature or one.label for one in trials)
    )


def _is_kept(run: RunFile, enforced: Enforced) -> bool:
    """Whether both events of every constraint happened, in this order."""
    satisfied = all(one.satisfied and not one.released for one in run.rules)
    return bool(run.rules) and satisfied and all(_happened(run, one) for one in enforced.after)


def is_counted(match: Match) -> bool:
    """Whether run files count these events."""
    return all(op_of(point) in COUNTED for point in match.points)


def _happened(run: RunFile, match: Match) -> bool:
    if not is_counted(match):
        return True  # as far as a run file shows
    sites = {site_of(point) for point in match.points}
    seen: Counter[str] = Counter()
    for thread, site, count, *_ in run.counts.tolist():
        if site in sites:
            seen[run.threads[thread].path] += count
    paths = equal_paths(run, match.path or "") if match.equal else [match.path or ""]
    return any(seen[path] >= match.occurrence for path in paths)


def rules_of(
    schedule: AnchoredSchedule, resolved: Mapping[int, Resolved], *, at_events: bool = False
) -> Enforced:
    """What the gate can enforce of a schedule's constraints.

    With `at_events`, threads are held at the later event itself instead of where the interpreter
    could switch before it: a lock that was put in between must not hide the order, nor one that
    was taken away.
    """
    rules, after, gone = [], [], []
    for order, (early, late) in zip(schedule.constraints, _actors(schedule), strict=True):
        # `after` may be in no rule, but without it a run cannot show that the order was kept.
        needed = (order.before, order.after) if at_events else _events(order)
        if all(resolved[event.anchor].points for event in needed):
            where = order.after if at_events else order.hold
            held, first = _match(where, late, resolved), _match(order.before, early, resolved)
            rules.append(order_rule(held, first))
            after.append(_match(order.after, late, resolved))
        else:
            gone.append(_says(order, schedule))
    return Enforced(tuple(rules), tuple(after), tuple(gone))


def _actors(schedule: AnchoredSchedule) -> Actors:
    if schedule.actors:
        return schedule.actors
    return tuple((Actor(one.before.path), Actor(one.hold.path)) for one in schedule.constraints)


def _events(order: AnchoredConstraint) -> tuple[AnchoredEvent, ...]:
    return (order.before, order.hold, order.after)


def _match(event: AnchoredEvent, actor: Actor, resolved: Mapping[int, Resolved]) -> Match:
    points = resolved[event.anchor].points
    # As many sites as then are the same sites; else the compiler has made them differently, and
    # to count all of them as one is right unless a thread passes several on its way.
    if event.site >= 0 and len(points) == event.sites:
        points = points[event.site : event.site + 1]
    path, equal, role = actor
    return Match(tuple(points), path, event.occurrence, equal=equal, role=role)


def _says(order: AnchoredConstraint, schedule: AnchoredSchedule) -> str:
    first, second = (schedule.anchors[one.anchor].says for one in (order.before, order.after))
    return f"{first} in thread {order.before.path} before {second} in thread {order.after.path}"
