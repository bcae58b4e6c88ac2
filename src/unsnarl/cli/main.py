# SPDX-License-Identifier: Apache-2.0
"""The command `unsnarl`. The verbs import what they need only when they run."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import click

from unsnarl.cli.baseline import baseline
from unsnarl.cli.cc import cc
from unsnarl.cli.clocks import clocks
from unsnarl.cli.collect import collect
from unsnarl.cli.completion import completion
from unsnarl.cli.config import config
from unsnarl.cli.confirm import confirm
from unsnarl.cli.cxx import cxx
from unsnarl.cli.demo import demo
from unsnarl.cli.doctor import doctor
from unsnarl.cli.export import export
from unsnarl.cli.fix import fix
from unsnarl.cli.groups import WorkflowGroup
from unsnarl.cli.hunt import hunt
from unsnarl.cli.keep import keep
from unsnarl.cli.list import list_
from unsnarl.cli.mcp import mcp
from unsnarl.cli.merge import merge
from unsnarl.cli.minimise import minimise
from unsnarl.cli.rank import rank
from unsnarl.cli.record import record
from unsnarl.cli.replay import replay
from unsnarl.cli.report import report
from unsnarl.cli.reproduce import reproduce
from unsnarl.cli.rm import rm
from unsnarl.cli.serve import serve
from unsnarl.cli.show import show
from unsnarl.cli.simulate_hw import simulate_hw
from unsnarl.cli.skill import skill
from unsnarl.cli.stress import stress
from unsnarl.cli.verify import verify
from unsnarl.cli.watch import watch
from unsnarl.errors import (
    EXIT_INTERRUPTED,
    EXIT_TERMINATED,
    EXIT_TOOL,
    Terminated,
    UnsnarlError,
    print_error,
)


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib import metadata  # noqa: PLC0415  slow to load, and compilers start often

        click.echo(f"unsnarl {metadata.version('unsnarl')}")
        context.exit()


@click.group(cls=WorkflowGroup, context_settings={"help_option_names": ["-h", "--help"]})
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

    \b
    Examples:
      unsnarl hunt -- pytest tests/test_queue.py
      unsnarl COMMAND --help

    Exit codes: 0 nothing failed (or the command did its work), 1 a failure was found, 2 wrong
    usage or input, 3 unsnarl could not do its work, 4 inconclusive, 130 interrupted by Ctrl-C, 143
    by SIGTERM.
    """


cli.add_section("Find", hunt, merge, stress, record)
cli.add_section("Understand", show, report, serve, rank, export, simulate_hw)
cli.add_section("Prove", confirm, minimise, fix, keep, verify)
cli.add_section("Reproduce", replay, reproduce, clocks)
cli.add_section("Watch", baseline, watch, collect)
cli.add_section("Agents", mcp, skill)
cli.add_section("Build and maintain", list_, rm, config, cc, cxx, doctor, demo, completion)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit with its code."""
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(run(arguments))


def _terminate(*_: object) -> NoReturn:
    raise Terminated


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; every way to fail ends in one clear message and a code of the contract."""
    try:
        code = cli.main(arguments, prog_name="unsnarl", standalone_mode=False)
        # Here, so that a reader who has left is noticed inside this `try`.
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except UnsnarlError as error:
        print_error(error)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as signalled:
        print("unsnarl: interrupted", file=sys.stderr)
        # Click makes an Abort of whatever is a KeyboardInterrupt.
        causes = (signalled, signalled.__cause__)
        is_terminated = any(isinstance(one, Terminated) for one in causes)
        return EXIT_TERMINATED if is_terminated else EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has left; the interpreter must not fail again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:
        # Exit status 1 would claim that a failure was found in the target.
        traceback.print_exc()
        print("unsnarl: error: this is a bug in unsnarl [internal-error]", file=sys.stderr)
        return EXIT_TOOL
