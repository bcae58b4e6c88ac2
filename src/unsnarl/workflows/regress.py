# SPDX-License-Identifier: Apache-2.0
"""Regress: the kept interleavings of a project replayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from unsnarl import config
from unsnarl.campaigns import store as stores
from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE, EXIT_OK
from unsnarl.replay.kept import Kept, kept_files, read_kept
from unsnarl.replay.regress import Regressed, RegressionProcess, start_kept, without_node
from unsnarl.workflows.progress import ignore

__all__ = ["Regressed", "Regressions", "has_campaign", "regress", "regress_code"]


# Each has a copy of its program in its memory. A session may come to their tests in any order.
AT_ONCE = 4


class _Started(NamedTuple):
    """A process, and what ends it."""

    process: RegressionProcess
    stack: ExitStack


class Regressions:
    """Replays kept interleavings, with one process for all of a command or file of tests.

    Use it as a context manager: its processes end with it.
    """

    def __init__(self, root: Path, python: str = "") -> None:
        """`python` is another interpreter than the one that the commands name."""
        self._root = root
        self._python = python
        self._processes: dict[object, _Started] = {}  # those used longest ago come first

    def __enter__(self) -> Regressions:
        return self

    def __exit__(self, *_: object) -> None:
        while self._processes:
            self._end_oldest()

    def check(self, file: Path) -> Regressed:
        """What the code, as it is now, makes of one of them."""
        kept = read_kept(file)
        command = without_node(kept.command)[0]
        key = (command, kept.folder, kept.include, kept.fail_if, kept.ok_exit, kept.timeout)
        started = self._processes.pop(key, None) or self._start(kept)
        self._processes[key] = started
        return started.process.check(file, kept)

    def _start(self, kept: Kept) -> _Started:
        if len(self._processes) >= AT_ONCE:
            self._end_oldest()
        stack = ExitStack()
        process = stack.enter_context(start_kept(kept, self._root, self._python))
        return _Started(process, stack)

    def _end_oldest(self) -> None:
        self._processes.pop(next(iter(self._processes))).stack.close()


def regress(*, on_regressed: Callable[[Regressed], None] = ignore) -> list[Regressed]:
    """Replay all kept interleavings of the project around the current folder.

    `on_regressed` is called with each as soon as it is decided.
    """
    root = config.find_root(Path.cwd())
    found: list[Regressed] = []
    with Regressions(root) as regressions:
        for file in sorted(kept_files(root), key=lambda one: (read_kept(one).command, one)):
            found.append(regressions.check(file))
            on_regressed(found[-1])
    return found


def has_campaign() -> bool:
    """Whether any campaign is stored around the current folder."""
    return bool(stores.campaigns(Path.cwd()))


def regress_code(found: Sequence[Regressed]) -> int:
    """1 if one fails, 4 if one could not be tried, else 0."""
    if any(one.is_bad for one in found):
        return EXIT_FAILURE_FOUND
    untried = any(one.state in ("gone", "unreached") for one in found)
    return EXIT_INCONCLUSIVE if untried else EXIT_OK
