# SPDX-License-Identifier: Apache-2.0
"""`unsnarl collect`: takes the anomalies of watched programs, and shows them ranked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unsnarl.errors import Terminated, ToolError

LIBRARIES = ("starlette", "uvicorn", "anyio", "httptools")


@click.command()
@click.option(
    "--store",
    default="",
    metavar="FILE|URL",
    help="A file, or postgresql://… [default: .unsnarl/collector/anomalies.sqlite]",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="The port. [default: one that is free]",
)
@click.option(
    "--host",
    default="127.0.0.1",
    metavar="ADDRESS",
    help="The address to listen on; for other machines than this one it needs --tokens.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="NAME",
    help="A name of this machine, as others ask for it; can be repeated.",
)
@click.option(
    "--tokens",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Has the tokens: the files send and read; made if they are not there. "
    "[default: .unsnarl/collector/tokens]",
)
@click.option(
    "--keep",
    "days",
    type=click.IntRange(1, 10_000),
    default=90,
    metavar="DAYS",
    help="How long anomalies stay that nobody sends any more. [default: 90]",
)
def collect(**options: Any) -> int:
    """Take anomalies of watched programs, and show them ranked.

    Prints an address to open; it has a token, so keep it to yourself. A batch is acknowledged when
    it is on the disk. Ends with Ctrl-C. Needs the extra `collect`; a PostgreSQL store, `postgres`.

    \b
    Examples:
      pip install 'unsnarl[collect]'
      unsnarl collect --port 8321
      unsnarl collect --host 0.0.0.0 --name bugs.example.org --tokens tokens
    """
    try:
        from unsnarl.collect import server  # noqa: PLC0415  only where it is installed
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in LIBRARIES:
            raise
        raise ToolError(
            "collect-missing",
            "starlette, uvicorn and httptools are not all installed",
            "pip install 'unsnarl[collect]'",
        ) from None
    try:
        server.collect(server.CollectorSettings(**options), click.echo)
    except Terminated:
        raise
    except KeyboardInterrupt:
        pass  # the way to end it
    return 0
