# SPDX-License-Identifier: Apache-2.0
"""Deployed programs: a command that watches itself, and what its spool has.

Nothing of ours stands between the shell and a watched program: the caller becomes it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from unsnarl import config
from unsnarl.anomalies import baseline
from unsnarl.anomalies.analyst import Analysis, Analyst
from unsnarl.errors import UsageError
from unsnarl.execution import target
from unsnarl.model.anomaly import Anomaly
from unsnarl.watch.analysts import with_watch


@dataclasses.dataclass(frozen=True)
class WatchedCommand:
    """What is to be executed, in this process."""

    program: str
    command: tuple[str, ...]
    environment: dict[str, str]


@dataclasses.dataclass(frozen=True)
class SpoolReport:
    """What a spool has, the most unusual first.

    Attributes:
        problem: Why the baseline was not used; "" if it was.
        unsent: Why batches wait for the endpoint; "" if none does.
        damaged: Bursts that cannot be read.
    """

    anomalies: tuple[Anomaly, ...]
    bursts: int
    instances: int
    damaged: int
    problem: str = ""
    unsent: str = ""


def watched(command: tuple[str, ...], settings: dict[str, Any]) -> WatchedCommand:
    """The command with what makes it watch itself; `settings` are those of unsnarl.watch.start.

    Raises UsageError for what could not be watched.
    """
    cwd = Path.cwd()
    flags = config.load(config.find_root(cwd), os.environ, {})
    found = target.parse(command, cwd, force_python=flags.force_python)
    if found.kind == "program":
        raise UsageError(
            "watch-native",
            f"{command[0]} is not a Python program: only these can be watched",
            "free runs of it can be hunted: unsnarl hunt, unsnarl record",
        )
    if settings.get("baseline"):
        baseline.load(Path(settings["baseline"]))  # now, not when nobody reads messages any more
    program = shutil.which(command[0])
    if program is None:
        raise UsageError("command-not-found", f"there is no program {command[0]}")
    wanted = {name: value for name, value in settings.items() if value not in (None, "")}
    wanted.setdefault("root", str(found.root))
    environment = with_watch(dict(os.environ), json.dumps(wanted))
    return WatchedCommand(program, command, environment)


def spool_report(folder: Path) -> SpoolReport:
    """Analyse what bursts have left, send what waits, and give all anomalies."""
    if not (folder / "bursts").is_dir():
        raise UsageError("bad-argument", f"{folder} is no spool of a watched program")
    analyst = Analyst(folder)
    with analyst.spool.locked():
        found = analyst.look()
        analyst.sender.send(analyst.spool)
    return SpoolReport(
        _joined(found),
        found.bursts,
        len(analyst.spool.instances),
        found.damaged,
        found.problem,
        analyst.sender.problem,
    )


def _joined(found: Analysis) -> tuple[Anomaly, ...]:
    """Each anomaly once, over all instances."""
    by_id: dict[str, Anomaly] = {}
    for one in (one for batch in found.batches for one in batch.anomalies):
        other = by_id.get(one.id)
        by_id[one.id] = one if other is None else _sum(one, other)
    return tuple(sorted(by_id.values(), key=lambda one: (not one.edge, -one.score, one.id)))


def _sum(one: Anomaly, other: Anomaly) -> Anomaly:
    return replace(
        one,
        count=one.count + other.count,
        bursts=one.bursts + other.bursts,
        first_seen=min(one.first_seen, other.first_seen),
        last_seen=max(one.last_seen, other.last_seen),
    )
