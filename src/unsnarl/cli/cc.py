# SPDX-License-Identifier: Apache-2.0
"""`unsnarl cc`: for the list of commands and for its help; other calls never get here."""

from __future__ import annotations

import click

from unsnarl.cli.compiler_help import compiler_help
from unsnarl.cli.groups import CompilerCommand

SUMMARY = 'Compile C with the probe: CC="unsnarl cc" make.'
EXAMPLES = """\
unsnarl cc -O1 -pthread log.c -o log
CC="unsnarl cc" CXX="unsnarl c++" ./configure
cmake -B out -DCMAKE_C_COMPILER=unsnarl-cc   (as one word)"""


@click.command(cls=CompilerCommand, help=compiler_help(SUMMARY, "UNSNARL_CC", "gcc", EXAMPLES))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def cc(arguments: tuple[str, ...]) -> None:
    """Call the C compiler."""
    from unsnarl.workflows.compile import compile_with_probe  # noqa: PLC0415  not for --help

    compile_with_probe("cc", arguments)
