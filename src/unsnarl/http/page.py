# SPDX-License-Identifier: Apache-2.0
"""What every page consists of. All that comes from programs is escaped, by one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

TEMPLATE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
{links}
</head>
<body{data}>
<main>
{body}
</main>
</body>
</html>
"""
OURS = "unsnarl.http"
BASE = "page.css"  # what the pages of all servers look like
TYPES = {"css": "text/css", "js": "text/javascript"}
LINKS = {
    "css": '<link rel="stylesheet" href="/{}">',
    "js": '<script src="/{}" defer></script>',
}


def page(
    title: str, body: str, assets: Sequence[str], data: Mapping[str, str] | None = None
) -> str:
    """A document around `body`, which is HTML; `data` is for its script."""
    links = [LINKS[name.rpartition(".")[2]].format(name) for name in (BASE, *assets)]
    attributes = [f' data-{name}="{text(value)}"' for name, value in (data or {}).items()]
    return TEMPLATE.format(
        title=text(title), body=body, links="\n".join(links), data="".join(attributes)
    )


def text(value: str) -> str:
    """As it may stand in elements and in attributes."""
    return escape(value.encode("utf-8", "replace").decode(), quote=True)


def asset_routes(package: str, assets: Sequence[str]) -> list[Route]:
    """Scripts and styles: those of a package, and what all pages have."""
    files = [(OURS, BASE), *((package, name) for name in assets)]
    return [Route(f"/{name}", _asset(owner, name), methods=["GET"]) for owner, name in files]


def _asset(package: str, name: str) -> Callable[[Request], Response]:
    content = resources.files(package).joinpath("assets", name).read_text(encoding="utf-8")
    return lambda _: Response(content, media_type=TYPES[name.rpartition(".")[2]])
