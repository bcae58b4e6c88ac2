# SPDX-License-Identifier: Apache-2.0
"""`unsnarl config`: the settings in force here, and where each comes from."""

from __future__ import annotations

import click

from unsnarl.cli.shared import check_json_file, json_option, write_json


@click.command()
@json_option()
def config(json_file: str | None) -> int:
    """Show the settings in force here, and where each comes from.

    Options come first, then UNSNARL_... variables, then [tool.unsnarl] in pyproject.toml.

    \b
    Examples:
      unsnarl config
    """
    check_json_file(json_file)
    from unsnarl.reports.render.json import indented, plain  # noqa: PLC0415  not for --help
    from unsnarl.workflows.housekeeping import effective_settings  # noqa: PLC0415

    found = effective_settings()
    if json_file is not None:
        write_json(json_file, indented({"version": 1, "settings": [plain(one) for one in found]}))
        return 0
    for one in found:
        value = ", ".join(map(str, one.value)) if isinstance(one.value, tuple) else one.value
        click.echo(f"{one.name:<12} {'' if value is None else value!s:<12} {one.source}".rstrip())
    return 0
