# SPDX-License-Identifier: Apache-2.0
"""Orders by roles: what one of several equal threads did in one run, any of them may do in another.

An order of ten threads that names one of nine equal ones leaves eight to do as they like, and they
undo what it is about. By roles it is about all of them; or, where two of them do different things
in it, about the first that comes to do the one and the first that comes to do the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from unsnarl.model.constraint import Actor, Constraint
from unsnarl.placement.line_points import LinePoints
from unsnarl.placement.occurrence import latest_occurrence
from unsnarl.placement.timeline import Timeline
from unsnarl.runfile import RunFile


def equal_paths(run: RunFile, path: str) -> list[str]:
    """The threads of a run that are equal to that of a path, itself among them."""
    kind = next((thread.kind for thread in run.threads if thread.path == path), 0)
    if not kind:
        return [path]
    return [thread.path for thread in run.threads if thread.kind == kind]


def equal_threads(run: RunFile, timeline: Timeline, lines: Sequence[LinePoints]) -> list[str]:
    """The threads that are equal to those of an answer's occurrence, if these are of one kind."""
    paths = {event.path for event in latest_occurrence(timeline, lines)}
    kinds = [equal_paths(run, path) for path in sorted(paths)]
    return kinds[0] if len(kinds) > 1 and all(kind == kinds[0] for kind in kinds) else []


def by_roles(order: Sequence[Constraint], run: RunFile) -> list[Constraint]:
    """The order of a run by roles; empty if nobody who is not in it could have done it as well."""
    paths = dict.fromkeys(event.path for one in order for event in (one.before, one.hold))
    equal = {path: equal_paths(run, path) for path in paths}
    if all(other in paths for others in equal.values() for other in others):
        return []
    cast = Counter(others[0] for others in equal.values())

    def actor(number: int, path: str) -> Actor:
        first, *others = equal[path]
        if not others:
            return Actor(path)
        return Actor(first, True, number if cast[first] > 1 else 0)

    actors = {path: actor(number, path) for number, path in enumerate(paths, 1)}
    return [one._replace(actors=(actors[one.before.path], actors[one.hold.path])) for one in order]
