# SPDX-License-Identifier: Apache-2.0
"""`unsnarl c++`: for the list of commands and for its help; other calls never get here."""

from __future__ import annotations

import click

from unsnarl.cli.compiler_help import compiler_help
from unsnarl.cli.groups import CompilerCommand

SUMMARY = 'Compile C++ with the probe: CXX="unsnarl c++" make.'
EXAMPLES = """\
unsnarl c++ -O1 -pthread queue.cpp -o queue
cmake -B out -DCMAKE_CXX_COMPILER=unsnarl-c++   (as one word)"""
HELP = compiler_help(SUMMARY, "UNSNARL_CXX", "g++", EXAMPLES)


@click.command("c++", cls=CompilerCommand, help=HELP)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def cxx(arguments: tuple[str, ...]) -> None:
    """Call the C++ compiler."""
    from unsnarl.workflows.compile import compile_with_probe  # noqa: PLC0415  not for --help

    compile_with_probe("c++", arguments)
