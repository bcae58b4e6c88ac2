# SPDX-License-Identifier: Apache-2.0
"""One thing under two names: an object is called by where it was first kept."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from unsnarl.model.report import FindingPoint
from unsnarl.reports.patterns import is_data, mode, whole


def as_written(points: Sequence[FindingPoint]) -> tuple[FindingPoint, ...]:
    """The points, where a line reads an object through an attribute, by the attribute's name.

    `if key in context.features` reads what `Client._features` was made for; another thread assigns
    `Context.features`. It is the attribute that both lines are about.
    """
    assigned = {
        whole(one.variable): one.variable.rpartition(".")[2]
        for one in points
        if one.op == "write" and not one.part and "[" not in one.variable and _assigns(one)
    }
    return tuple(_renamed(one, points, assigned) for one in points)


def _renamed(
    point: FindingPoint, points: Sequence[FindingPoint], assigned: dict[str, str]
) -> FindingPoint:
    if not is_data(point) or mode(point) == "W" or whole(point.variable) in assigned:
        return point
    if _names(point, whole(point.variable).rpartition(".")[2]):
        return point
    for variable, attribute in assigned.items():
        others = any(one.thread != point.thread for one in points if one.variable == variable)
        if others and _names(point, attribute):
            return replace(point, variable=variable)
    return point


def _assigns(point: FindingPoint) -> bool:
    """Whether the line binds the attribute to another object."""
    attribute = point.variable.rpartition(".")[2]
    return bool(re.match(rf".*\.{re.escape(attribute)}\s*=[^=]", point.text))


def _names(point: FindingPoint, attribute: str) -> bool:
    """Whether the line of a point has the attribute, or the name."""
    return bool(re.search(rf"(?<!\w){re.escape(attribute)}\b", point.text))
