# SPDX-License-Identifier: Apache-2.0
"""What the site adds to the pages of the repository, while Sphinx reads them.

Pages stay plain Markdown, as code hosts show it. The site adds the contents, from the lists in
docs/README.md and in the indexes of folders, and what is generated from the code, where a page has
a comment that asks for it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from docs.site.reference import GENERATED

LINK = re.compile(r"\]\(([^)#\s]+?)\.md\)")
ENTRY = re.compile(r"^(?:- |\| \[)", re.MULTILINE)
ASKED = re.compile(r"<!-- generated: ([\w-]+) -->")
ORPHAN = "---\norphan: true\n---\n"
CONTENTS = "docs/README"
# The index of a folder; the others are found by links alone: in every page's margin the decisions
# would take half of the time of the build.
INDEXES = ("docs/internals/README",)
DECISION = re.compile(r"docs/adr/\d")
ANY_LINK = re.compile(r"\[([^]]+)\]\(([^)#\s:]+)\)")


def rewritten(name: str, text: str, repository: Path) -> str:
    """The text of a page as the site has it; `name` is its path without the suffix."""
    text = ASKED.sub(lambda found: GENERATED[found[1]](), text)
    text = _without_folders(text, (repository / name).parent)
    if name == "README":
        contents = (repository / f"{CONTENTS}.md").read_text(encoding="utf-8")
        return text + "".join(_trees(contents, posixpath.dirname(CONTENTS)))
    if name in INDEXES:
        return text + "".join(_trees(text, ""))
    is_listed = (name.startswith("docs/") or "/" not in name) and not DECISION.match(name)
    return text if is_listed and name != CONTENTS else ORPHAN + text


def _without_folders(text: str, here: Path) -> str:
    """A link to a folder, which code hosts can show, becomes its text."""
    return ANY_LINK.sub(lambda link: link[1] if (here / link[2]).is_dir() else link[0], text)


def sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """The headings of an index, and the pages that are listed below each, without suffixes."""
    for part in re.split(r"^## ", f"## \n{text}", flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        entries = re.split(r"\n(?=- |\| |\n)", rest)
        links = [link for one in entries if ENTRY.match(one) for link in LINK.findall(one)]
        yield title.lstrip("# "), list(dict.fromkeys(links))


def _trees(text: str, folder: str) -> Iterator[str]:
    seen = {CONTENTS, "README"}
    for title, links in sections(text):
        paths = [posixpath.normpath(posixpath.join(folder, link)) for link in links]
        mine = [path for path in dict.fromkeys(paths) if path not in seen and "://" not in path]
        seen.update(mine)
        if mine:
            caption = f":caption: {title}\n" if title else ""
            # Of README, which is at the root, names are absolute.
            names = "\n".join(f"/{path}" if folder else path for path in mine)
            yield f"\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n{caption}\n{names}\n```\n"
