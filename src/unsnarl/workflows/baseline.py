# SPDX-License-Identifier: Apache-2.0
"""Findings that a project knows of: a file that keeps them quiet, so that only new ones fail CI.

The file has, for each command, the ids of the findings of each failure. An id is a hash of what a
finding claims, without line numbers (reports/finding_ids.py), so it survives edits elsewhere. Which
finding comes first may differ from seed to seed, so all of a failure are written down.
"""

from __future__ import annotations

import dataclasses
import hashlib
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_OK, UsageError
from unsnarl.model.report import FailureReport, Finding, Notice, Report
from unsnarl.reports import finding_ids
from unsnarl.workflows.hunt import HuntResult

VERSION = 1
FEWEST_DIGITS = 4


class BaselineFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One finding; only `id` counts, the rest is for readers."""

    id: str
    what: str = ""


class BaselineFailure(msgspec.Struct, frozen=True):
    """A failure with its findings."""

    signature: str
    findings: tuple[BaselineFinding, ...]


class BaselineHunt(msgspec.Struct, frozen=True):
    """What one command may fail with."""

    command: str
    failures: tuple[BaselineFailure, ...]


class Baseline(msgspec.Struct, frozen=True):
    """The whole file."""

    version: int = VERSION
    hunts: tuple[BaselineHunt, ...] = ()

    def of(self, command: str) -> tuple[BaselineFailure, ...]:
        """What a command may fail with."""
        return tuple(one for hunt in self.hunts if hunt.command == command for one in hunt.failures)

    def with_hunt(self, hunt: BaselineHunt) -> Baseline:
        """With this in the stead of what was there for its command."""
        others = [one for one in self.hunts if one.command != hunt.command]
        hunts = sorted([*others, hunt] if hunt.failures else others, key=lambda one: one.command)
        return Baseline(VERSION, tuple(hunts))


def load(file: Path, *, may_be_missing: bool = False) -> Baseline:
    """Read a baseline; raises UsageError if it is none."""
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Baseline)
    except FileNotFoundError:
        if may_be_missing:
            return Baseline()
        hint = "write it: the same command with --update-baseline"
        raise UsageError("bad-baseline", f"there is no baseline {file}", hint) from None
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError("bad-baseline", f"{file} is no baseline: {error}") from None
    if found.version > VERSION:
        raise UsageError("bad-baseline", f"{file} is from a newer version of unsnarl")
    return found


def applied(result: HuntResult, file: str, baseline: Baseline, key: str = "") -> HuntResult:
    """The result without the failures that are in the baseline; they are counted.

    `key` is what the entries are stored under, by default the command.
    """
    report = result.report
    entries = baseline.of(key or shlex.join(report.command))
    quiet = tuple(one for one in report.failures if is_quiet(one, entries))
    failures = tuple(one for one in report.failures if one not in quiet)
    notices = tuple(_notices(file, quiet, _gone(report.failures, entries)))
    changed = replace(report, failures=failures, quiet=quiet, warnings=(*report.warnings, *notices))
    code = result.exit_code
    if code == EXIT_FAILURE_FOUND and not failures:
        code = EXIT_OK
    return dataclasses.replace(result, report=changed, exit_code=code)


def updated(report: Report, file: Path, baseline: Baseline, key: str = "") -> Baseline:
    """Write what a hunt found into a baseline, in the stead of what was there for its command."""
    failures = tuple(
        BaselineFailure(one.signature, tuple(_entries(one))) for one in report.failures
    )
    new = baseline.with_hunt(BaselineHunt(key or shlex.join(report.command), failures))
    text = msgspec.json.format(msgspec.json.encode(new), indent=2) + b"\n"
    try:
        file.write_bytes(text)
    except OSError as error:
        raise UsageError("bad-argument", f"cannot write {file}: {error.strerror}") from None
    return new


def is_quiet(failure: FailureReport, entries: Sequence[BaselineFailure]) -> bool:
    """Whether all that a report would show first of a failure is in the baseline."""
    ids = {one.id for entry in entries for one in entry.findings}
    return all(_is_in(one, ids) for one in _shown_first(failure))


def _shown_first(failure: FailureReport) -> list[str]:
    """The ids of its causes; of its first finding; its own if nothing was ranked."""
    if failure.causes:
        return list(failure.causes)
    return [failure.findings[0].id] if failure.findings else [_own_id(failure)]


def _entries(failure: FailureReport) -> Iterator[BaselineFinding]:
    for one in failure.findings:
        yield BaselineFinding(one.id, _what(one))
    if not failure.findings:
        yield BaselineFinding(_own_id(failure))


def _what(finding: Finding) -> str:
    name = finding.shape or finding.kind
    return f"{name} on {', '.join(finding.variables)}" if finding.variables else name


def _own_id(failure: FailureReport) -> str:
    digest = hashlib.sha256(failure.signature.encode("utf-8", "surrogateescape")).hexdigest()
    return f"failure-{digest[: 2 * FEWEST_DIGITS]}"


def _is_in(name: str, ids: set[str]) -> bool:
    """By digits; a report with more findings may need more of them."""
    own = finding_ids.digits(name)
    others = [finding_ids.digits(one) for one in ids]
    return any(own.startswith(one) or one.startswith(own) for one in others if one)


def _gone(
    failures: Sequence[FailureReport], entries: Sequence[BaselineFailure]
) -> list[BaselineFailure]:
    """Entries of which nothing occurred."""
    ids = {one.id for failure in failures for one in failure.findings}
    ids |= {_own_id(failure) for failure in failures}
    return [one for one in entries if not any(_is_in(row.id, ids) for row in one.findings)]


def _notices(
    file: str, quiet: Sequence[FailureReport], gone: Sequence[BaselineFailure]
) -> Iterator[Notice]:
    if quiet:
        names = ", ".join(name for failure in quiet for name in _shown_first(failure))
        count = sum(len(_shown_first(failure)) for failure in quiet)
        is_are = "1 known finding is" if count == 1 else f"{count} known findings are"
        yield Notice("baseline-quiet", f"{is_are} kept quiet by {file}: {names}")
    for one in gone:
        name = one.findings[0].id if one.findings else one.signature
        yield Notice(
            "baseline-gone",
            f"{name} of {file} did not occur ({one.signature}); --update-baseline removes it",
        )
