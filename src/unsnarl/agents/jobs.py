# SPDX-License-Identifier: Apache-2.0
"""What the tools do, each call in a process of its own: `python -m unsnarl.agents.jobs`.

Hunts have time limits that only a main thread can keep, and are interrupted by a signal; a server
of the protocol has its main thread for other things. The request is JSON on standard input. Lines
of JSON go to standard output: {"progress": …} as often as there is news, then {"answer": …} or
{"error": …}.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from typing import Any

from unsnarl.agents import answers
from unsnarl.agents.answers import Answer
from unsnarl.errors import UnsnarlError
from unsnarl.workflows.around import around
from unsnarl.workflows.campaign_report import stored_report
from unsnarl.workflows.hunt import hunt
from unsnarl.workflows.pair import order_lines
from unsnarl.workflows.patch_trial import try_patch
from unsnarl.workflows.progress import OnProgress, RunProgress
from unsnarl.workflows.replay import replay
from unsnarl.workflows.show import show
from unsnarl.workflows.verify import verify

Arguments = dict[str, Any]
NEWS_SECONDS = 0.5


def _hunt(given: Arguments, on_progress: OnProgress) -> Answer:
    command = given.pop("command")
    words = shlex.split(command) if isinstance(command, str) else command
    result = hunt(tuple(words), _flags(given), on_progress=on_progress)
    return answers.hunted(result.report, result.exit_code)


def _flags(given: Arguments) -> Arguments:
    return {key.replace("_", "-"): value for key, value in given.items()}


def _findings(given: Arguments, _: OnProgress) -> Answer:
    report = stored_report(given.get("campaign", ""))
    return {"campaign": report.campaign, "findings": answers.findings(report)}


def _show(given: Arguments, _: OnProgress) -> Answer:
    line = given.pop("line", "")
    report, chosen = show(given["finding"], given.get("campaign", ""))
    if not line:
        return answers.shown(report, chosen)
    events = around(line, given["finding"], given.get("campaign", ""))
    return {"id": chosen.finding.id, "line": line, "events": events, "text": "\n".join(events)}


def _force(given: Arguments, _: OnProgress) -> Answer:
    return answers.paired(order_lines(**given), forbidden=False)


def _forbid(given: Arguments, _: OnProgress) -> Answer:
    first, second = given.pop("first"), given.pop("second")
    # That the one does not come before the other is: the other comes first.
    return answers.paired(order_lines(second, first, **given), forbidden=True)


def _try_patch(given: Arguments, on_progress: OnProgress) -> Answer:
    diff, campaign = given.pop("diff"), given.pop("campaign", "")
    return answers.verified(try_patch(diff, campaign, _flags(given), on_progress=on_progress))


def _replay(given: Arguments, _: OnProgress) -> Answer:
    return answers.replayed(replay(given["run"], given.get("times", 1)))


def _verdict(given: Arguments, on_progress: OnProgress) -> Answer:
    campaign = given.pop("campaign", "")
    return answers.verified(verify(campaign, _flags(given), on_progress=on_progress))


JOBS: dict[str, Callable[[Arguments, OnProgress], Answer]] = {
    "hunt": _hunt,
    "findings": _findings,
    "show": _show,
    "force": _force,
    "forbid": _forbid,
    "try_patch": _try_patch,
    "replay": _replay,
    "verdict": _verdict,
}


class News:
    """Progress, as often as somebody wants to read it."""

    def __init__(self, write: Callable[[Answer], None]) -> None:
        self._write = write
        self._next = 0.0

    def __call__(self, progress: RunProgress) -> None:
        """Say how far it has got."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + NEWS_SECONDS
        doing = progress.doing or "hunting"
        message = f"{doing}: {progress.runs} runs, {progress.failing} failing"
        self._write({"progress": progress.share, "message": message})


def main() -> None:
    """Do one job."""
    request = json.load(sys.stdin.buffer)
    # What is printed by mistake must not get among the answers.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)

    def write(line: Answer) -> None:
        print(json.dumps(line), file=out, flush=True)

    try:
        given = {key: value for key, value in request["arguments"].items() if value is not None}
        write({"answer": JOBS[request["job"]](given, News(write))})
    except UnsnarlError as error:
        hint = f" ({error.hint})" if error.hint else ""
        write({"error": f"{error.message} [{error.slug}]{hint}"})


if __name__ == "__main__":
    main()
