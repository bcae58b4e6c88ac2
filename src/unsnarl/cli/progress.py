# SPDX-License-Identifier: Apache-2.0
"""The line that moves while a hunt runs; on standard error, so that the answer stays clean."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unsnarl.workflows.progress import OnProgress, RunProgress

BAR_CELLS = 12
REDRAWS_PER_SECOND = 8
PLAIN_SECONDS = 10.0


def line(progress: RunProgress, seconds: float) -> str:
    """`50 runs · 25 failing · 25 passing · 3.1 s`; after the hunt, what is done with them."""
    if progress.doing:
        found = f"{progress.runs} runs · {progress.failing} failing"
        return f"{progress.doing} · {progress.trials} trials · {found} · {seconds:.1f} s"
    parts = [
        f"{progress.runs} runs",
        f"{progress.failing} failing",
        f"{progress.passing} passing",
    ]
    if progress.hanging:
        parts.append(f"{progress.hanging} hanging")
    if progress.support:
        parts.append(f"{progress.support} more under the lock")
    return " · ".join([*parts, f"{seconds:.1f} s"])


@contextmanager
def showing(
    quiet: bool = False, doing: str = "hunting", start: float | None = None
) -> Iterator[OnProgress]:
    """A progress display for the time of a hunt, or of what else is done, since `start`."""
    start = time.monotonic() if start is None else start
    if quiet:
        yield lambda progress: None
    elif sys.stderr.isatty():
        yield from _live(doing, start)
    else:
        yield from _plain(doing, start)


class PausableProgress:
    """A progress display that makes room for a part of the answer."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._start = time.monotonic()
        self._shown = ExitStack()
        self._on_progress: OnProgress = lambda progress: None

    def __enter__(self) -> PausableProgress:
        self._on_progress = self._shown.enter_context(showing(self._quiet, start=self._start))
        return self

    def __exit__(self, *exception: object) -> None:
        self._shown.close()

    def take(self, progress: RunProgress) -> None:
        """What there is to be seen now."""
        self._on_progress(progress)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing moves meanwhile."""
        self._shown.close()
        try:
            yield
        finally:
            self.__enter__()


class _Shown:
    """The latest progress, shown by a thread of its own: it moves also while nothing is new."""

    def __init__(
        self,
        doing: str,
        show: Callable[[str], None],
        seconds: float,
        *,
        start: float,
        bar: bool = False,
    ) -> None:
        self._doing = doing
        self._bar = bar
        self._show = show
        self._seconds = seconds
        self._start = start
        self._latest: RunProgress | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._repeat, daemon=True)

    def __enter__(self) -> OnProgress:
        self._thread.start()
        return self._take

    def __exit__(self, *exception: object) -> None:
        self._end.set()
        self._thread.join()

    def _take(self, progress: RunProgress) -> None:
        self._latest = progress

    def text(self) -> str:
        """What is to be seen now."""
        seconds = time.monotonic() - self._start
        if self._latest is None:
            return f"{self._doing}  importing the target · {seconds:.1f} s"
        text = line(self._latest, seconds)
        if self._latest.doing:
            return text
        full = round(self._latest.share * BAR_CELLS)
        bar = "█" * full + "░" * (BAR_CELLS - full) + "  " if self._bar else ""
        return f"{self._doing}  {bar}{text}"

    def _repeat(self) -> None:
        while not self._end.wait(self._seconds):
            self._show(self.text())


def _plain(doing: str, start: float) -> Iterator[OnProgress]:
    """A line every now and then, for logs."""

    def show(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    with _Shown(doing, show, PLAIN_SECONDS, start=start) as on:
        yield on


def _live(doing: str, start: float) -> Iterator[OnProgress]:
    from rich.console import Console  # noqa: PLC0415  heavy, and only for terminals
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    with Live(
        Text(f"{doing}  importing the target"), console=Console(stderr=True), auto_refresh=False,
        transient=True,
    ) as live:  # fmt: skip
        redraw = _Shown(
            doing, lambda text: live.update(Text(text), refresh=True), 1 / REDRAWS_PER_SECOND,
            start=start, bar=True,
        )  # fmt: skip
        with redraw as on_progress:
            yield on_progress


@contextmanager
def counting(most: int, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """The number of the latest try, for a person who waits."""
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
