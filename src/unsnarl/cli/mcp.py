# SPDX-License-Identifier: Apache-2.0
"""`unsnarl mcp`: the tools of unsnarl for agents that speak the Model Context Protocol."""

from __future__ import annotations

import click

from unsnarl.cli.groups import TargetCommand
from unsnarl.errors import ToolError


@click.command(cls=TargetCommand)
def mcp() -> int:
    """Serve the Model Context Protocol, for coding agents.

    On standard input and output, in the folder of the project, until the client hangs up. Tools:
    hunt, findings, show, force, forbid, try_patch, replay, verdict. Needs the extra `mcp`.

    \b
    Examples:
      pip install 'unsnarl[mcp]'
      unsnarl mcp
    """
    try:
        from unsnarl.agents.server import serve  # noqa: PLC0415  only where it is installed
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "anyio"):
            raise
        raise ToolError(
            "mcp-missing",
            "the SDK of the Model Context Protocol is not installed",
            "pip install 'unsnarl[mcp]'",
        ) from None
    serve()
    return 0
