# SPDX-License-Identifier: Apache-2.0
"""Patches of callers of the code at fault, tests perhaps: they keep only these from failing."""

from __future__ import annotations

import ast

from unsnarl.patches.blocks import LineSpan
from unsnarl.patches.conflict import TESTS, Conflict, frames
from unsnarl.patches.regions import Draft


def calls_only(conflict: Conflict, draft: Draft) -> bool:
    """Whether the lock is around calls of the code at fault, and not in it.

    That keeps these callers from failing, perhaps a test's; others still do. A line that accesses
    a variable and leads to other accesses is such a call: `cache[key] = 1` of an own class.
    """
    called = {frame[:2] for one in conflict.accesses for frame in frames(one)[1:]}
    lines = [
        LineSpan(one.file, one.line, one.line)
        for one in conflict.accesses
        if (one.file, one.line) not in called
    ]
    return any(not any(map(span.covers, lines)) for span in draft.spans)


def repairs_tests_only(conflict: Conflict, draft: Draft) -> bool:
    """Whether a test is patched though the code at fault is elsewhere: the test passes, no more.

    It only calls that code, or has variables of its own that show what went wrong there. A class
    that is tested may stand in the file of its tests.
    """
    if not all(map(TESTS.search, draft.texts)):
        return False
    if draft.spans and all(_is_of_tested_class(conflict, span) for span in draft.spans):
        return False
    elsewhere = any(not TESTS.search(one.file) for one in conflict.accesses)
    return elsewhere or calls_only(conflict, draft)


def _is_of_tested_class(conflict: Conflict, span: LineSpan) -> bool:
    source = conflict.sources.get(span.file)
    found = source.class_at(span.first) if source is not None else None
    if found is None or found.name.startswith("Test"):
        return False
    return not any("TestCase" in ast.unparse(base) for base in found.bases)
