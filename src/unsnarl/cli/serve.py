# SPDX-License-Identifier: Apache-2.0
"""`unsnarl serve`: the campaigns of a project in a browser, also while a hunt runs."""

from __future__ import annotations

import click

from unsnarl.errors import Terminated, ToolError

LIBRARIES = ("starlette", "uvicorn", "anyio")


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="The port on 127.0.0.1. [default: one that is free]",
)
def serve(port: int) -> int:
    """Show the project's campaigns in a browser, live during a hunt.

    Prints an address to open on this machine; it has a token, so keep it to yourself. Nothing can
    be changed there, and nothing is run. Ends with Ctrl-C. Needs the extra `serve`.

    \b
    Examples:
      pip install 'unsnarl[serve]'
      unsnarl serve
    """
    try:
        from unsnarl.serve import server  # noqa: PLC0415  only where it is installed
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in LIBRARIES:
            raise
        raise ToolError(
            "serve-missing",
            "starlette and uvicorn are not installed",
            "pip install 'unsnarl[serve]'",
        ) from None
    try:
        server.serve(port, click.echo)
    except Terminated:
        raise
    except KeyboardInterrupt:
        pass  # the way to end it
    return 0
