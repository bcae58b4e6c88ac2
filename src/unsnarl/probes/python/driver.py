# SPDX-License-Identifier: Apache-2.0
"""Makes the calls of one program of `unsnarl stress`, and notes what came of them.

A program comes with the plan of its run: how the object is made, the calls before the threads,
those of each thread, those after them. With an order, the calls are made one after the other, each
by its own thread: a call begins when the one before it has ended, or when no thread can go on
because that one waits. The driver has no probes, so it adds neither cells nor switch points.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from unsnarl import _core
from unsnarl.probes.python import child
from unsnarl.probes.shown import Frozen, Numbers, frozen, is_shown

NAMES = ("first", "second", "third")
RAISES = "raises "
NOT_MADE = "not made"
CHECK = "check"
SETUP = "setup"
# What a setup file may say of an object.
STATE = f"{SETUP}.state"


class Driver:
    """Has the class and the setup file; importing them is done once, before runs are forked."""

    def __init__(self, described: str) -> None:
        subject = json.loads(described)
        sys.path[:0] = subject["paths"]
        module = importlib.import_module(subject["module"])
        self._names: dict[str, Any] = {subject["name"]: getattr(module, subject["name"])}
        if subject["setup"]:
            self._names[SETUP] = importlib.import_module(subject["setup"])

    def drive(self) -> None:
        """Run the program of this run's plan."""
        outcome = _Program(json.loads(child.node()), self._names).run()
        _core.note(json.dumps({"outcome": outcome}))


class _Turns:
    """Lets calls begin in a given order."""

    def __init__(self, order: Sequence[int], patience: float) -> None:
        self._condition = threading.Condition()
        self._positions: dict[tuple[int, int], int] = {}
        self._patience = patience
        self._ended: set[int] = set()
        self._waiting: set[int] = set()
        self.stood_still = False
        counts: dict[int, int] = {}
        for position, thread in enumerate(order):
            index = counts.get(thread, 0)
            counts[thread] = index + 1
            self._positions[thread, index] = position

    def begin(self, thread: int, index: int) -> None:
        """Wait for the turn of a thread's call: all before it have ended, or wait for something."""
        own = self._positions[thread, index]
        with self._condition:
            self._waiting.add(own)
            while not self._ended.issuperset(range(own)):
                # Longer than the sleeps that may end early: it ends when nobody else can run.
                still = not self._condition.wait(self._patience)
                if still and own == min(self._waiting):
                    self.stood_still = True
                    break
            self._waiting.discard(own)

    def end(self, thread: int, index: int) -> None:
        """The call has ended."""
        with self._condition:
            self._ended.add(self._positions[thread, index])
            self._condition.notify_all()


class _Free:
    """Calls begin whenever their thread comes to them."""

    stood_still = False

    def begin(self, thread: int, index: int) -> None:
        """At once."""

    def end(self, thread: int, index: int) -> None:
        """Nobody waits for it."""


class _Program:
    """One execution of a program."""

    def __init__(self, program: dict[str, Any], names: dict[str, Any]) -> None:
        self._program = program
        self._names = names
        self._seen: dict[str, Frozen] = {}
        self._ended: list[int] = []
        self._object: Any = None
        order = program.get("order")
        self._turns: _Turns | _Free = (
            _Free() if order is None else _Turns(order, program["patience"])
        )

    def run(self) -> dict[str, Any]:
        """What was seen, by the keys of the observations, and in which order calls ended."""
        junk = _shift(self._program.get("shift", 0))
        try:
            self._object = eval(self._program["make"], dict(self._names))
        except Exception as error:
            return {"seen": {"make": _raised(error)}, "ended": [], "stood": False}
        self._calls("before", self._program["before"])
        self._threads()
        self._calls("after", self._program["after"])
        self._observe()
        del junk
        numbers = Numbers()
        keys = sorted(self._seen)
        seen = {key: numbers.text(self._seen[key]) for key in keys}
        return {"seen": seen, "ended": self._ended, "stood": self._turns.stood_still}

    def _threads(self) -> None:
        lists = self._program["threads"]
        threads = [
            threading.Thread(target=self._work, args=(number, calls), name=NAMES[number])
            for number, calls in enumerate(lists)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _work(self, number: int, calls: Sequence[dict[str, Any]]) -> None:
        def begin(index: int) -> None:
            self._turns.begin(number, index)

        def end(index: int) -> None:
            self._ended.append(number)
            self._turns.end(number, index)

        self._calls(NAMES[number], calls, begin, end)

    def _calls(
        self,
        part: str,
        calls: Sequence[dict[str, Any]],
        begin: Callable[[int], None] = lambda index: None,
        end: Callable[[int], None] = lambda index: None,
    ) -> None:
        results: dict[int, Any] = {}
        for index, call in enumerate(calls):
            begin(index)
            try:
                self._seen[f"{part} {index}"] = self._call(call, index, results)
            finally:
                end(index)

    def _call(self, call: dict[str, Any], index: int, results: dict[int, Any]) -> Frozen:
        source = call["takes"]
        if source is not None and source not in results:
            return NOT_MADE
        try:
            value = self._made(call, () if source is None else (results[source],))
        except BaseException as error:
            return _raised(error)
        results[index] = value
        return "itself" if value is self._object else frozen(value)

    def _made(self, call: dict[str, Any], first: tuple[Any, ...]) -> Any:
        if call["is_property"]:
            return getattr(self._object, call["name"])
        texts = call["arguments"]
        values = [eval(text, dict(self._names)) for name, text in texts if not name]
        named = {name: eval(text, dict(self._names)) for name, text in texts if name}
        return getattr(self._object, call["name"])(*first, *values, **named)

    def _observe(self) -> None:
        """The state at the end, as far as it can be seen, and whether the invariant holds."""
        state = getattr(self._names.get(SETUP), "state", None)
        expressions = (f"{STATE}({{}})",) if state else visible(self._object)
        for expression in expressions:
            names = {**self._names, "_": self._object}
            try:
                value = frozen(eval(expression.format("_"), names))
                # A lock, or another object without a text: which one it is says nothing.
                if is_shown(value):
                    self._seen[f"state {expression}"] = value
            except Exception as error:
                self._seen[f"state {expression}"] = _raised(error)
        check = getattr(self._names.get(SETUP), "check", None)
        if check is not None:
            self._seen[CHECK] = _checked(check, self._object)


def visible(subject: object) -> list[str]:
    """Expressions that show the state of an object: its length, its elements, its attributes."""
    kind = type(subject)
    found = []
    if hasattr(kind, "__len__"):
        found.append("len({})")
        if hasattr(kind, "keys") and hasattr(kind, "__getitem__"):
            found.append("dict({})")
        elif hasattr(kind, "__iter__"):
            found.append("list({})")
    names = sorted(getattr(subject, "__dict__", {}))
    return found + [f"{{}}.{name}" for name in names if not name.startswith("_")]


def _checked(check: Callable[[Any], object], subject: object) -> str:
    try:
        return "is False" if check(subject) is False else "holds"
    except Exception as error:
        return _raised(error)


def _raised(error: BaseException) -> str:
    return RAISES + type(error).__name__


def _shift(amount: int) -> list[bytearray]:
    """Other addresses and another time of day: nothing that is compared may depend on them."""
    if amount:
        # Not time.sleep: in code without probes it takes its time.
        threading.Event().wait(amount * 1.7)
    return [bytearray(1 << size) for size in range(5, 5 + 3 * amount) for _ in range(7)]
