# SPDX-License-Identifier: Apache-2.0
"""What it takes to begin: `unsnarl --help`, `import unsnarl`, and a bare interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from resource import RUSAGE_CHILDREN, getrusage

from benchmarks.figures import Figure, median

BARE = (sys.executable, "-c", "pass")
WAYS = {
    "startup: unsnarl --help": ((sys.executable, "-m", "unsnarl", "--help"), 2.0),
    "startup: import unsnarl": ((sys.executable, "-c", "import unsnarl"), 2.0),
}


def figures(quick: bool) -> Iterator[Figure]:
    """Ratios of CPU time, bare and not alternating."""
    for name, (command, bar) in WAYS.items():
        bare, own = [], []
        for _ in range(10 if quick else 40):
            bare.append(_spent(BARE))
            own.append(_spent(command))
        middle = sorted(bare)[len(bare) // 2]
        details = {"bare": bare, "own": own}
        yield median(name, [one / middle for one in own], unit="x", bar=bar, details=details)


def _spent(command: Sequence[str]) -> float:
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
