# SPDX-License-Identifier: Apache-2.0
"""The report model's types with the facts that only reports need.

They stand in for their bases everywhere; a reader that knows only the bases loses the names of the
threads and the count of passing runs, nothing else.
"""

from __future__ import annotations

import msgspec

from unsnarl.model.finding import FailureReport, Finding, Report


class CountedFinding(Finding, frozen=True):
    """A finding that knows in how many passing runs its interleaving was seen too."""

    passing: int = 0
    # Locks that were never looked at must not be reported as "no lock held".
    locks_known: bool = False


class NamedFailure(FailureReport, frozen=True):
    """A failure that knows the program's own names of its threads, by path.

    `failing` and `passing` are the runs that were compared: there may have been more of both.
    """

    findings: tuple[CountedFinding, ...]
    threads: dict[str, str] = msgspec.field(default_factory=dict)
    failing: int = 0
    passing: int = 0


class DetailedReport(Report, frozen=True):
    """A report whose failures and findings carry the details above."""

    failures: tuple[NamedFailure, ...]
    unlabelled: tuple[CountedFinding, ...] = ()


def seen_in(failure: FailureReport, finding: Finding) -> str:
    """`in 25/25 failing, 0/25 passing runs`, as far as it is known."""
    if not isinstance(failure, NamedFailure) or not isinstance(finding, CountedFinding):
        return f"in {finding.runs}/{failure.count} failing runs"
    compared = failure.failing or failure.count
    return f"in {finding.runs}/{compared} failing, {finding.passing}/{failure.passing} passing runs"


def locks_known(finding: Finding) -> bool:
    """Whether an empty tuple of locks means that no lock was held."""
    return finding.locks_known if isinstance(finding, CountedFinding) else False


def thread_label(failure: FailureReport, path: str) -> str:
    """The program's own name of a thread and its path: `worker-1 0.1`."""
    names = failure.threads if isinstance(failure, NamedFailure) else {}
    return f"{names.get(path) or 'thread'} {path}"
