# SPDX-License-Identifier: Apache-2.0
"""The descriptions of rewritten code objects: codes.json and the `codes` notes of run files."""

from __future__ import annotations

import msgspec


class SiteEntry(msgspec.Struct, frozen=True, array_like=True):
    """One instruction of a code object that can be a site.

    Positions are as in `co_positions`, where the compiler may leave any of them out.
    """

    offset: int
    kind: str
    name: str | None = None
    line: int | None = None
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None
    # If it is another function's, compiled into this one.
    function: str | None = None
    file: str | None = None
    size: int = 0  # of what a C program touches there, in bytes; 0 if that is not known


class Code(msgspec.Struct, frozen=True):
    """One code object: it owns the site ids from `base` up to `base + size`."""

    base: int
    size: int
    file: str
    function: str
    line: int = 0
    sites: tuple[SiteEntry, ...] = ()


class Symbol(msgspec.Struct, frozen=True, array_like=True):
    """A variable of a C program: where it begins, from the program's start, and its size."""

    offset: int
    size: int
    name: str


# The name of the file in a campaign's folder.
CODES_FILE = "codes.json"
# Behind that name: a line for each piece of code that a run was the first to load.
LATE_SUFFIX = ".late"


class CodesFile(msgspec.Struct, frozen=True):
    """The content of codes.json.

    Attributes:
        watermark: Ids from here on belong to code that runs have loaded by themselves.
        shared: Up to here such ids mean the same in all runs; those above belong to single runs.
    """

    version: int
    watermark: int
    codes: tuple[Code, ...]
    modules: int = 0
    probes: int = 0
    shared: int = 0
    symbols: tuple[Symbol, ...] = ()
    program: str = ""  # of C: its file
    built: str = ""  # ... and which build of it
