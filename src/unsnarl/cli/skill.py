# SPDX-License-Identifier: Apache-2.0
"""`unsnarl skill`: how an agent should use unsnarl."""

from __future__ import annotations

import click

from unsnarl.cli.shared import check_json_file, json_option, write_json


@click.command()
@json_option()
def skill(json_file: str | None) -> int:
    """Print SKILL.md: from a flaky test to a proven fix, for agents.

    \b
    Examples:
      unsnarl skill
      unsnarl skill > .agents/skills/unsnarl/SKILL.md
    """
    check_json_file(json_file)
    from unsnarl.agents.skill import skill as text  # noqa: PLC0415  not for --help

    if json_file is not None:
        from unsnarl.reports.render.json import indented  # noqa: PLC0415  heavy

        write_json(json_file, indented({"version": 1, "skill": text()}))
    else:
        click.echo(text(), nl=False)
    return 0
