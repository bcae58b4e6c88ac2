# SPDX-License-Identifier: Apache-2.0
"""To use a freed block of a C program is a failure, also where it does no harm."""

import shutil
import signal

import pytest
from tests.integration.native_programs import build, run

from unsnarl.model.event import Op

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
SEEDS = range(1, 13)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("heap"), "freed.c", "-g")


def errors_of(program, *wrong, **plan):
    """How many runs fail by their heap, and what they note."""
    runs = [run(program, "walk", seed, *wrong, switch="free", **plan) for seed in SEEDS]
    failures = [failure for one in runs for failure in one.file.failures if failure.kind == "heap"]
    ended = sum(one.status == -signal.SIGABRT for one in runs)
    assert ended == len(failures), [one.errors for one in runs]
    return failures


def test_a_read_and_a_write_of_a_freed_block_are_failures(program):
    failures = errors_of(program, "early", heap_errors=True)
    failures += errors_of(program, "late", heap_errors=True)
    assert {one.type for one in failures} <= {"use after free", "double free"}
    messages = {one.message for one in failures}
    assert {"read of a freed block", "write to a freed block"} <= messages
    for one in failures:
        # Who asked for it, who freed it and who uses it: three lines of the program.
        assert len({one.site, one.made, one.freed} - {0}) >= 2
        assert one.thread in ("0.1", "0.2")


def test_a_block_is_freed_once(program):
    failures = errors_of(program, "double", heap_errors=True)
    assert "double free" in {one.type for one in failures}


def test_a_program_that_frees_what_nobody_uses_any_more_has_none(program):
    assert errors_of(program, heap_errors=True) == []


def test_the_last_bytes_of_a_block_are_watched_too(program):
    """Of 24 bytes, the last 8: blocks end in the middle of what is counted by 16."""
    failures = errors_of(program, "end", heap_errors=True)
    assert "read of a freed block" in {one.message for one in failures}


def test_who_does_not_ask_for_heap_errors_gets_none(program):
    assert errors_of(program, "late", heap_errors=False) == []


def test_the_free_is_what_the_use_follows(program):
    """The evidence has both: the free is a write of the block."""
    seed = next(
        seed for seed in SEEDS
        if run(program, "walk", seed, "late", switch="free", heap_errors=True).file.failures
    )  # fmt: skip
    done = run(program, "walk", seed, "late", switch="free", heap_errors=True)
    (failure,) = done.file.failures[:1]
    sources = {int(row["source_point"]) for row in done.file.edges
               if int(row["sink_point"]) >> 4 == failure.site}  # fmt: skip
    assert failure.freed << 4 | Op.WRITE in sources
