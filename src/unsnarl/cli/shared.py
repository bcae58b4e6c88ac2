# SPDX-License-Identifier: Apache-2.0
"""What several commands share: `--json` and where its answer goes, how a finding is named."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unsnarl.errors import UsageError

if TYPE_CHECKING:
    from unsnarl.model.report import Notice
    from unsnarl.workflows.experiment import Experiment

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


def time_option() -> Decorator:
    """`--time SECONDS`: from the start to the answer."""
    return click.option(
        "--time",
        "seconds",
        type=click.FloatRange(min=0, min_open=True),
        default=None,
        metavar="SECONDS",
        help="Answer within this time, plus one run; what is missing then is named. "
        "[default: no limit]",
    )


def finding_argument(default: str | None = None) -> Decorator:
    """FINDING: an id such as length-7c1e, or a number."""
    if default is None:
        return click.argument("finding", metavar="FINDING")
    return click.argument("finding", required=False, default=default, metavar="[FINDING]")


def campaign_argument() -> Decorator:
    """CAMPAIGN: a name or its beginning; the newest by default."""
    return click.argument("campaign", required=False, default="")


def experiment_arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    """What an experiment is about, by default the first finding, and where the answer goes."""
    return time_option()(json_option()(finding_argument("1")(campaign_argument()(command))))


def check_json_file(name: str | None) -> None:
    """Refuse a file that is surely not meant: `--json script.py` has lost its `--`."""
    if name is None or name == "-":
        return
    path = Path(name)
    if path.suffix in (".trace", ".run"):
        hint = f"put the file's name behind: unsnarl simulate-hw {name} --json"
        raise UsageError("bad-argument", f"--json would overwrite {name}", hint)
    if path.suffix == ".py" or path.is_dir():
        raise UsageError(
            "bad-argument",
            f"--json would overwrite {name}",
            "put `--` before the command: unsnarl hunt --json -- python script.py",
        )
    # Found out now, not when a long hunt has ended and its answer is to be written.
    if not path.parent.is_dir():
        raise UsageError("bad-argument", f"--json {name}: there is no directory {path.parent}")


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


def echo_warnings(warnings: Sequence[Notice], indent: str = "") -> None:
    """What was cut off, and the like, one line each."""
    for warning in warnings:
        click.echo(f"{indent}warning: {warning.message} [{warning.slug}]")


def show_experiment(tested: Experiment, json_file: str | None) -> None:
    """Print what an experiment says of a finding, or write it as JSON."""
    from unsnarl.reports.render.json import encode  # noqa: PLC0415  heavy; not for --help
    from unsnarl.reports.render.terminal import make_console, print_finding  # noqa: PLC0415

    if json_file is not None:
        write_json(json_file, encode(tested.report))
    else:
        print_finding(tested.report, tested.chosen, make_console())
        echo_warnings(tested.warnings)
    # Last of all: what was found out before Ctrl-C must be shown.
    if tested.ends_with is not None:
        raise tested.ends_with


def hooks_replaced(word: str) -> str:
    """That a record lacks functions or lines, and why."""
    what = "functions" if word == "sys.setprofile" else "lines"
    return f"the program called {word}: its {what} are not logged from there on [hooks-replaced]"
