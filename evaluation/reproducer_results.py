# SPDX-License-Identifier: Apache-2.0
"""What is measured of one exported finding, and of all of them."""

from __future__ import annotations

import msgspec


class Exported(msgspec.Struct, frozen=True):
    """One case.

    Attributes:
        zoo: python, users or real.
        confirmed: Whether the hunt confirmed a finding; the rest is about that one.
        why: Why there is no reproducer.
        codes: The exit statuses of the reproducer on the bug; empty if there is none.
        fixed: ... and on the fixed twin or release.
        fixed_says: The last line that it printed there.
        kept: What `unsnarl keep` said: fails, ..., or why nothing was kept.
        kept_fixed: What the kept interleaving does on the fixed twin: its state.
        kept_says: ... in words.
        seconds: Processor time of replaying it on the twin, with the start of a process for it,
            beyond that of the command alone; unsnarl itself is loaded once for all that are kept.
        command_seconds: Processor time of the command alone.
        start_seconds: ... and of an interpreter that does nothing: how fast the machine was then.
        orders: How many orders are forced.
    """

    name: str
    zoo: str
    confirmed: bool
    why: str = ""
    codes: tuple[int, ...] = ()
    fixed: tuple[int, ...] = ()
    fixed_says: str = ""
    kept: str = ""
    kept_fixed: str = ""
    kept_says: str = ""
    seconds: float | None = None
    command_seconds: float | None = None
    start_seconds: float | None = None
    orders: int = 0

    @property
    def reproduces(self) -> bool:
        """The reproducer fails every time on the bug, and exits with 0 on the twin."""
        return bool(self.codes) and set(self.codes) == {1} and set(self.fixed) == {0}

    @property
    def is_kept(self) -> bool:
        """The kept interleaving fails on the bug and passes on the twin."""
        return self.kept == "fails" and self.kept_fixed == "passes"


class ExportedZoo(msgspec.Struct, frozen=True):
    """All cases; `note` is a remark about the measurement."""

    date: str
    python: str
    cores: int
    runs: int
    rows: tuple[Exported, ...]
    note: str = ""
