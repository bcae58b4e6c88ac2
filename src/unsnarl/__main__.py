# SPDX-License-Identifier: Apache-2.0
"""The command `unsnarl`, also as `python -m unsnarl`."""

from __future__ import annotations

import sys
from typing import NoReturn

COMPILERS = ("cc", "c++")


def main() -> NoReturn:
    """Become the compiler at once: a build starts it often. Everything else is in cli/."""
    if sys.argv[1:2] and sys.argv[1] in COMPILERS and sys.argv[2:] != ["--help"]:
        from unsnarl.probes.native import compiler  # noqa: PLC0415

        sys.exit(compiler.become(sys.argv[1], sys.argv[2:]))
    from unsnarl.cli.main import main as command  # noqa: PLC0415

    command()


if __name__ == "__main__":
    main()
