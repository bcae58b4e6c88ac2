# SPDX-License-Identifier: Apache-2.0
"""Kinds of commands: the group that lists verbs by workflow, verbs that compile or run targets."""

from __future__ import annotations

from typing import Any

import click

from unsnarl.errors import ToolError

# Longer than any summary: they are written to fit 80 columns, and must not be cut.
SUMMARY = 200
SYSTEM, MACHINES = "Linux", ("x86_64", "aarch64")


class WorkflowGroup(click.Group):
    """Lists its commands under headings, in the order in which they were added."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._sections: dict[str, list[str]] = {}

    def add_section(self, heading: str, *commands: click.Command) -> None:
        """Add commands that belong to one step of the work."""
        self._sections[heading] = [str(command.name) for command in commands]
        for command in commands:
            self.add_command(command)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the work rather than of the alphabet."""
        return [name for names in self._sections.values() for name in names]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A list per section; summaries are written to fit, so none is cut."""
        widest = max(map(len, self.list_commands(ctx)))
        for heading, names in self._sections.items():
            rows = [(f"{name:<{widest}}", self._summary(name)) for name in names]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def _summary(self, name: str) -> str:
        return self.commands[name].get_short_help_str(limit=SUMMARY)


class CompilerCommand(click.Command):
    """A command whose arguments are the compiler's, unless the only one is `--help`."""

    def __init__(self, name: str | None, **more: Any) -> None:
        more["context_settings"] = {"ignore_unknown_options": True, "help_option_names": []}
        super().__init__(name, **more)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options are not looked at: even a later `--help` is the compiler's."""
        if args == ["--help"]:
            click.echo(self.get_help(ctx))
            ctx.exit()
        return super().parse_args(ctx, args)


class TargetCommand(click.Command):
    """A command that runs a target, which works on some platforms only."""

    def invoke(self, ctx: click.Context) -> Any:
        """Refuse other platforms first: everything else would fail less clearly."""
        check_platform()
        return super().invoke(ctx)


def check_platform() -> None:
    """Raise unless targets can be run here."""
    import platform  # noqa: PLC0415  slow to load; not for --help

    system, machine = platform.system(), platform.machine()
    if system != SYSTEM or machine not in MACHINES:
        raise ToolError(
            "platform-unsupported",
            f"unsnarl cannot run programs on {system or 'this system'} ({machine or 'unknown'})",
            "use Linux on x86-64 or aarch64",
        )
