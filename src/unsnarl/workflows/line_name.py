# SPDX-License-Identifier: Apache-2.0
"""How a person names a line: `bank.py:12`."""

from __future__ import annotations

from typing import NamedTuple

from unsnarl.errors import UsageError


class LineName(NamedTuple):
    """The end of a path, and a line of that file."""

    file: str
    line: int

    @classmethod
    def parse(cls, text: str) -> LineName:
        """From `FILE:LINE`."""
        file, _, line = text.rpartition(":")
        if not file or not line.isdecimal():
            raise UsageError("bad-argument", f"{text!r} is no line", "name it as FILE:LINE")
        return cls(file.removeprefix("./"), int(line))

    def names(self, file: str, line: int) -> bool:
        """Whether this line is meant."""
        return line == self.line and f"/{file}".endswith(f"/{self.file}")

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"
