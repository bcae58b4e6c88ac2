# SPDX-License-Identifier: Apache-2.0
"""`unsnarl demo`: hunt a bug that comes with the package."""

from __future__ import annotations

import sys
from pathlib import Path

import click

import unsnarl
from unsnarl.cli.shared import check_json_file, json_option
from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE, EXIT_OK

PROGRAM = "spider.py"


@click.command()
@json_option()
def demo(json_file: str | None) -> int:
    """Hunt a shipped bug: two workers drain one queue, and the last item is taken twice.

    Exits with 0 if the hunt finds the failure, which is what a demo is for.
    """
    check_json_file(json_file)
    from unsnarl.campaigns.store import FOLDER, storing  # noqa: PLC0415  heavy; not for --help
    from unsnarl.cli.session import Session  # noqa: PLC0415

    # A copy: installed packages are not instrumented, unsnarl itself never.
    # An editable install has several folders, of which one has the sources.
    shipped = [Path(folder) / "demo" / PROGRAM for folder in unsnarl.__path__]
    text = next(path for path in shipped if path.exists()).read_bytes()
    copy = Path(FOLDER) / "demo" / PROGRAM
    with storing(copy.parent):
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(text)
    print(f"the program: {copy}", file=sys.stderr)
    status = Session.fresh((sys.executable, str(copy)), {}).hunt(json_file)
    return EXIT_OK if status == EXIT_FAILURE_FOUND else status or EXIT_INCONCLUSIVE
