# SPDX-License-Identifier: Apache-2.0
"""What a report says of the parts that are missing in it, and the files for bug reports."""

from __future__ import annotations

import platform
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from unsnarl.campaigns.store import Store, version
from unsnarl.errors import EXIT_INTERRUPTED, EXIT_TERMINATED, Terminated, UnsnarlError
from unsnarl.execution.budget import Budget
from unsnarl.model.report import MissingPart, Notice

MOST_NAMED = 4
SLUGS = {"time": "cut-off", "interrupted": "cut-off", "unsupported": "untestable"}
HEADS = {"time": "the time ran out", "interrupted": "interrupted"}


def unfinished_notices(unfinished: Sequence[MissingPart]) -> Iterator[Notice]:
    """One line for each error, and one for all that the same limit cut off."""
    for one in unfinished:
        if one.why == "error":
            file = f"; for a bug report: {one.file}" if one.file else ""
            yield Notice("part-failed", f"{one.what} failed ({one.message}){file}")
        elif one.why == "unsupported":
            slug = "not-patched" if one.phase == "patch" else SLUGS[one.why]
            yield Notice(slug, f"{one.what}: {one.message}")
    for why, head in HEADS.items():
        cut = list(dict.fromkeys(one.what for one in unfinished if one.why == why))
        if cut:
            more = f" and {len(cut) - MOST_NAMED} more" if len(cut) > MOST_NAMED else ""
            yield Notice("cut-off", f"{head}: {'; '.join(cut[:MOST_NAMED])}{more}")


def interruption(budget: Budget, when: str) -> UnsnarlError | None:
    """What to raise once the answer is shown, if somebody wanted it early; else None."""
    if budget.signal is None:
        return None
    code = EXIT_TERMINATED if isinstance(budget.signal, Terminated) else EXIT_INTERRUPTED
    return UnsnarlError("interrupted", f"interrupted {when}", "", code)


class FailureFiles:
    """Writes what a bug report should have into the folder of a campaign."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._count = 0

    def write(self, part: str, error: Exception) -> str:
        """The name of the file; "" if it cannot be written."""
        self._count += 1
        path = self._store.folder / f"internal-error-{self._count}.txt"
        try:
            path.write_text(self._text(part, error), encoding="utf-8")
        except OSError:
            return ""
        return str(_shown(path))

    def _text(self, part: str, error: Exception) -> str:
        description = self._store.description
        options = msgspec.json.encode(description.options).decode()
        facts = {
            "part": part,
            "unsnarl": version(),
            "python": f"{sys.version.split()[0]}, the target's {description.python}",
            "platform": platform.platform(),
            "campaign": self._store.name,
            "command": " ".join(description.command),
            "options": options,
        }
        lines = [f"{name}: {value}" for name, value in facts.items()]
        return "\n".join([*lines, "", *traceback.format_exception(error)])


def _shown(path: Path) -> Path:
    """Relative to where the user is, if it is below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
