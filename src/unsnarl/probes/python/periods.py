# SPDX-License-Identifier: Apache-2.0
"""Waits with a time limit that are sleeps: `while not stop.wait(0.05): flush()` (docs/adr/0092).

The time limit of a wait is somebody's patience, or the period of a loop. Who ignores what the wait
returns, or goes round a loop by it, lives with a limit that runs out: that may come at any time, as
the end of a sleep may.
"""

from __future__ import annotations

import dis
import sys
import threading
from functools import cache
from operator import attrgetter
from types import CodeType, FrameType

from unsnarl import _core

# Between a call and what is done with its result: caches, markers, the negation of a condition.
PASSED_OVER = {
    dis.opmap[name] for name in ("CACHE", "NOP", "TO_BOOL", "UNARY_NOT") if name in dis.opmap
}
BACKWARD = {code for name, code in dis.opmap.items() if "JUMP" in name and "BACKWARD" in name}
TESTS = {code for name, code in dis.opmap.items() if name.startswith("POP_JUMP")}
UNIT = 2  # bytes of an instruction


def install() -> None:
    """Has the gate ask about waits with short limits."""
    _core.on_short_wait(lambda: is_period_of(sys._getframe(1)))


def is_period_of(frame: FrameType) -> bool:
    """Whether the wait that this frame is about to begin is the period of a loop, or a sleep."""
    caller = _caller(frame)
    return caller is not None and _lives_with_it(caller.f_code, caller.f_lasti)


def _caller(frame: FrameType) -> FrameType | None:
    """Who waits for an Event or a Condition; None for other locks, and for their own helpers."""
    if not _is_of_threading(frame, "wait"):
        return None
    caller = frame.f_back
    if caller is not None and _is_of_threading(caller, "wait"):
        caller = caller.f_back
    is_helper = caller is None or caller.f_globals.get("__name__") in ("threading", "queue")
    return None if is_helper else caller


def _is_of_threading(frame: FrameType, name: str) -> bool:
    return frame.f_globals is threading.__dict__ and frame.f_code.co_name == name


@cache
def _lives_with_it(code: CodeType, at: int) -> bool:
    text = code.co_code
    after = at + UNIT
    while after < len(text) and text[after] in PASSED_OVER:
        after += UNIT
    if after >= len(text):
        return False
    if text[after] == dis.opmap["POP_TOP"]:
        return True
    return text[after] in TESTS and _is_in_loop(code, at)


def _is_in_loop(code: CodeType, at: int) -> bool:
    """Whether a jump from behind an instruction leads to it, or to before it.

    The compiler writes the test of a `while` twice, and only the second one is in the loop: the
    source says that they are the same.
    """
    instructions = list(dis.get_instructions(code))
    loops = [(one.argval, one.offset) for one in instructions if one.opcode in BACKWARD]
    # A frame that calls Python code stands in the caches behind its call.
    called = max((one for one in instructions if one.offset <= at), key=attrgetter("offset"))
    same = [one.offset for one in instructions if _are_copies(one, called)]
    return any(first <= offset <= last for offset in same for first, last in loops)


def _are_copies(one: dis.Instruction, other: dis.Instruction) -> bool:
    if one.offset == other.offset:
        return True
    has_columns = one.positions is not None and one.positions.col_offset is not None
    return has_columns and (one.opcode, one.positions) == (other.opcode, other.positions)
