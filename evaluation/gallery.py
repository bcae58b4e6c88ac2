# SPDX-License-Identifier: Apache-2.0
"""A gallery: HTML reports of ten bugs, and a page that leads through them.

    python -m evaluation.gallery [-o FOLDER] [NAME...]      # `make gallery`: build/gallery

Five bugs of the zoo and five of released packages, each hunted as a user would. What the page says
of a bug was written before it was hunted: the title of the zoo, the kind of a real case.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from evaluation.draws import REPOSITORY, ZOO, hunted
from evaluation.real_cases import FOLDERS, load_cases
from evaluation.real_environments import install
from evaluation.real_measure import workplace
from evaluation.truth import load_bug
from unsnarl.model.report import Report

FROM_ZOO = ("weblech", "abba", "dictiter", "lostnotify", "doublecheck")
FROM_PACKAGES = (
    "portalocker_rlock_handover",
    "opentelemetry_same_instrument",
    "wrapt_hook_import_lock",
    "sqlparse_default_lexer",
    "kazoo_wait_after_set",
)
PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>unsnarl: ten bugs</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46em; margin: 2em auto;
padding: 0 1em;
color-scheme: light dark }} li {{ margin: 1em 0 }} small {{ opacity: .75 }}</style></head><body>
<h1>Ten bugs</h1>
<p>Each was hunted by one command. Read the first screen, step through it with the arrow keys, and
look at the patch only then.</p>
<h2>From the zoo</h2><ol>{zoo}</ol>
<h2>From released packages</h2><ol>{packages}</ol>
</body></html>
"""


@dataclass(frozen=True)
class Shown:
    """A report that was written, and what leads to it."""

    name: str
    about: str
    verdict: str

    def item(self) -> str:
        """It as an item of the list."""
        link = f'<a href="{escape(self.name)}.html">{escape(self.name)}</a>'
        return f"<li>{link}: {escape(self.about)}<br><small>{escape(self.verdict)}</small></li>"


def zoo_bug(name: str, folder: Path) -> Shown:
    """Hunt a bug of the zoo and write its page."""
    bug = load_bug(ZOO / name)
    options = (f"--html={folder / name}.html", "--switch", bug.switch)
    with hunted(bug.folder, bug.command, *options, proving=True) as done:
        return Shown(name, bug.title, verdict(done.report))


def real_case(name: str, folder: Path) -> Shown:
    """Hunt a bug of a package in its environment and write its page."""
    (case,) = (one for one in load_cases(FOLDERS) if one.name == name)
    with workplace(case, install(case)[0]) as here:
        _, report = here.hunt(f"--html={folder / name}.html")
        return Shown(name, f"{case.label}: {case.kind}", verdict(report) if report else "")


def verdict(report: Report) -> str:
    """What the tool says, in a line."""
    first = next((one for failure in report.failures for one in failure.findings), None)
    return f"{first.status}: {first.summary}" if first else "nothing was found"


def written(folder: Path, names: Sequence[str]) -> Iterator[str]:
    """Write the pages one after the other; gives a line for each."""
    shown: dict[str, list[Shown]] = {"zoo": [], "packages": []}
    makers = ((FROM_ZOO, "zoo", zoo_bug), (FROM_PACKAGES, "packages", real_case))
    for group, where, make in makers:
        for name in group:
            if not names or name in names:
                shown[where].append(make(name, folder))
                yield f"{name}: {shown[where][-1].verdict}"
    lists = {where: "".join(one.item() for one in group) for where, group in shown.items()}
    (folder / "index.html").write_text(PAGE.format(**lists), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the gallery."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.gallery", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("-o", "--output", type=Path, default=REPOSITORY / "build" / "gallery")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    for line in written(options.output.absolute(), options.names):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
