# SPDX-License-Identifier: Apache-2.0
"""The hooks of a run that follows recorded branches (CLAP, ReCBuLC IV.B).

Before each read of a shared integer a fresh symbol is put into the cell: whatever the run itself
would have read, the thread goes on with a value that is any. Each test of a symbol has the outcome
that was recorded, which is a condition on it. So what threads compute does not depend on the order
of this run; only values that cannot be symbols do, and whoever reads the result allows for that.
"""

from __future__ import annotations

import contextlib
import json
import opcode
import sys
import types
from typing import Any

from unsnarl import _core
from unsnarl.model.event import Op, op_of
from unsnarl.probes.python import failures
from unsnarl.probes.python.following.symbols import Deciding, Symbolic, is_number, text_of
from unsnarl.probes.python.naming import MISSING, SEQUENCES, find_attribute, is_a

_TESTS = frozenset(
    number
    for name, number in opcode.opmap.items()
    if name in ("UNARY_NOT", "TO_BOOL") or ("JUMP" in name and "_IF_" in name)
)
_COMPARE = opcode.opmap["COMPARE_OP"]
_MAKES_BOOL = 16  # 3.13: bit of COMPARE_OP's argument
_KEEPS = frozenset(n for name, n in opcode.opmap.items() if name.endswith("_OR_POP"))
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_SIZED: tuple[type, ...] = (dict, set, frozenset, *SEQUENCES)


class _Thread:
    """What one thread has done, and what it is still to do.

    Attributes:
        accesses: For each: [what it is, its value before, its value after a write]. What it is: a
            symbol's name, "" if it is none. Values: text of integers, marks of all else.
        conditions: [how many accesses came before, text].
        guesses: Outcomes that no recorded branch gives, as they were taken.
        names: Long texts that got names.
    """

    def __init__(self, path: str, outcomes: list[int], guesses: list[int]) -> None:
        self.path = path
        self.outcomes = outcomes
        self.at = 0
        self.wanted = guesses
        self.guesses: list[int] = []
        self.accesses: list[list[Any]] = []
        self.conditions: list[list[Any]] = []
        self.names: dict[str, str] = {}
        self.kept: tuple[Symbolic | None, bool] = (None, False)


class _Following:
    """The one run of this process."""

    def __init__(self) -> None:
        self.file = ""
        self.outcomes: dict[str, list[int]] = {}
        self.guesses: dict[str, list[int]] = {}
        self.threads: dict[str, _Thread] = {}
        self.written: tuple[list[Any], object, object] | None = None
        self.left: dict[str, Any] | None = None

    def thread(self, path: str) -> _Thread:
        if path not in self.threads:
            outcomes, guesses = self.outcomes.get(path, []), self.guesses.get(path, [])
            self.threads[path] = _Thread(path, outcomes, guesses)
        return self.threads[path]


_run = _Following()


def install(plan: dict[str, Any]) -> None:
    """In the child, before the run begins: `plan` has the branches, guesses and a file."""
    _run.file = plan["file"]
    _run.outcomes, _run.guesses = plan["branches"], plan["guesses"]
    Deciding.decide, Deciding.name = staticmethod(_decide), staticmethod(_name)
    _core.set_capture_hook(_access)
    _core.set_branch_hook(_branch)


def write() -> None:
    """At the end of the run: what it found, and where it left the recorded path."""
    if not _run.file:
        return
    _settle()
    threads = {
        path: {
            "accesses": one.accesses,
            "conditions": one.conditions,
            "guesses": one.guesses,
            "names": one.names,
            "branches": one.at,
        }
        for path, one in _run.threads.items()
    }
    with open(_run.file, "w", encoding="utf-8") as stream:  # noqa: PTH123
        json.dump({"threads": threads, "left": _run.left}, stream)


def _access(  # noqa: PLR0917  called from C
    index: int, point: int, path: str, obj: Any, key: object, is_write: bool, locks: object
) -> None:
    if op_of(point).is_sync:
        return  # captured for who called, and no access
    with contextlib.suppress(Exception):
        _settle()
        thread = _run.thread(path)
        row: list[Any] = ["", None, None]
        thread.accesses.append(row)
        if op_of(point) > Op.WRITE:
            return
        value: Any = _contents(obj, key)
        row[1] = _mark(value, key)
        if is_write:
            _run.written = row, obj, key
        elif key is not None and is_number(value):
            name = f"r{len(thread.accesses) - 1}_{path.replace('.', '_')}"
            is_bool = value.is_bool if type(value) is Symbolic else type(value) is bool
            _put(obj, key, Symbolic(int(value), name, is_bool=is_bool))
            row[0] = name


def _settle() -> None:
    """Fill in what was being written at the last event."""
    if _run.written is not None:
        row, obj, key = _run.written
        _run.written = None
        with contextlib.suppress(Exception):
            row[2] = _mark(_contents(obj, key), key)


def _mark(value: object, key: object) -> str:
    """Integers as text; of a container its size; of all else what or which object it is."""
    kind: Any = next((one for one in _SIZED if is_a(value, one)), None) if key is None else None
    if kind is not None:
        return f"#{kind.__len__(value)}"  # not by a `__len__` of the target's own
    if is_number(value):
        return text_of(value)  # type: ignore[arg-type]
    if value is MISSING:
        return "missing"
    if type(value) is int:
        return f"={value:#x}"  # too long to be written otherwise
    if type(value) in (str, bytes, float, type(None)):
        return "=" + repr(value)
    return f"@{id(value)}"


def _contents(obj: Any, key: Any) -> object:
    """What is in a cell, without running any code of the target."""
    if key is None:
        return obj
    if type(obj) is types.CellType:
        with contextlib.suppress(ValueError):
            return obj.cell_contents
    elif is_a(obj, dict):
        return dict.get(obj, key, MISSING)
    elif is_a(obj, list):
        there = type(key) is int and -len(obj) <= key < len(obj)
        return list.__getitem__(obj, key) if there else MISSING
    elif type(key) is str:
        return find_attribute(obj, key)[1]
    return MISSING


def _put(obj: Any, key: Any, value: Symbolic) -> None:
    """Put a symbol where a number is; raises what an object says that cannot be changed."""
    if type(obj) is types.CellType:
        obj.cell_contents = value
    elif is_a(obj, dict):
        dict.__setitem__(obj, key, value)
    elif is_a(obj, list):
        list.__setitem__(obj, key, value)
    elif is_a(obj, types.ModuleType):
        obj.__dict__[key] = value
    else:
        holder, _ = find_attribute(obj, key)
        change: Any = type.__setattr__ if is_a(holder, type) else object.__setattr__
        change(holder, key, value)


def _branch(site: int, path: str, asked: object, is_none: int) -> bool:
    """Before a branch of the target: whether the thread is to stay here for good.

    Its recorded path is at its end, or cannot be followed: what the others do then shows what it
    should have seen.
    """
    thread = _run.thread(path)
    if thread.at >= len(thread.outcomes):
        return True
    recorded = bool(thread.outcomes[thread.at])
    if isinstance(asked, Symbolic) and not is_none:  # asked after the probe: `and`, `or` of 3.11
        _assume(thread, asked, recorded)
        thread.kept = asked, recorded
    else:
        taken = asked is None if is_none else _truth(asked)
        if taken != recorded:
            left = {"path": path, "site": site, "branch": thread.at, "reason": _reason(asked)}
            _run.left = _run.left or left
            return True
    thread.at += 1
    return False


def _reason(asked: object) -> str:
    return "int" if isinstance(asked, Symbolic) else type(asked).__name__


def _truth(asked: object) -> bool:
    """As it was recorded (native/binding/values.c): a target's own `__bool__` is not asked."""
    return bool(type(asked).__flags__ & _HEAP_TYPE) or bool(asked)


def _name(text: str) -> str:
    """A name for a text that has grown long."""
    path = _core.current_path()
    names = _run.thread(path).names
    name = f"n{len(names)}_{path.replace('.', '_')}"
    names[name] = text
    return name


def _decide(symbolic: Symbolic) -> bool:
    """The outcome of a test of a symbol: as recorded, or guessed where no branch was recorded."""
    thread = _run.thread(_core.current_path())
    # 0 is this function, 1 is Symbolic.__bool__, 2 is who asks.
    is_recorded, keeps = _test(sys._getframe(2))
    if keeps and thread.kept[0] is symbolic:
        return thread.kept[1]
    if is_recorded and thread.at < len(thread.outcomes):
        outcome = bool(thread.outcomes[thread.at])
    elif is_recorded:
        return symbolic.number != 0  # its branch, which follows, ends the path
    else:
        made = len(thread.guesses)
        outcome = bool(thread.wanted[made]) if made < len(thread.wanted) else symbolic.number != 0
        thread.guesses.append(int(outcome))
    _assume(thread, symbolic, outcome)
    return outcome


def _assume(thread: _Thread, symbolic: Symbolic, outcome: bool) -> None:
    text = symbolic.condition if outcome else f"(not {symbolic.condition})"
    thread.conditions.append([len(thread.accesses), text])


def _test(frame: types.FrameType) -> tuple[bool, bool]:
    """Whether a branch of the target asks, and whether it does so after its probe."""
    code = frame.f_code
    if code.co_filename not in failures.user_files():
        return False, False
    at = frame.f_lasti
    # co_code has the plain form of specialised instructions, so the table of tests applies.
    number, argument = code.co_code[at], code.co_code[at + 1]
    decides = number in _TESTS or (
        number == _COMPARE and sys.version_info >= (3, 13) and bool(argument & _MAKES_BOOL)
    )
    return decides, number in _KEEPS
