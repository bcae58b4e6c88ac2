# SPDX-License-Identifier: Apache-2.0
"""One case measured: exported, kept, and both tried on the bug and on its fixed twin."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from evaluation.reproducer_cases import RealSubject, Subject, processor_seconds
from evaluation.reproducer_results import Exported

REPRODUCER = "test_repro.py"
FIXED_RUNS = 3
TIMES = 3
# What a session does for the only interleaving of a command; unsnarl itself is loaded once for all.
TIMED = """
import os
from pathlib import Path
from unsnarl.replay.kept import kept_files
from unsnarl.workflows.regress import Regressions

root = Path.cwd()
begin = sum(os.times()[:4])
with Regressions(root) as regressions:
    regressions.check(kept_files(root)[0])
print(sum(os.times()[:4]) - begin)
"""
AT_ONCE = 4


def measure(subject: Subject, runs: int, seconds: int) -> Exported:
    """Everything about one case."""
    subject.hunt(seconds)
    if isinstance(subject, RealSubject):
        subject.use(fixed=False)  # an earlier measurement may have left the other one
    finding = _confirmed(subject)
    if finding is None:
        return Exported(subject.name, subject.zoo, confirmed=False)
    exported = _answer(subject, "export", finding, "--reproducer", REPRODUCER)
    row = Exported(
        subject.name,
        subject.zoo,
        confirmed=True,
        why=exported.get("why") or ("" if exported.get("file") else str(exported)),
        orders=exported.get("orders", 0),
    )
    has_one = bool(exported.get("file"))
    codes = tuple(code for code, _ in _runs(subject, subject.folder, runs if has_one else 0))
    kept = _answer(subject, "keep", finding)
    row = msgspec.structs.replace(row, codes=codes, kept=_kept_word(kept))
    return _on_the_twin(subject, row, has_one=has_one)


def _on_the_twin(subject: Subject, row: Exported, *, has_one: bool) -> Exported:
    twin = subject.make_twin()
    ends = _runs(subject, twin, FIXED_RUNS if has_one else 0)
    fields: dict[str, Any] = {
        "fixed": tuple(code for code, _ in ends),
        "fixed_says": next((says for code, says in ends if code), ""),
    }
    if row.kept == "fails":
        answer = _answer(subject, "verify", "--kept", cwd=twin)
        checked = answer.get("kept", [{}])[0]
        fields |= {
            "kept_fixed": checked.get("state", str(answer)),
            "kept_says": checked.get("statement", ""),
            **_times(subject, twin),
        }
    return msgspec.structs.replace(row, **fields)


def _times(subject: Subject, twin: Path) -> dict[str, float]:
    """Processor seconds of a replay beyond the command's own, and of what they can be compared to.

    The least of several, alternately: other programs only ever add to it.
    """
    replays, commands, bare = [], [], []
    for _ in range(TIMES):
        said = subject.run([sys.executable, "-c", TIMED], twin).stdout.split()
        replays.append(float(said[-1]) if said else math.inf)
        commands.append(_spent(subject, subject.command, twin))
        bare.append(_spent(subject, ("python", "-c", "pass"), twin))
    return {
        "seconds": round(min(replays) - min(commands), 3),
        "command_seconds": round(min(commands), 3),
        "start_seconds": round(min(bare), 3),
    }


def _spent(subject: Subject, command: Sequence[str], folder: Path) -> float:
    begin = processor_seconds()
    subject.run(command, folder)
    return processor_seconds() - begin


def _confirmed(subject: Subject) -> str | None:
    """The id of the first confirmed finding."""
    file = subject.base / "report.json"
    file.unlink(missing_ok=True)
    subject.unsnarl(["export", "--format", "json", "-o", str(file)], subject.folder)
    report = msgspec.json.decode(file.read_bytes()) if file.exists() else {}
    for failure in report.get("failures", ()):
        for finding in failure["findings"]:
            if finding["status"] == "confirmed":
                return str(finding["id"])
    return None


def _answer(subject: Subject, *words: str, cwd: Path | None = None) -> dict[str, Any]:
    """What a command of ours says, as JSON; its last words if it has no answer."""
    file = subject.base / "answer.json"
    file.unlink(missing_ok=True)
    done = subject.unsnarl([*words, f"--json={file}"], cwd or subject.folder)
    if file.exists():
        found: dict[str, Any] = msgspec.json.decode(file.read_bytes())
        return found
    return {"why": next(iter(done.stdout.strip().splitlines()), f"exit {done.returncode}")}


def _runs(subject: Subject, folder: Path, count: int) -> list[tuple[int, str]]:
    """Several at once: they mostly wait, and a busy machine is a harder test."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda _: _reproduce(subject, folder), range(count)))


def _reproduce(subject: Subject, folder: Path) -> tuple[int, str]:
    file = subject.folder / REPRODUCER
    done = subject.run(["python", str(file)], folder)
    lines = done.stdout.strip().splitlines()
    return done.returncode, lines[-1] if lines else ""


def _kept_word(answer: dict[str, Any]) -> str:
    checked = answer.get("checked")
    return str(checked["state"]) if checked else str(answer.get("why", answer))
