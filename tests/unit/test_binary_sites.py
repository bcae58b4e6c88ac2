# SPDX-License-Identifier: Apache-2.0
"""Which source line a call of the probe in a C program stands for."""

import pytest

from unsnarl.probes.binaries.sites import ProbeCall, Program, Source, _kind
from unsnarl.runfile import SiteTable
from unsnarl.runfile.codes import Code, SiteEntry


def listed(*functions):
    """A program of functions: start, last instruction, and the calls' return addresses."""
    program = object.__new__(Program)
    program.start = program.first = 0
    codes = []
    for line, (start, end, backs) in enumerate(functions, start=1):
        found = [(ProbeCall(b, start, "write"), Source(f"f{line}", "/a.c", line)) for b in backs]
        code = program._code(start, end, found)
        sites = tuple(SiteEntry(*entry) for entry in code.pop("sites"))
        codes.append(Code(**code, sites=sites))
    return program, SiteTable(codes, "/", watermark=1000)


def test_a_call_that_returns_next_to_the_following_function_keeps_its_line():
    """Without optimisation a function may begin in the same four bytes."""
    program, table = listed((0xF0, 0x101, [0x101]), (0x102, 0x120, [0x110]))
    assert program.site(0x101) == program.site(0x102)
    assert table.site(program.site(0x101)).line == 1
    assert table.site(program.site(0x110)).line == 2
    assert table.range_of(program.site(0x101)) != table.range_of(program.site(0x110))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("__tsan_read4", "read"),
        ("__tsan_volatile_write8", "write"),
        ("__tsan_read_write4", "atomic"),
        ("__tsan_unaligned_read_write8", "atomic"),
        ("__tsan_vptr_read", "read"),
        ("puts", ""),
    ],
)
def test_what_reads_and_writes_is_not_listed_as_a_read(name, kind):
    assert _kind(name) == kind
