# SPDX-License-Identifier: Apache-2.0
"""What several commands share: the `--json` option and where its answer goes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unsnarl.errors import UsageError

if TYPE_CHECKING:
    from unsnarl.model.finding import Finding, Report

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def json_option() -> Decorator:
    """`--json [FILE]`: without a file, or with `-`, standard output."""
    return click.option(
        "--json",
        "json_file",
        is_flag=False,
        flag_value="-",
        default=None,
        metavar="[FILE]",
        help="Write the answer as JSON to FILE, or to standard output instead of the text.",
    )


def check_json_file(name: str | None) -> None:
    """Refuse a file that is surely not meant: `--json script.py` has lost its `--`."""
    if name is None or name == "-":
        return
    path = Path(name)
    if path.suffix == ".py" or path.is_dir():
        raise UsageError(
            "bad-argument",
            f"--json would overwrite {name}",
            "put `--` before the command: unsnarl hunt --json -- python script.py",
        )
    if not path.parent.is_dir():
        raise UsageError("bad-argument", f"--json {name}: there is no directory {path.parent}")


def hooks_replaced(word: str) -> str:
    """That a record lacks functions or lines, and why."""
    what = "functions" if word == "sys.setprofile" else "lines"
    return f"the program called {word}: its {what} are not told from there on [hooks-replaced]"


def finding_of(number: int, campaign: str) -> tuple[Report, Finding]:
    """A stored report and its finding of this number."""
    from unsnarl.cli.analysis import stored_report  # noqa: PLC0415  heavy; not for --help
    from unsnarl.reports.terminal import numbered  # noqa: PLC0415

    report = stored_report(campaign)
    found = [finding for other, _, finding in numbered(report) if other == number]
    if not found:
        count = len(numbered(report))
        raise UsageError(
            "no-finding", f"campaign {report.campaign} has no finding {number}, only {count}"
        )
    return report, found[0]


def write_json(name: str, document: bytes) -> None:
    """Write an answer where `--json` asked for it."""
    if name == "-":
        sys.stdout.buffer.write(document)
        sys.stdout.buffer.flush()
        return
    try:
        Path(name).write_bytes(document)
    except OSError as error:
        raise UsageError("bad-argument", f"cannot write {name}: {error.strerror}") from None


def code_changed(campaign: str) -> UsageError:
    """For what needs the very code of a campaign's runs."""
    return UsageError(
        "code-changed",
        f"the code is no longer what campaign {campaign} was hunted with",
        "ask whether its failures are gone: unsnarl verify; or hunt again",
    )
