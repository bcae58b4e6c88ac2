# SPDX-License-Identifier: Apache-2.0
"""The line that moves while a hunt runs; on standard error, so that the answer stays clean."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from unsnarl.campaigns.tally import Tally

BAR_CELLS = 12
REDRAWS_PER_SECOND = 8
PLAIN_SECONDS = 10.0


class Progress(Protocol):
    """Told after every run."""

    def __call__(self, tally: Tally) -> None:
        """Show how far the hunt is."""


def share(tally: Tally) -> float:
    """How much of what was wanted is in hand, from 0 to 1."""
    failing = max(tally.failing.values(), default=0)
    passing = max(tally.passing.values(), default=0)
    done = min(failing, tally.want_fail) + min(passing, tally.want_pass)
    return done / (tally.want_fail + tally.want_pass)


def line(tally: Tally, seconds: float) -> str:
    """`50 runs · 25 failing · 25 passing · 3.1 s`."""
    labels = tally.labels
    parts = [f"{tally.total} runs", f"{labels['fail']} failing", f"{labels['pass']} passing"]
    if labels["hang"]:
        parts.append(f"{labels['hang']} hanging")
    if tally.support:
        parts.append(f"{tally.support.total()} more under the lock")
    return " · ".join([*parts, f"{seconds:.1f} s"])


@contextmanager
def showing(quiet: bool = False, doing: str = "hunting") -> Iterator[Progress]:
    """A progress display for the time of a hunt, or of what else is done."""
    if quiet:
        yield lambda tally: None
    elif sys.stderr.isatty():
        yield from _live(doing)
    else:
        yield _Plain(doing)


class _Plain:
    """A line every now and then, for logs."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._start = self._last = time.monotonic()

    def __call__(self, tally: Tally) -> None:
        now = time.monotonic()
        if now - self._last >= PLAIN_SECONDS:
            self._last = now
            text = f"{self._doing}  {line(tally, now - self._start)}"
            print(text, file=sys.stderr, flush=True)


def _live(doing: str) -> Iterator[Progress]:
    from rich.console import Console  # noqa: PLC0415  heavy, and only for terminals
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    start = time.monotonic()
    last = 0.0
    with Live(
        Text(f"{doing}  importing the target"), console=Console(stderr=True), auto_refresh=False,
        transient=True,
    ) as live:  # fmt: skip

        def show(tally: Tally) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= 1 / REDRAWS_PER_SECOND:
                last = now
                full = round(share(tally) * BAR_CELLS)
                bar = "█" * full + "░" * (BAR_CELLS - full)
                live.update(Text(f"{doing}  {bar}  {line(tally, now - start)}"), refresh=True)

        yield show


@contextmanager
def counting(most: int, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """The number of the try that was made last, for a person who waits."""
    shown = not quiet and sys.stderr.isatty()

    def show(number: int) -> None:
        if shown:
            print(f"\rtry {number} of {most}", end="", file=sys.stderr, flush=True)

    show(0)  # the first may take a while: an order is solved before it
    try:
        yield show
    finally:
        if shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
