# SPDX-License-Identifier: Apache-2.0
"""A source file as lines that can be edited without touching anything else in it.

Positions come from `ast` and `tokenize`; the text itself is never regenerated, so comments, blank
lines, line ends and the encoding stay as they are.
"""

from __future__ import annotations

import ast
import hashlib
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

# What ends a line for Python; str.splitlines has more.
LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
BOM = b"\xef\xbb\xbf"


class UnpatchableError(Exception):
    """This edit cannot be made here; another one may."""


class TextFile:
    """One file as it was hunted, in whatever language.

    Attributes:
        path: Where it is.
        name: How reports name it.
    """

    encoding = "utf-8"

    def __init__(self, path: Path, name: str, data: bytes | None = None) -> None:
        self.path = path
        self.name = name
        self.data = path.read_bytes() if data is None else data
        self.text = self._decoded()
        self.lines: list[str] = LINES.findall(self.text)

    def _decoded(self) -> str:
        """The text, by an encoding that gives these bytes again."""
        try:
            return self.data.removeprefix(BOM).decode()
        except ValueError:
            self.encoding = "latin-1"
            return self.data.decode(self.encoding)

    @property
    def digest(self) -> str:
        """By which a later edit is noticed."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def newline(self) -> str:
        """What ends its lines, most often."""
        ends = [line[len(line.rstrip("\r\n")) :] for line in self.lines]
        return max(set(ends) - {""}, key=ends.count, default="\n")

    def indentation(self, line: int) -> str:
        """The blanks before a line's text."""
        text = self.lines[line - 1]
        return text[: len(text) - len(text.lstrip(" \t\f"))]

    def encoded(self, text: str) -> bytes:
        """Another text in this file's encoding."""
        head = BOM if self.data.startswith(BOM) else b""
        return head + text.encode(self.encoding.removesuffix("-sig"))


class SourceFile(TextFile):
    """A file of Python."""

    def _decoded(self) -> str:
        try:
            self.encoding, _ = tokenize.detect_encoding(io.BytesIO(self.data).readline)
            text = self.data.removeprefix(BOM).decode(self.encoding.removesuffix("-sig"))
            self.tree = ast.parse(text)
        except (SyntaxError, ValueError, LookupError) as error:
            raise UnpatchableError(f"{self.name} cannot be read: {error}") from None
        return text

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All of its syntax tree, outer ones first: drafts look through it hundreds of times."""
        return tuple(ast.walk(self.tree))

    def class_at(self, line: int) -> ast.ClassDef | None:
        """The outermost class that a line is in."""
        inside = (one for one in self.tree.body if one.lineno <= line <= (one.end_lineno or 0))
        return next((one for one in inside if isinstance(one, ast.ClassDef)), None)

    @cached_property
    def inside_strings(self) -> frozenset[int]:
        """The lines that begin within a string: their indentation belongs to it."""
        return frozenset(_inside_strings(self.text))

    @cached_property
    def unit(self) -> str:
        """One step of indentation, as the file has it."""
        for node in self.nodes:
            body = getattr(node, "body", None)
            if isinstance(node, ast.stmt) and isinstance(body, list):
                outer, inner = self.indentation(node.lineno), self.indentation(body[0].lineno)
                if body[0].lineno > node.lineno and inner.startswith(outer) and inner != outer:
                    return inner[len(outer) :]
        return "    "


def _inside_strings(text: str) -> Iterator[int]:
    """Lines within triple quotes, those of f-strings among them, and after a backslash in one."""
    opened: list[int] = []
    starts = {getattr(tokenize, name, -1) for name in ("FSTRING_START", "TSTRING_START")}
    ends = {getattr(tokenize, name, -1) for name in ("FSTRING_END", "TSTRING_END")}
    for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
        first = token.start[0]
        if token.type in starts:
            opened.append(first)
        elif token.type in ends:
            yield from range(opened.pop() + 1, token.end[0] + 1)
        elif token.type == tokenize.STRING:
            yield from range(first + 1, token.end[0] + 1)


def header_text(
    source: SourceFile, node: ast.If | ast.With | ast.For | ast.While, word: str
) -> str:
    """What stands between the keyword and the colon of a header of one line."""
    line = source.lines[node.lineno - 1].strip()
    if not line.startswith(f"{word} ") or node.body[0].lineno == node.lineno:
        raise UnpatchableError(f"{source.name}:{node.lineno} is no header of one line")
    code = line.partition("  #")[0].rstrip()
    if not code.endswith(":"):
        raise UnpatchableError(f"{source.name}:{node.lineno} is no header of one line")
    return code[len(word) : -1].strip()


def changed_header(source: SourceFile, line: int, text: str) -> str:
    """A line with another text; its indentation, comment and end stay."""
    old = source.lines[line - 1]
    _, mark, comment = old.rstrip("\r\n").partition("  #")
    end = old[len(old.rstrip("\r\n")) :]
    return f"{source.indentation(line)}{text}{mark}{comment}{end}"


class LineEdits:
    """Changes of one file, collected by the lines of the original and made at once."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self._before: dict[int, list[str]] = {}
        self._after: dict[int, list[str]] = {}
        self._changed: dict[int, str] = {}
        self._removed: set[int] = set()
        self._shifts: dict[int, int] = {}
        self._apart: dict[int, int] = {}

    def insert_before(self, line: int, text: str, like: int = 0) -> None:
        """A new line with the indentation of `like`, by default of the line itself.

        What is inserted later at the same line comes after what was inserted earlier.
        """
        self._before.setdefault(line, []).append(self._whole(like or line, text))

    def insert_first(self, line: int, text: str) -> None:
        """A new line before all others that are inserted there, with the line's indentation."""
        self._before.setdefault(line, []).insert(0, self._whole(line, text))

    def insert_after(self, line: int, text: str, like: int = 0) -> None:
        """The same, behind the line."""
        self._after.setdefault(line, []).append(self._whole(like or line, text))

    def set_apart(self, line: int, blanks: int) -> None:
        """So many blank lines between a line and what is inserted before it."""
        self._apart[line] = blanks

    def move(self, first: int, last: int, behind: int) -> None:
        """Lines to another line of the same block; with the blank one above a paragraph."""
        is_inner = bool(self.source.indentation(first))
        if is_inner and self._is_blank(first - 1) and self._is_blank(last + 1):
            first -= 1
        for number in range(first, last + 1):
            text = self.source.lines[number - 1].rstrip("\r\n")
            self._after.setdefault(behind, []).append(text + self.source.newline)
            self.remove(number)

    def _is_blank(self, line: int) -> bool:
        return 0 < line <= len(self.source.lines) and not self.source.lines[line - 1].strip()

    def remove(self, line: int) -> None:
        """Leave out a line."""
        self._removed.add(line)

    def change(self, line: int, text: str) -> None:
        """Another text, whose indentation and end are given as well."""
        if line in self._changed:
            raise UnpatchableError("two changes of one line")
        self._changed[line] = text

    def shift(self, first: int, last: int, steps: int) -> None:
        """More or less indentation."""
        for line in range(first, last + 1):
            self._shifts[line] = self._shifts.get(line, 0) + steps

    def wrap(self, first: int, last: int, header: str) -> None:
        """`header` before these lines, and them below it."""
        self.insert_before(first, header)
        self.shift(first, last, 1)

    def text(self) -> str:
        """The file with all changes."""
        return "".join(self._rendered())

    def _rendered(self) -> Iterator[str]:
        for number, line in enumerate(self.source.lines, 1):
            # What is put before a line that moves stands where the line stood, unless the line's
            # own block moves as a whole.
            yield from self._before.get(number, ())
            yield self.source.newline * self._apart.get(number, 0)
            if number not in self._removed:
                yield self._shifted(number, self._changed.get(number, line))
            yield from self._ended(number, line)

    def _ended(self, number: int, line: str) -> Iterator[str]:
        added = self._after.get(number, [])
        if added and not line.endswith(("\r", "\n")):
            yield self.source.newline
        yield from added

    def _shifted(self, number: int, line: str) -> str:
        steps = self._shifts.get(number, 0)
        if not steps or not line.strip() or number in self.source.inside_strings:
            return line
        if steps > 0:
            return self.source.unit * steps + line
        for _ in range(-steps):
            if line.startswith(self.source.unit):
                line = line[len(self.source.unit) :]
            elif not line.lstrip().startswith("#"):
                raise UnpatchableError("the indentation is not even")
        return line

    def _whole(self, like: int, text: str) -> str:
        blank = self.source.indentation(like)
        indented = [f"{blank}{part}" if part else "" for part in text.split("\n")]
        return "".join(part + self.source.newline for part in indented)
