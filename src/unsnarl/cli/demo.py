# SPDX-License-Identifier: Apache-2.0
"""`unsnarl demo`: hunt a bug that comes with the package."""

from __future__ import annotations

import sys

import click

from unsnarl.cli.groups import TargetCommand
from unsnarl.cli.hunt import hunt_and_print
from unsnarl.cli.shared import check_json_file, json_option
from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE, EXIT_OK


@click.command(cls=TargetCommand)
@json_option()
def demo(json_file: str | None) -> int:
    """Hunt a bug that comes with unsnarl.

    Two workers drain one queue, and now and then the last item is taken twice. Exits with 0 if the
    hunt finds the failure, which is what a demo is for.

    \b
    Examples:
      unsnarl demo
    """
    check_json_file(json_file)
    from unsnarl.workflows.demo import demo_program  # noqa: PLC0415  heavy; not for --help

    program = demo_program()
    print(f"the program: {program}", file=sys.stderr)
    status = hunt_and_print((sys.executable, str(program)), {}, json_file)
    return EXIT_OK if status == EXIT_FAILURE_FOUND else status or EXIT_INCONCLUSIVE
