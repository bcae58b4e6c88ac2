# SPDX-License-Identifier: Apache-2.0
"""`python -m unsnarl.cli.help_text`: the help of the whole command, for cli/help.txt."""

from __future__ import annotations

import click

from unsnarl.cli.main import cli

COLUMNS = 80


def help_text() -> str:
    """What `unsnarl --help` prints on a terminal of 80 columns or more."""
    with click.Context(
        cli, info_name="unsnarl", terminal_width=COLUMNS, **cli.context_settings
    ) as context:
        return cli.get_help(context) + "\n"


if __name__ == "__main__":
    click.echo(help_text(), nl=False)
