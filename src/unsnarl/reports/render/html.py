# SPDX-License-Identifier: Apache-2.0
"""A page as one HTML file that asks nobody for anything.

Source text and values are data: they travel as JSON in an element that no browser executes, and
the script puts them into the document as text. The policy in the file allows exactly this script
and this style, by their hashes, and no request at all.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib import resources

import msgspec

from unsnarl.errors import ToolError
from unsnarl.model.page import Page

SCRIPT, STYLE = "report.js", "report.css"

TEMPLATE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src {script_hash}; \
style-src {style_hash}; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main id="report"><noscript><pre>{plain}</pre></noscript></main>
<script type="application/json" id="page">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def html(page: Page, plain: str) -> bytes:
    """The file; `plain` is what is shown where scripts are off."""
    script, style = _asset(SCRIPT), _asset(STYLE)
    text = TEMPLATE.format(
        script_hash=_hash(script),
        style_hash=_hash(style),
        title=escape(f"{page.title} · unsnarl"),
        style=style,
        plain=escape(plain),
        data=_embedded(page),
        script=script,
    )
    return text.encode("utf-8", "replace")


def _embedded(page: Page) -> str:
    """JSON in which nothing can end the element that it stands in."""
    text = msgspec.json.encode(page).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    file = resources.files("unsnarl.reports").joinpath("assets", name)
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        raise ToolError(
            "page-not-built",
            f"{name} is not in this installation: it was made without npm",
            "in the checkout: make web, then install it again",
        ) from None
