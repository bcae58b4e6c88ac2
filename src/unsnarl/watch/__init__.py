# SPDX-License-Identifier: Apache-2.0
"""Watch a deployed program for communication that its tests never had.

    import unsnarl.watch
    unsnarl.watch.start(baseline="baseline.json", budget=0.05)

The program runs as ever, in real parallel. Now and then its functions get probes for some
milliseconds, as often as the budget allows; what they see is written to a spool, where a process
of its own compares it with the baseline. docs/watch.md has the rest. This runs in the program:
standard library and `unsnarl._core` only.
"""

from __future__ import annotations

import atexit
import os
import sys
import sysconfig
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from unsnarl.watch.watcher import Watcher

__all__ = ["start", "stop"]

# How a baseline begins and ends (anomalies/baseline.py).
_HEAD, _TAIL = b'{"version":1,"kind":"communication"', b"}"
_watcher: list[Watcher] = []
_hooked: list[bool] = []


def start(
    *,
    program: str = "",
    version: str = "",
    budget: float = 0.05,
    baseline: str | None = None,
    spool: str = ".unsnarl/watch",
    endpoint: str = "",
    token_file: str = "",
    root: str = "",
    include: tuple[str, ...] = (),
    short_lived: bool = False,
    threshold: float = 0.0,
    analyst: bool = True,
) -> bool:
    """Watch this process from now on; returns whether it is watched. Never raises.

    Args:
        program: What anomalies are reported under; by default the name of the script.
        version: Of the program.
        budget: The share of the processor's time that watching may take: 0.05 is 5 %.
        baseline: What `unsnarl baseline` wrote. Without one, all communication is ranked.
        spool: The folder for bursts and anomalies; one for each program.
        endpoint: Anomalies are sent there as well, to `ENDPOINT/v1/anomalies`.
        token_file: A file with the token that the endpoint asks for.
        root: The project's folder: code below it is watched. By default the current one.
        include: Packages elsewhere that are watched, too.
        short_lived: Do not charge the set-up to the budget (once for each file): the program
            may end before it is paid for.
        threshold: Anomalies with lower scores are not reported.
        analyst: Whether to start the process that analyses what was seen.
    """
    from unsnarl.watch import watcher  # noqa: PLC0415  so that nothing can go wrong before

    try:
        if _watcher:
            return True
        _check(budget)
        main = getattr(sys.modules.get("__main__"), "__file__", None) or sys.argv[0] or "python"
        settings = watcher.WatchSettings(
            program or os.path.basename(main).removesuffix(".py"),  # noqa: PTH119
            version,
            budget,
            short_lived,
            os.path.abspath(spool),  # noqa: PTH100
            os.path.abspath(root or os.getcwd()),  # noqa: PTH100, PTH109
            tuple(include),
            analyst,
        )
        _check_baseline(baseline, watcher.warn)
        one = watcher.Watcher(settings)
        one.spool.write_settings(_for_analyst(baseline, endpoint, token_file, threshold))
        _watcher[:] = [one]
        _hook()
        one.start()
    except Exception as error:
        _watcher.clear()
        watcher.not_watched(error)
        return False
    return True


def stop() -> None:
    """Stop watching this process; what was seen is analysed."""
    if _watcher:
        _watcher.pop().stop()


def _check(budget: float) -> None:
    if not 0 < budget < 1:
        raise ValueError(f"a budget is a share between 0 and 1, not {budget}")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise RuntimeError("bursts need the interpreter's lock, which this build does not have")


def _check_baseline(file: str | None, warn: Callable[[str, str], None]) -> None:
    """Say what can be seen at a glance; the analyst reads all of it, with checks."""
    if not file:
        return
    try:
        with open(file, "rb") as stream:  # noqa: PTH123
            head = stream.read(len(_HEAD))
            stream.seek(-len(_TAIL), os.SEEK_END)
            is_whole = head == _HEAD and stream.read() == _TAIL
        problem = "" if is_whole else "it is damaged, or no baseline"
    except OSError as error:
        problem = error.strerror or str(error)
    if problem:
        warn("bad-baseline", f"{file} cannot be used: {problem}; all communication counts as new")


def _for_analyst(
    baseline: str | None, endpoint: str, token_file: str, threshold: float
) -> dict[str, Any]:
    return {
        "format": 1,
        "baseline": os.path.abspath(baseline) if baseline else "",  # noqa: PTH100
        "endpoint": endpoint,
        "token_file": os.path.abspath(token_file) if token_file else "",  # noqa: PTH100
        "threshold": threshold,
    }


def _hook() -> None:
    """Once in a process; copies of it have the hooks already."""
    from unsnarl.watch.watcher import GUARD  # noqa: PLC0415

    if not _hooked:
        _hooked.append(True)
        atexit.register(stop)
        os.register_at_fork(
            before=GUARD.acquire, after_in_parent=GUARD.release, after_in_child=_forked
        )


def _forked() -> None:
    """A copy of the process is watched by itself: its threads are not ours."""
    from unsnarl.watch import watcher  # noqa: PLC0415

    watcher.GUARD.release()
    if not _watcher:
        return
    old = _watcher.pop()
    try:
        new = old.forked()
        _watcher.append(new)
        new.start()
    except Exception as error:
        _watcher.clear()
        watcher.not_watched(error)
