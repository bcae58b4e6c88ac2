# SPDX-License-Identifier: Apache-2.0
"""How Sphinx builds the site, `make docs`.

Its source is the repository itself, so that a link means the same here and on a code host: a page,
a heading of it, or a file, which is then copied. What leads nowhere is a warning, and warnings are
errors.
"""

import shutil
import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[2]))

from docs.site.pages import rewritten

project = "unsnarl"
html_title = "unsnarl"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "**/*.md"]
exclude_patterns = [".*", "build", "web", "native", "**/.unsnarl", "src"]
html_theme = "furo"
html_static_path = ["style"]
html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False
html_show_copyright = False
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
smartquotes = False
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]


def _read(app: Sphinx, name: str, texts: list[str]) -> None:
    texts[0] = rewritten(name, texts[0], Path(app.srcdir))


def _front_page(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        shutil.copy(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _read)
    app.connect("build-finished", _front_page)
