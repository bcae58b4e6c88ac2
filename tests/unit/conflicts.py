# SPDX-License-Identifier: Apache-2.0
"""Findings with their source, as patches start from them."""

import textwrap
from pathlib import Path
from typing import Any

from unsnarl.model.report import Finding, FindingPoint
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.source import SourceFile


def source(text: str | bytes) -> SourceFile:
    data = text if isinstance(text, bytes) else textwrap.dedent(text).encode()
    return SourceFile(Path("a.py"), "a.py", data)


def line_of(file: SourceFile, part: str) -> int:
    return next(at for at, line in enumerate(file.lines, 1) if part in line)


def point(line: int, role: int, op: str, variable: str, **more: Any) -> FindingPoint:
    function = more.pop("function", "")
    return FindingPoint(
        "a.py", line, function, f"0.{role}", role, op, variable, "source", 1.0, **more
    )


def conflict(text: str, *points: FindingPoint, message: str = "", **more: Any) -> Conflict:
    variables = tuple(dict.fromkeys(one.variable for one in points))
    made = Finding(
        1, "joined", 1.0, {}, more.pop("kind", "atomicity"), variables, points, 1, **more
    )
    return Conflict(made, {"a.py": source(text)}, message)
