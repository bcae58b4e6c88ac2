# SPDX-License-Identifier: Apache-2.0
"""The text of a reproducer for a C or C++ program: a script for gdb (machinery/gdb_script.py).

It forces lines, not instructions: these differ from build to build. An order within one line has no
such script, which shows when it is tried.
"""

from __future__ import annotations

import pprint
import textwrap
from pathlib import Path
from typing import Any

import msgspec

from unsnarl.reproducers import machinery
from unsnarl.reproducers.events import ForcedEvent, ForcedOrder
from unsnarl.reproducers.writing import MARKER, WIDTH

KEYS = ("thread", "file", "function", "text", "nth", "count")
IMPORTS = ("os", "signal", "threading", "gdb")


class GdbScript(msgspec.Struct, frozen=True):
    """All that a script needs to know."""

    deadlock: bool
    orders: tuple[ForcedOrder, ...]
    header: str

    @property
    def text(self) -> str:
        """The whole script."""
        comment = [f"# {row}".rstrip() for row in self.header.strip('"\n').splitlines()]
        rows = [*comment, "", "python", *(f"import {name}" for name in IMPORTS)]
        rows += ["", f"DEADLOCK = {self.deadlock!r}", "ORDERS = ["]
        for order in self.orders:
            events = [_plain(order.early), _plain(order.late)]
            shown = pprint.pformat(events, width=WIDTH - 4, sort_dicts=False)
            rows += [textwrap.indent(shown, "    ") + ","]
        return "\n".join([*rows, "]", "", _machinery(), "end", ""])


def _plain(event: ForcedEvent) -> dict[str, Any]:
    return {key: value for key, value in msgspec.to_builtins(event).items() if key in KEYS}


def _machinery() -> str:
    file = Path(machinery.__file__).parent / "gdb_script.py"
    text = file.read_text(encoding="utf-8")
    return text[text.index(MARKER) :]
