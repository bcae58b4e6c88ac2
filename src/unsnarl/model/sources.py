# SPDX-License-Identifier: Apache-2.0
"""Source lines and segments of the target, read once per file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from unsnarl.model.site import Site

MOST_ARGUMENT_LINES = 3


class Sources:
    """Reads source files below `root` lazily; a file that cannot be read has no lines."""

    def __init__(self, root: Path, overlay: Mapping[str, str] = MappingProxyType({})) -> None:
        """`overlay` are files that were run in the stead of others, by the path of these."""
        self._root = root
        self._overlay = overlay
        self._lines: dict[str, tuple[bytes, ...]] = {}

    def line(self, file: str, number: int) -> str:
        """The text of a line without its indentation, or "" if there is none."""
        return self._raw(file, number).decode("utf-8", "replace").strip()

    def call(self, file: str, number: int) -> str:
        """A line that calls something, with the arguments on the next ones if these are few."""
        text = self.line(file, number)
        for more in range(number + 1, number + MOST_ARGUMENT_LINES + 1):
            if not _is_open(text):
                return text
            text = f"{text} {self.line(file, more)}"
        return self.line(file, number) if _is_open(text) else text

    def text(self, file: str) -> str:
        """The whole file; "" if it cannot be read."""
        return b"\n".join(self._load(file)).decode("utf-8", "replace")

    def raw_line(self, file: str, number: int) -> bytes:
        """The line as it is, without its end; empty if there is none."""
        return self._raw(file, number)

    def segment(self, site: Site) -> str:
        """The source text that a site's columns enclose, whitespace collapsed to single spaces.

        Columns count UTF-8 bytes, as `co_positions` gives them, so the cut is made on bytes.
        """
        if site.line <= 0 or site.column < 0 or site.end_column < 0:
            return ""
        rows = [
            self._raw(site.file, n) for n in range(site.line, max(site.end_line, site.line) + 1)
        ]
        # The end goes first: on a single line both cuts fall on the same row.
        rows[-1] = rows[-1][: site.end_column]
        rows[0] = rows[0][site.column :]
        return " ".join(b"\n".join(rows).decode("utf-8", "replace").split())

    def relative(self, file: str) -> str:
        """The path from the project root where the file lies below it, else the path as it is."""
        path = Path(file)
        return str(path.relative_to(self._root)) if path.is_relative_to(self._root) else file

    def _raw(self, file: str, number: int) -> bytes:
        lines = self._load(file)
        return lines[number - 1] if 1 <= number <= len(lines) else b""

    def _load(self, file: str) -> tuple[bytes, ...]:
        if file not in self._lines:
            try:
                path = self._root / file
                content = Path(self._overlay.get(str(path), path)).read_bytes()
            except (OSError, ValueError):
                content = b""
            # Only these three end a line for Python; bytes.splitlines agrees, str.splitlines not.
            self._lines[file] = tuple(content.removeprefix(b"\xef\xbb\xbf").splitlines())
        return self._lines[file]


def _is_open(text: str) -> bool:
    """Whether a bracket is not closed; one in a string counts, too: then a line stays alone."""
    return sum(text.count(one) for one in "([{") > sum(text.count(one) for one in ")]}")
