# SPDX-License-Identifier: Apache-2.0
"""The report of a hunt with the sources that it names: what is said of it can be said anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from unsnarl.model.report import FailureReport, Finding, Report
from unsnarl.patches.conflict import files_of


class KeptReport(msgspec.Struct, frozen=True):
    """A report, and the texts of its files by the names that it has for them."""

    report: Report
    sources: dict[str, str]

    def text(self, file: str) -> str:
        """The text of a file; "" for one that was not kept."""
        return self.sources.get(file, "")

    @property
    def first(self) -> tuple[FailureReport, Finding] | None:
        """The finding that a user reads first, with its failure."""
        failure = self.report.failures[0] if self.report.failures else None
        return (failure, failure.findings[0]) if failure and failure.findings else None


def keep(report: Report, root: Path, target: Path) -> None:
    """Write a report down while the sources below its root are there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(msgspec.json.encode(KeptReport(report, dict(_texts(report, root)))))


def load(file: Path) -> KeptReport:
    """What was kept in a file."""
    return msgspec.json.decode(file.read_bytes(), type=KeptReport)


def _texts(report: Report, root: Path) -> Iterator[tuple[str, str]]:
    findings = (finding for failure in report.failures for finding in failure.findings)
    for name in sorted({name for finding in findings for name in files_of(finding)}):
        if name.endswith(".py") and (root / name).is_file():
            yield name, (root / name).read_text(encoding="utf-8", errors="replace")
