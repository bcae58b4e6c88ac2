# SPDX-License-Identifier: Apache-2.0
"""The command `unsnarl`, also as `python -m unsnarl`."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in typing, which is slow to load
if TYPE_CHECKING:
    from typing import NoReturn

COMPILERS = ("cc", "c++")
HELP = (["--help"], ["-h"])
HELP_COLUMNS = 80


def main() -> NoReturn:
    """Become the compiler at once: a build starts it often. Everything else is in cli/."""
    if sys.argv[1:] in HELP and _is_wide():
        sys.exit(_print_help())
    if sys.argv[1:2] and sys.argv[1] in COMPILERS and sys.argv[2:] != ["--help"]:
        from unsnarl.probes.native import compiler  # noqa: PLC0415

        sys.exit(compiler.become(sys.argv[1], sys.argv[2:]))
    from unsnarl.cli.main import main as command  # noqa: PLC0415

    command()


def _is_wide() -> bool:
    """Whether the stored help fits; it is wrapped for narrower terminals."""
    try:
        return os.get_terminal_size(1).columns >= HELP_COLUMNS
    except OSError:
        return not os.environ.get("COLUMNS")


def _print_help() -> int:
    """What the command would print, from a file: to load it all takes six times as long."""
    path = os.path.join(os.path.dirname(__file__), "cli", "help.txt")  # noqa: PTH118, PTH120
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  pathlib is slow to load
            sys.stdout.write(file.read())
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


if __name__ == "__main__":
    main()
