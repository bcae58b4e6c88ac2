# SPDX-License-Identifier: Apache-2.0
"""A program: the calls that threads make on one object, and what came of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from unsnarl.probes.python.driver import CHECK, NAMES

Order = tuple[int, ...]


class MethodCall(msgspec.Struct, frozen=True):
    """One call.

    Attributes:
        arguments: Pairs of a name, "" if given by position, and a text of source code.
        takes: The position, in its thread, of the call whose result is the first argument.
    """

    name: str
    arguments: tuple[tuple[str, str], ...] = ()
    is_property: bool = False
    takes: int | None = None

    def text(self, subject: str, first: str = "") -> str:
        """As it is written: `cache.put('a', 1)`; `first` is the argument that it takes."""
        if self.is_property:
            return f"{subject}.{self.name}"
        rows = [f"{name}={text}" if name else text for name, text in self.arguments]
        return f"{subject}.{self.name}({', '.join([first, *rows] if first else rows)})"


class CallProgram(msgspec.Struct, frozen=True):
    """Calls of two or three threads, with those before and after them."""

    make: str
    before: tuple[MethodCall, ...]
    threads: tuple[tuple[MethodCall, ...], ...]
    after: tuple[MethodCall, ...]

    def parts(self) -> Iterator[tuple[str, tuple[MethodCall, ...]]]:
        """The lists of calls with their names, in the order in which a reader meets them."""
        yield "before", self.before
        yield from zip(NAMES, self.threads, strict=False)
        yield "after", self.after

    def calls(self) -> Iterator[tuple[str, MethodCall]]:
        """All calls, by the keys of what is seen of them."""
        for part, calls in self.parts():
            for index, call in enumerate(calls):
                yield f"{part} {index}", call

    def message(self, **fields: Any) -> str:
        """As the driver reads it."""
        return msgspec.json.encode({**msgspec.to_builtins(self), **fields}).decode()

    def orders(self) -> list[Order]:
        """All serial orders of the threads' calls: each thread's own order is kept."""
        return list(_merged([len(calls) for calls in self.threads]))


def _merged(left: Sequence[int]) -> Iterator[Order]:
    if not any(left):
        yield ()
    for thread, count in enumerate(left):
        if count:
            rest = [number - (at == thread) for at, number in enumerate(left)]
            for order in _merged(rest):
                yield (thread, *order)


class ProgramOutcome(msgspec.Struct, frozen=True):
    """What came of one execution of a program.

    Attributes:
        seen: By the key of a call or of a part of the state, what it gave, as a text.
        ended: The threads in the order in which their calls ended.
        stood: In a serial order: a call waited, and the next one began meanwhile.
        hangs: No thread could go on, or the time was over.
        timed_out: ... it was the latter.
        died: How the process failed otherwise.
    """

    seen: Mapping[str, str] = {}
    ended: Order = ()
    stood: bool = False
    hangs: bool = False
    timed_out: bool = False
    died: str = ""


Key = tuple[object, ...]


def key_of(outcome: ProgramOutcome, program: CallProgram, masked: frozenset[str]) -> Key:
    """What is compared: all that was seen, but for what differs without any reason."""
    if outcome.hangs:
        return ("hangs",)
    hidden = {key for key, call in program.calls() if call.name in masked}
    seen = {
        key: text for key, text in outcome.seen.items() if key not in hidden and key not in masked
    }
    return (outcome.died, *sorted(seen.items()))


def differences(one: ProgramOutcome, other: ProgramOutcome, program: CallProgram) -> frozenset[str]:
    """The methods and parts of the state of which two executions show different things."""
    if one.hangs and other.hangs:
        return frozenset()
    if one.hangs or other.hangs or one.died != other.died:
        return frozenset(call.name for _, call in program.calls())
    keys = {key for key in {*one.seen, *other.seen} if one.seen.get(key) != other.seen.get(key)}
    names = {key: call.name for key, call in program.calls()}
    return frozenset(names.get(key, key) for key in keys - {CHECK})
