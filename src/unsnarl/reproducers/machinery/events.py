# SPDX-License-Identifier: Apache-2.0
"""Events of the program: found in its code by function, text and columns."""

import difflib
import dis
import linecache
import os
import re
import threading

from unsnarl.reproducers.machinery.values import ORDERS

# ---- what is put in order -------------------------------------------------------------------

BUG, FIXED, NOT_ESTABLISHED = 1, 0, 2
LONGEST = 20.0  # seconds that a thread is kept waiting at most
LIMIT = 120.0  # seconds for the whole test
LOOK = 0.02  # seconds between two looks at all threads
STUCK = 0.25  # seconds in one instruction after which a thread counts as waiting in it
FILE = "REPRODUCER_REPORT"  # the variable that makes a process the child
GROUPS = {
    "get": ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"),
    "set": ("STORE_ATTR", "DELETE_ATTR"),
    "load": (
        "LOAD_GLOBAL",
        "LOAD_NAME",
        "LOAD_DEREF",
        "LOAD_CLASSDEREF",
        "LOAD_FROM_DICT_OR_DEREF",
    ),
    "store": ("STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "DELETE_GLOBAL", "DELETE_NAME"),
    "item": ("BINARY_SUBSCR", "BINARY_SLICE", "BINARY_OP"),
    "put": ("STORE_SUBSCR", "STORE_SLICE"),
    "remove": ("DELETE_SUBSCR",),
    "next": ("FOR_ITER",),
    "iter": ("GET_ITER",),
    "in": ("CONTAINS_OP",),
    "unpack": ("UNPACK_SEQUENCE", "UNPACK_EX"),
    "enter": ("BEFORE_WITH", "BEFORE_ASYNC_WITH"),
    "exit": ("CALL", "WITH_EXCEPT_START"),
    "call": ("CALL", "CALL_KW", "CALL_FUNCTION_EX"),
}
NAMED = ("get", "set", "load", "store")
# What only moves values about.
IDLE = (
    "PRECALL", "KW_NAMES", "PUSH_NULL", "COPY", "SWAP", "NOP", "RESUME", "CACHE", "EXTENDED_ARG",
    "LOAD_CONST", "LOAD_FAST", "STORE_FAST", "POP_TOP", "RETURN_VALUE", "RETURN_CONST", "END_FOR",
    "JUMP_BACKWARD", "JUMP_FORWARD", "POP_ITER", "NOT_TAKEN", "LOAD_FAST_BORROW", "LOAD_SMALL_INT",
)  # fmt: skip


class HeldEvent:
    """Something that a thread does: the `count`-th time that it comes to these instructions."""

    def __init__(self, values):
        self.file, self.function = values["file"], values["function"]
        self.text, self.nth = values["text"], values.get("nth", 0)
        self.what, self.name = values.get("what", ""), values.get("name", "")
        self.columns, self.ends = values.get("columns"), values.get("ends")
        self.thread, self.count = values["thread"], values.get("count", 1)
        self.equal, self.role = values.get("equal", False), values.get("role", 0)
        self.op = values.get("op", "")
        self.found = self.reached = False  # its code is there; a thread came there
        self.happened = threading.Event()

    def instructions(self, code):
        """Where it begins in a code object, and where it ends; empty if it is not in there."""
        rows = [row for row in dis.get_instructions(code) if row.opname not in IDLE]
        line = self._line(code, rows)
        if not line:
            return self._whole_line(code, rows)
        begins = self._on_line(rows, line, self.what, self.columns, code)
        ends = self._on_line(rows, line, "call", self.ends, code) if self.ends else set()
        return begins, ends or begins

    def _line(self, code, rows):
        """The line, by its text; one that is much like it if the program was edited there."""
        lines = sorted({_line(row) for row in rows if self._fits(row, self.what)} - {None})
        same = [line for line in lines if _text(code, line) == self.text]
        return same[min(self.nth, len(same) - 1)] if same else self._alike(code, lines, 0.5)

    def _alike(self, code, lines, least):
        ratios = {
            n: difflib.SequenceMatcher(None, self.text, _text(code, n)).ratio() for n in lines
        }
        best = max(ratios, key=ratios.get, default=None)
        return best if best is not None and ratios[best] >= least else None

    def _whole_line(self, code, rows):
        """Of a line that was edited: from its first instruction to its last."""
        line = self._alike(code, sorted({_line(row) for row in rows} - {None}), 0.7)
        offsets = [row.offset for row in rows if line and _line(row) == line]
        return set(offsets[:1]), set(offsets[-1:])

    def _on_line(self, rows, line, what, columns, code):
        here = [row for row in rows if _line(row) == line and self._fits(row, what)]
        if columns:
            indent = len(_source(code, line)) - len(_source(code, line).lstrip())
            exact = [row for row in here if _columns(row, indent) == columns]
            if exact and not what:
                exact = exact[-1:]
            here = exact or ([] if not what else here)
        return {row.offset for row in here}

    def _fits(self, row, what):
        what = "call" if what == "lock" else what
        if what not in GROUPS:
            return True
        return row.opname in GROUPS[what] and (what not in NAMED or row.argval == self.name)

    def is_by(self, thread):
        """Whether it is this thread's to do."""
        if self.role:
            return ROLES.get(self.role) is thread
        return thread.path == self.thread or (self.equal and thread.kind == KINDS.get(self.thread))

    def __str__(self):
        times = f", time {self.count}" if self.count > 1 else ""
        return f"thread {self.thread} at {self.file} in {self.function} [{self.text}]{times}"


def _line(row):
    return row.positions.lineno if row.positions else None


def _columns(row, indent):
    """First and last column, as if the line were not indented; None for an end on another line."""
    at = row.positions
    if at.col_offset is None:
        return None
    end = at.end_col_offset - indent if at.end_lineno == at.lineno else None
    return at.col_offset - indent, end


def _source(code, line):
    return linecache.getline(code.co_filename, line)


def _text(code, line):
    return _source(code, line).strip()


class Order:
    """The thread of `late` waits where it is about to do its part until `early` has happened.

    What must come later is `then`: if `late` was not met, it waits there.
    """

    def __init__(self, early, late, then=None):
        self.early, self.late, self.then = early, late, then or late
        self.state = "not reached"

    def holds(self, events):
        """Whether a thread that is about to do these has to wait."""
        return self.late in events or (self.then in events and self.state == "not reached")

    def gone(self):
        """What of it is not in the code any more."""
        late = [] if self.late.found or self.then.found else [self.late]
        return [] if self.early.found and not late else late or [self.early]


class RunThread:
    """A thread: its path (0.2 is the second thread that 0 started), and what it has done."""

    def __init__(self, path, kind=None):
        self.path, self.kind, self.started = path, kind, 0
        self.counts, self.within, self.held = {}, [], False


EVENTS = []
ALL = []
THREADS = {}
ROLES = {}
KINDS = {}
FAILURES = []
WATCHED = {}
NEWS = threading.Lock()


def prepare():
    """Read the orders."""
    for values in ORDERS:
        events = [HeldEvent(one) for one in values]
        EVENTS.extend(events)
        ALL.append(Order(*events))


def watched(code):
    """The events in a code object: by instruction, those that begin there and that end there."""
    if code not in WATCHED:
        WATCHED[code] = _find(code)
    return WATCHED[code]


def _find(code):
    function = re.sub(r"(\.<locals>)?\.<(list|dict|set)comp>", "", code.co_qualname)
    begins, ends = {}, {}
    for event in EVENTS:
        path = os.path.abspath(code.co_filename).replace(os.sep, "/")
        if event.function == function and f"/{path}".endswith("/" + event.file):
            first, last = event.instructions(code)
            event.found = event.found or bool(first)
            for offset in first:
                begins.setdefault(offset, []).append(event)
            for offset in last:
                ends.setdefault(offset, []).append(event)
    return (begins, ends) if begins else None
