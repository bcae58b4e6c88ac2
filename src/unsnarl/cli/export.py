# SPDX-License-Identifier: Apache-2.0
"""`unsnarl export [FINDING]`: findings in the language of another tool."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unsnarl.cli.shared import campaign_argument, check_json_file, json_option, write_json
from unsnarl.errors import UsageError

if TYPE_CHECKING:
    from unsnarl.workflows.export import Format
    from unsnarl.workflows.reproducer import ReproducerResult

FORMATS = ("dot", "json", "sarif", "junit", "junit-xunit1", "github", "markdown", "perfetto")


@click.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="dot",
    show_default=True,
    help="dot: a drawing for Graphviz. json: as --json gives it. sarif: SARIF 2.1.0, for code "
    "scanning and editors. junit: JUnit XML, for CI systems (junit-xunit1: with files and lines). "
    "github: annotations of a GitHub job. markdown: a summary for a job, an issue or a merge "
    "request. perfetto: all events of the failing run, which is repeated for it.",
)
@click.option(
    "--reproducer",
    metavar="FILE",
    help="Write FILE, a script that forces the proven orders of a confirmed finding without "
    "unsnarl: it exits with 1 while the bug is there, with 0 when it is fixed. It is tried first.",
)
@json_option()
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of standard output.")
@click.argument("finding", required=False, default="", metavar="[FINDING]")
@campaign_argument()
def export(  # noqa: PLR0917  by name: click calls it
    finding: str,
    campaign: str,
    form: Format,
    output: str | None,
    reproducer: str | None,
    json_file: str | None,
) -> int:
    """Write findings for another tool, or a reproducer for anybody.

    FINDING is its id, as reports print it, or its number; by default the first of each failure,
    where the form has room for several. CAMPAIGN is the newest by default.

    \b
    Examples:
      unsnarl export length-7c1e | dot -Tsvg > finding.svg
      unsnarl export --format sarif -o unsnarl.sarif
      unsnarl export 1 --format perfetto -o run.json
      unsnarl export 1 --reproducer test_repro.py
    """
    check_json_file(json_file)
    if reproducer is not None:
        return _reproducer(finding, campaign, reproducer, json_file)
    if json_file is not None:
        raise UsageError("bad-argument", "--json is for --reproducer; else take --format json")
    from unsnarl.workflows.export import export as written  # noqa: PLC0415  not for --help

    document = written(finding, campaign, form)
    if output is None:
        sys.stdout.buffer.write(document)
        sys.stdout.buffer.flush()
    else:
        _write(output, document)
    return 0


def _write(file: str, document: bytes) -> None:
    try:
        Path(file).write_bytes(document)
    except OSError as error:
        raise UsageError("bad-argument", f"cannot write {file}: {error.strerror}") from None


def _reproducer(finding: str, campaign: str, file: str, json_file: str | None) -> int:
    from unsnarl.workflows.reproducer import reproducer  # noqa: PLC0415  heavy; not for --help

    if not Path(file).absolute().parent.is_dir():
        raise UsageError("bad-argument", f"--reproducer {file}: there is no such directory")
    result = reproducer(finding, campaign)
    if result.text:
        _write(file, result.text.encode())
    if json_file is not None:
        write_json(json_file, _document(result, file))
    elif result.text:
        tried = f"the bug was there in {result.failed} of {result.tries} tries"
        tried = tried if result.tries else "it could not be tried: gdb is not installed"
        click.echo(f"{file}: forces {result.orders} orders of finding {result.finding}; {tried}")
    else:
        click.echo(f"no reproducer of finding {result.finding}: {result.why}")
    return result.exit_code


def _document(result: ReproducerResult, file: str) -> bytes:
    from unsnarl.reports.render.json import indented  # noqa: PLC0415

    return indented(
        {
            "version": 1,
            "campaign": result.campaign,
            "finding": result.finding,
            "file": file if result.text else None,
            "why": result.why,
            "orders": result.orders,
            "failed": result.failed,
            "tries": result.tries,
        }
    )
