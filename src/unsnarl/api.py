# SPDX-License-Identifier: Apache-2.0
"""What `import unsnarl` offers: hunt, replay, verify and read reports from Python.

The functions raise UnsnarlError where the command would print an error; its `slug` says which.
"""

from __future__ import annotations

import io
import math
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from unsnarl.config import KEYS
from unsnarl.errors import UnsnarlError
from unsnarl.model.report import Report, numbered
from unsnarl.reports.render import terminal
from unsnarl.workflows import hunt as hunting
from unsnarl.workflows import replay as replaying
from unsnarl.workflows import verify as verifying
from unsnarl.workflows.campaign_report import stored_report
from unsnarl.workflows.functions import command_of
from unsnarl.workflows.progress import OnProgress, ignore
from unsnarl.workflows.replay import ReplayResult
from unsnarl.workflows.verify import VerifyResult

__all__ = [
    "InterleavingError",
    "ReplayResult",
    "Report",
    "UnsnarlError",
    "VerifyResult",
    "check",
    "hunt",
    "replay",
    "report",
    "text",
    "verify",
]

Target = Callable[[], object] | str | Sequence[str]
COLUMNS = 100


class InterleavingError(AssertionError):
    """A function failed in some interleaving of its threads; `report` says in which."""

    def __init__(self, report: Report) -> None:
        super().__init__("\n" + text(report))
        self.report = report


def hunt(target: Target, *, on_progress: OnProgress = ignore, **settings: Any) -> Report:
    """Run a target under many schedules, and find out what breaks it.

    >>> import threading
    >>> visits = []
    >>> def visit():
    ...     visitor = threading.Thread(target=visits.append, args=("hello",))
    ...     visitor.start()
    ...     visitor.join()
    ...     assert visits == ["hello"]
    >>> report = hunt(visit, max_runs=20)
    >>> report.failures
    ()
    >>> visits  # the runs were made in processes of their own
    []

    Args:
        target: A function without arguments, which fails if it raises; or a command, as a text or
            in words. A function is hunted in forks of this process, as it is now: with its
            closures, its globals and what they hold. Threads that run now are missing there.
        on_progress: Called after every run and with everything new that is begun.
        settings: Those of `unsnarl hunt`, with underscores: `max_runs=500`, `time=20`, `seed=1`,
            `fail_if="lost"`, `include=("package",)`, `confirm=0`; --pass is called `passed`.
    """
    result = hunting.hunt(_command(target), _flags(settings), on_progress=on_progress)
    if result.ends_with is not None:
        raise result.ends_with
    return result.report


def check(target: Target, **settings: Any) -> Report:
    """Hunt, and raise InterleavingError if anything fails: one line of a test."""
    found = hunt(target, **settings)
    if found.failures:
        raise InterleavingError(found)
    return found


def replay(
    run: str = "",
    *,
    times: int = 1,
    seconds: float = math.inf,
    function: Callable[[], object] | None = None,
) -> ReplayResult:
    """Repeat a failing run.

    Args:
        run: Its number, in the newest campaign or as CAMPAIGN/NUMBER, or the id of a finding; by
            default the run that the newest report shows first.
        function: What was hunted, if that was a function and this is another process.
    """
    _remember(function)
    result = replaying.replay(run or _first_run(), times, seconds)
    if result.ends_with is not None:
        raise result.ends_with
    return result


def verify(
    campaign: str = "", *, function: Callable[[], object] | None = None, **settings: Any
) -> VerifyResult:
    """After an edit: are the failures of a campaign gone? `exit_code` is 0 if so, and 1 if not.

    Args:
        campaign: The newest by default.
        function: What was hunted, if that was a function and this is another process, or if it
            was defined anew.
        settings: `time` and `max_runs`; else those of the campaign.
    """
    _remember(function)
    result = verifying.verify(campaign, _flags(settings))
    if result.ends_with is not None:
        raise result.ends_with
    return result


def report(campaign: str = "") -> Report:
    """The stored report of a campaign, the newest by default."""
    return stored_report(campaign)


def text(report: Report, width: int = COLUMNS) -> str:
    """A report as `unsnarl hunt` prints it, without colours."""
    out = io.StringIO()
    terminal.print_report(report, terminal.make_console(out, width))
    return out.getvalue()


def _command(target: Target) -> tuple[str, ...]:
    if callable(target):
        return command_of(target)
    return tuple(shlex.split(target)) if isinstance(target, str) else tuple(map(str, target))


def _remember(function: Callable[[], object] | None) -> None:
    if function is not None:
        command_of(function)


def _flags(settings: dict[str, Any]) -> dict[str, Any]:
    names = {field: key for key, (field, _) in KEYS.items()}
    for name in settings.keys() - names.keys():
        raise TypeError(f"there is no setting {name!r}; there are: {', '.join(names)}")
    return {names[name]: value for name, value in settings.items()}


def _first_run() -> str:
    found = numbered(stored_report(""))
    if not found:
        raise UnsnarlError("no-finding", "nothing failed in the newest campaign")
    return str(found[0].failure.run)
