# SPDX-License-Identifier: Apache-2.0
"""Answers about the same conflict, which differ only in neighbouring lines.

Where two threads get in each other's way in two functions, each line of the one with each of the
other is an answer, and all of them separate the runs alike. A reader looks at the first few: these
shall be different ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unsnarl.analyses.answer import Answer
from unsnarl.model.site import Point

# In the order of time: thread by first appearance, file, function and variable.
Conflict = tuple[tuple[int, str, str, str], ...]


def repeats_last(
    answers: Sequence[Answer], point: Callable[[int], Point], confirmed: int
) -> list[int]:
    """The order of the answers in which those that repeat an earlier one's conflict come last.

    Args:
        answers: Best first.
        point: The point of an index.
        confirmed: So many at the beginning were, and stay where they are. If none was, all do: the
            ranking is all there is.
    """
    seen: set[Conflict] = set()
    first: list[int] = []
    repeated: list[int] = []
    for at, one in enumerate(answers):
        conflict = conflict_of(one, point)
        new = at < (confirmed or len(answers)) or one.is_stuck or conflict not in seen
        (first if new else repeated).append(at)
        seen.add(conflict)
    return [*first, *repeated]


def conflict_of(answer: Answer, point: Callable[[int], Point]) -> Conflict:
    """Who touched what in which functions, whatever the lines there."""
    roles: dict[int, int] = {}
    steps: list[tuple[int, str, str, str]] = []
    for line in answer.lines:
        site = point(line.point).site
        role = roles.setdefault(line.role, len(roles))
        step = (role, site.file, site.function, site.variable or site.name)
        if step not in steps[-1:]:
            steps.append(step)
    return tuple(steps)
