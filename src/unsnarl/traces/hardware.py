# SPDX-License-Identifier: Apache-2.0
"""BB-HW: a trace through the caches of a multiprocessor that notes who wrote a line (Bugaboo 4.2).

native/hardware/ has the machine. What software does with it is here: it is given the machine's
size, and reads the edges and the counters.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import msgspec
import numpy as np

from unsnarl import _core
from unsnarl.errors import UsageError
from unsnarl.model.access_trace import Events
from unsnarl.model.graph import EDGE, Edges
from unsnarl.traces.files import Trace

# The source of an edge that no line's metadata had: a read that memory answered, or a line whose
# writer nobody noted.
NOWHERE = 0


class HardwareMachine(msgspec.Struct, frozen=True):
    """What is simulated; the defaults are those of Bugaboo 6.1.

    Attributes:
        cores: Threads take them in turn.
        kilobytes: The size of one L1 cache.
        line: Bytes of a cache line.
        entries: Of the communication table.
        trap: Accesses that go by while software reads the full table; what they communicate is
            lost. The paper gives no figure: one access for each entry that is read.
        quiet_locks: Operations on locks leave contexts alone: hardware knows atomic instructions.
    """

    cores: int = 16
    kilobytes: int = 32
    ways: int = 8
    line: int = 64
    entries: int = 1 << 14
    trap: int = 1 << 14
    quiet_locks: bool = False

    @property
    def sets(self) -> int:
        """Of one cache."""
        return self.kilobytes * 1024 // (self.line * self.ways)


class HardwareCounts(NamedTuple):
    """What happened (struct uns_hardware_counts).

    Attributes:
        unsourced: Entries of the table whose source is not known.
    """

    accesses: int = 0
    reads: int = 0
    writes: int = 0
    read_misses: int = 0
    write_misses: int = 0
    upgrades: int = 0
    read_replies: int = 0
    invalidate_replies: int = 0
    memory_reads: int = 0
    metadata_writes: int = 0
    evictions: int = 0
    write_backs: int = 0
    table_writes: int = 0
    traps: int = 0
    discarded: int = 0
    unsourced: int = 0

    def plus(self, other: HardwareCounts) -> HardwareCounts:
        """Both together."""
        return HardwareCounts(*(one + two for one, two in zip(self, other, strict=True)))


COUNTS = struct.Struct(f"<{len(HardwareCounts._fields)}Q")


class Simulated(NamedTuple):
    """The graph that the hardware collected, with raw points, and what it counted."""

    edges: Edges
    counts: HardwareCounts


def machine_for(machine: HardwareMachine) -> _core.Hardware:
    """A machine that has not run yet; raises UsageError if there is no such one."""
    try:
        return _core.Hardware(
            cores=machine.cores,
            sets=machine.sets,
            ways=machine.ways,
            line=machine.line,
            entries=machine.entries,
            trap=machine.trap,
            quiet_locks=machine.quiet_locks,
        )
    except (ValueError, OverflowError) as error:
        hint = "up to 64 cores and 64 ways; a line and the number of sets are powers of 2"
        raise UsageError("bad-argument", f"no such machine: {error}", hint) from None


def simulate(trace: Trace, machine: HardwareMachine | None = None) -> Simulated:
    """Run a trace through a machine."""
    hardware = machine_for(machine or HardwareMachine())
    for block in trace.blocks():
        hardware.feed(block)
    return result(hardware)


def simulate_events(events: Events, machine: HardwareMachine | None = None) -> Simulated:
    """The same, of events that are in memory."""
    hardware = machine_for(machine or HardwareMachine())
    hardware.feed(events)
    return result(hardware)


def result(hardware: _core.Hardware) -> Simulated:
    """What a machine has collected, after its last event."""
    edges, counts = hardware.result()
    return Simulated(np.frombuffer(edges, EDGE), HardwareCounts(*COUNTS.unpack(counts)))
