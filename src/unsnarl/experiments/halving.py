# SPDX-License-Identifier: Apache-2.0
"""Group testing: which of several orders might be the cause, in fewer tests than there are orders.

If runs fail although none of a group's orders can happen, all of the group are excluded at once.
Otherwise the group is halved. (Adaptive group testing; Fariha, Nath, Meliou: Causality-guided
adaptive interventional debugging, SIGMOD 2020, do so with the predicates of a program.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def suspects(
    group: Sequence[T], are_excluded: Callable[[Sequence[T]], bool], *, has_cause: bool = False
) -> Iterator[T]:
    """Those that are not excluded, in their order; made on demand.

    Args:
        group: What is suspected.
        are_excluded: Makes the test of a group.
        has_cause: Its test is known: without all of it the failure is gone.
    """
    if not group or (not has_cause and are_excluded(group)):
        return
    if len(group) == 1:
        yield group[0]
        return
    middle = (len(group) + 1) // 2
    first, second = group[:middle], group[middle:]
    is_out = are_excluded(first)
    if not is_out:
        yield from suspects(first, are_excluded, has_cause=True)
    # Without the first half runs fail, without both they do not: it is in the second.
    yield from suspects(second, are_excluded, has_cause=is_out)
