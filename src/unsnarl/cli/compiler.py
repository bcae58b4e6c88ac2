# SPDX-License-Identifier: Apache-2.0
"""`unsnarl cc` and `unsnarl c++`, for the list of commands; most calls never come here."""

from __future__ import annotations

import click

from unsnarl.probes.native import compiler

# Every word is the compiler's, -h and --help too.
VERBATIM = {"ignore_unknown_options": True, "help_option_names": []}


@click.command(context_settings=VERBATIM)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def cc(arguments: tuple[str, ...]) -> None:
    """Compile C with the probe in it: CC="unsnarl cc" make.

    The program runs as always; under `unsnarl hunt -- ./program` its threads are controlled. The
    compiler is gcc, or the one in UNSNARL_CC. Where it must be one word, as for CMake: unsnarl-cc.
    """
    compiler.run("cc", arguments)


@click.command("c++", context_settings=VERBATIM)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def cxx(arguments: tuple[str, ...]) -> None:
    """Compile C++ with the probe in it: CXX="unsnarl c++" make.

    The compiler is g++, or the one in UNSNARL_CXX. In one word: unsnarl-c++.
    """
    compiler.run("c++", arguments)
