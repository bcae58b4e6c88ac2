# SPDX-License-Identifier: Apache-2.0
"""Commands that pages show, with their outputs: a page is a session that can be typed.

A page begins with a comment that says where its commands are run, `<!-- commands: here -->` in an
empty folder, `<!-- commands: NAME -->` in one with the environment of that real bug, or in that
which the page of this name has left. A block of code after `<!-- file: NAME -->` is a file of the
folder. In blocks of the language `console` lines after `$ ` are commands, those below what they
print; `[...]` stands for lines that are left out. What is in no such block is not run, and may not
look as if it were.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluation.real_cases import FOLDERS, RealCase, load_cases
from evaluation.real_environments import BUILT, install, put

WHERE = re.compile(r"^<!-- commands: (\w+) -->$", re.MULTILINE)
BLOCK = re.compile(
    r"^(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)
LEFT_OUT = "[...]"
# What is installed was built before: see `install`.
PIP = re.compile(r"pip install (?P<pins>.+)")
COLUMNS = "110"


@dataclass(frozen=True)
class Command:
    """One command of a page; `span` is where its output is in the text."""

    line: str
    shown: str
    span: tuple[int, int]


@dataclass(frozen=True)
class File:
    """A file that a page shows."""

    name: str
    text: str


def parts(page: str) -> Iterator[Command | File]:
    """Files and commands, in the order of the page."""
    for block in BLOCK.finditer(page):
        if block["file"]:
            yield File(block["file"], block["text"])
        elif block["language"] == "console":
            yield from _commands(page, *block.span("text"))


def _commands(page: str, begin: int, end: int) -> Iterator[Command]:
    starts = [begin + one.start() for one in re.finditer(r"^\$ ", page[begin:end], re.MULTILINE)]
    for start, after in zip(starts, [*starts[1:], end], strict=True):
        line, _, _ = page[start:after].partition("\n")
        output = (start + len(line) + 1, after)
        yield Command(line.removeprefix("$ "), page[slice(*output)], output)


def unchecked(page: str) -> list[str]:
    """Lines of other blocks that look like commands."""
    return [
        line
        for block in BLOCK.finditer(page)
        if not block["file"] and block["language"] != "console"
        for line in block["text"].splitlines()
        if re.match(r"(\$ )?(unsnarl|python|pytest|pip|cmake|make) ", line)
    ]


class Session:
    """A folder in which the commands of a page are run, one after the other."""

    def __init__(self, folder: Path, where: str) -> None:
        self._folder = folder
        self._case: RealCase | None = None
        scripts = [Path(sys.executable).parent]
        if where != "here":
            self._case = next(case for case in load_cases(FOLDERS) if case.name == where)
            self._install(fixed=False)
            scripts.insert(0, folder / ".venv" / "bin")
        path = os.pathsep.join([*map(str, scripts), os.environ["PATH"]])
        self._environment = os.environ | {"PATH": path, "COLUMNS": COLUMNS}

    def _install(self, fixed: bool) -> None:
        assert self._case is not None
        environment = install(self._case, [BUILT, BUILT / "built" / "nowhere"])[fixed]
        put(environment, self._folder / ".venv")

    def write(self, file: File) -> None:
        """Write a file that the page shows."""
        path = self._folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")

    def run(self, line: str) -> str:
        """What a command prints to standard output. Nothing is downloaded: pip is replaced."""
        if (asked := PIP.fullmatch(line)) and self._case is not None:
            fixed = [bool(one) for one in (0, 1) if self._case.pins(bool(one))[0] in asked["pins"]]
            self._install(*fixed)
            return ""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        # 0 and 1 are answers; everything else says that there is none.
        assert done.returncode in (0, 1), f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout


def without_figures(text: str) -> str:
    """Times, counts of runs and which finding is second differ from machine to machine."""
    text = re.sub(r"\b\w+-[0-9a-f]{4}\b", "ID", text)
    text = re.sub(r"0x[0-9a-f…]+", "ADDRESS", text)
    return re.sub(r"\d+(\.\d+)?", "N", text)


def agree(shown: str, printed: str) -> bool:
    """Whether an output is the one that is shown, but for figures and where lines are broken."""
    pieces = [" ".join(without_figures(part).split()) for part in shown.split(LEFT_OUT)]
    pattern = r".*".join(map(re.escape, pieces))
    return re.fullmatch(rf"\s*{pattern}\s*", " ".join(without_figures(printed).split())) is not None


def checked(page: str, session: Session) -> tuple[list[str], str]:
    """Run all of a page: what differs, and the page as it should be."""
    wrong, changes = [], []
    for part in parts(page):
        if isinstance(part, File):
            session.write(part)
            continue
        printed = session.run(part.line)
        if not agree(part.shown, printed):
            wrong.append(f"$ {part.line}\n{printed}")
            changes.append((part.span, _ended(printed)))
    for (begin, end), text in reversed(changes):
        page = page[:begin] + text + page[end:]
    return wrong, page


def _ended(text: str) -> str:
    """Without blanks at the ends of lines, which editors remove."""
    lines = [line.rstrip() for line in text.rstrip().splitlines()]
    return "".join(f"{line}\n" for line in lines)
