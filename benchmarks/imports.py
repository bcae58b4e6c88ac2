# SPDX-License-Identifier: Apache-2.0
"""What the rewriting adds to the import of a module of 1000 lines."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.subject import KERNELS, pair

LINES = 1000
MODULE = "thousand"
STOCK = ("operating_system.py", "constraints.py", "pipeline.py", "containers.py")


def figures(quick: bool) -> Iterator[Figure]:
    """One figure: milliseconds of CPU time."""
    with tempfile.TemporaryDirectory(prefix="unsnarl-bench-") as folder:
        root = Path(folder)
        (root / "teams.py").write_text((KERNELS / "teams.py").read_text())
        (root / f"{MODULE}.py").write_text(thousand_lines())
        with pair(root) as both:
            request = {"load": ["queue", "threading", "teams"], "import": MODULE}
            both.plain.ask(request)  # writes the .pyc that all others read
            plain, probed = [], []
            for _ in range(5 if quick else 15):
                plain.append(both.plain.ask(request)["cpu"] * 1000)
                probed.append(both.probed.ask(request)["cpu"] * 1000)
    middle = sorted(plain)[len(plain) // 2]
    yield median(
        "imports: extra for 1000 lines",
        [sample - middle for sample in probed],
        unit="ms",
        bar=25,
        details={"plain": plain, "probed": probed},
    )


def thousand_lines() -> str:
    """Top-level statements of the kernels, over and over, until there are 1000 lines."""
    text: list[str] = []
    while True:
        for name in STOCK:
            source = (KERNELS / name).read_text()
            for node in ast.parse(source).body:
                lines = source.splitlines()[node.lineno - 1 : node.end_lineno]
                if len(text) + len(lines) > LINES:
                    text += ["x = [0, 1]"] * (LINES - len(text))
                    return "\n".join(text) + "\n"
                text += [*lines, ""]
