# SPDX-License-Identifier: Apache-2.0
"""Whole methods under the object's lock, where the state at fault is more than the finding names.

A count and a file that belong together: the accesses of a finding are those of one of them, deep in
a base class. What must be atomic is what the object's users call.
"""

from __future__ import annotations

from collections.abc import Iterator

from unsnarl.model.report import FindingPoint
from unsnarl.patches.blocks import LineSpan, first_line, is_text, last_line
from unsnarl.patches.conflict import CallLine, Conflict, frames, function_named
from unsnarl.patches.locks import classes, with_bases


def monitors(conflict: Conflict) -> Iterator[tuple[LineSpan, ...]]:
    """For each class of a variable at fault, the methods through which the threads came to it."""
    owners = classes(conflict.sources)
    for owner in conflict.owners:
        names = with_bases(owner, owners)
        entered = (_entered(point, names) for point in conflict.accesses)
        found = dict.fromkeys(_body(one, conflict) for one in entered if one is not None)
        spans = tuple(span for span in found if span is not None)
        if spans:
            yield spans


def _entered(point: FindingPoint, names: list[str]) -> CallLine | None:
    """The outermost call of a method of these classes that led to a point."""
    for frame in reversed(frames(point)):
        *_, owner, _method = ("", *frame.function.split("."))
        if owner in names:
            return frame
    return None


def _body(frame: CallLine, conflict: Conflict) -> LineSpan | None:
    """All that a method does; nobody else has an object that is being made."""
    source = conflict.sources.get(frame.file)
    function = function_named(source, frame.function) if source is not None else None
    if function is None or function.name == "__init__":
        return None
    body = [one for one in function.body if not is_text(one)]
    return LineSpan(frame.file, first_line(body[0]), last_line(body[-1])) if body else None
