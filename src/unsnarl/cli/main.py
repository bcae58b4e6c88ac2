# SPDX-License-Identifier: Apache-2.0
"""The command `unsnarl`. The verbs import what they need only when they run."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import click

from unsnarl.cli.clocks import clocks
from unsnarl.cli.compiler import cc, cxx
from unsnarl.cli.confirm import confirm, minimise
from unsnarl.cli.demo import demo
from unsnarl.cli.doctor import doctor
from unsnarl.cli.export import export
from unsnarl.cli.hunt import hunt
from unsnarl.cli.rank import rank
from unsnarl.cli.record import record
from unsnarl.cli.replay import replay
from unsnarl.cli.reproduce import reproduce
from unsnarl.cli.show import show
from unsnarl.cli.verify import verify
from unsnarl.errors import EXIT_INTERRUPTED, EXIT_TOOL, UnsnarlError, tell


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib import metadata  # noqa: PLC0415  slow to load, and compilers start often

        click.echo(f"unsnarl {metadata.version('unsnarl')}")
        context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """Find the interleaving of threads that breaks a program, and show it line by line.

    Exit codes: 0 nothing failed (or the command did its work), 1 a failure was found, 2 wrong
    usage or input, 3 unsnarl could not do its work, 4 inconclusive.
    """


COMMANDS = (
    hunt,
    rank,
    show,
    confirm,
    minimise,
    record,
    replay,
    reproduce,
    verify,
    export,
    clocks,
    cc,
    cxx,
    demo,
    doctor,
)
for command in COMMANDS:
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit with its code."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; every way to fail ends in one clear message and a code of the contract."""
    try:
        code = cli.main(arguments, prog_name="unsnarl", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except UnsnarlError as error:
        tell(error)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print("unsnarl: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has left; the interpreter must not fail again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:
        # Exit status 1 would claim that a failure was found in the target.
        traceback.print_exc()
        print("unsnarl: error: this is a bug in unsnarl [internal-error]", file=sys.stderr)
        return EXIT_TOOL
