# SPDX-License-Identifier: Apache-2.0
"""Programs at random: which calls the threads make, with which of the arguments."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from unsnarl.errors import UsageError
from unsnarl.stress.arguments import Texts, from_examples, from_hint
from unsnarl.stress.program import CallProgram, MethodCall
from unsnarl.stress.subject import Method, Parameter, Subject

MOST_IN_THREADS = 6  # three threads with two calls each have 90 serial orders
ONE_VALUE = 0.4  # how often a program has only one value of a type
CHANGES_TO_READS = 3  # how often methods are called that change something
Rows = tuple[tuple[str, str], ...]


class Size(NamedTuple):
    """How large programs are at most: threads, calls of each, calls before and after them."""

    threads: int
    calls: int
    around: int


# Many bugs need one call of each of two threads, and are found at once. Others need a certain state
# and certain arguments, which are more likely to be in a program with many calls.
FIRST, FIRST_PROGRAMS = Size(2, 1, 1), 10
LATER = (Size(2, 2, 2), Size(2, 1, 2), Size(2, 3, 3), Size(2, 1, 2), Size(3, 2, 2))


def size_of(number: int) -> Size:
    """The size of a program, by its number."""
    return FIRST if number < FIRST_PROGRAMS else LATER[number % len(LATER)]


class DrawnCalls:
    """Which calls there can be, with the arguments that are known for them.

    Attributes:
        left_out: Methods for which none are.
    """

    def __init__(self, subject: Subject) -> None:
        self._methods = {one.name: one for one in subject.methods}
        self._making = subject.making
        self._make = "setup.make()" if subject.has("make") else f"{subject.name}({{}})"
        self.left_out = [one.name for one in subject.methods if not _can_be_called(one)]
        usable = [one for name, one in self._methods.items() if name not in self.left_out]
        self._usable = [one for one in usable if one.takes not in self.left_out]
        self._check(subject)
        changing = [one for one in self._usable if not one.reads_only]
        self._before = changing or self._usable
        self._inside = changing * (CHANGES_TO_READS - 1) + self._usable

    def _check(self, subject: Subject) -> None:
        missing = [one.name for one in subject.making if not from_hint(one.hint)]
        if missing:
            raise UsageError(
                "stress-arguments",
                f"nothing is known to make {subject.name} with: {', '.join(missing)}",
                "write a setup file with a function make() and name it with --setup",
            )
        if not self._usable:
            raise UsageError(
                "stress-arguments",
                f"nothing is known to call {', '.join(self.left_out)} with",
                "give examples in a setup file: calls = {'put': [('a', 1)]}",
            )

    def program(self, draw: random.Random, size: Size) -> CallProgram:
        """A program of up to a size."""
        pool = _Pool(draw)
        count = draw.randint(2, size.threads)
        most = min(size.calls, MOST_IN_THREADS // count)
        make = self._make.format(_listed([_small(draw, one) for one in self._making]))
        before = self._some(pool, self._before, draw.randint(0, size.around))
        threads = [self._some(pool, self._inside, draw.randint(1, most)) for _ in range(count)]
        after = self._some(pool, self._usable, draw.randint(0, size.around))
        # With what its calls need, a thread may have more of them than were drawn.
        return CallProgram(
            make, before, tuple(one[:most] if most > 1 else one for one in threads), after
        )

    def _some(self, pool: _Pool, possible: Sequence[Method], count: int) -> tuple[MethodCall, ...]:
        calls: list[MethodCall] = []
        for _ in range(count):
            self._add(pool, calls, pool.draw.choice(possible))
        return tuple(calls)

    def _add(self, pool: _Pool, calls: list[MethodCall], method: Method) -> int:
        """Add a call, before it the one whose result it takes if there is none."""
        taken = None
        if method.takes:
            used = {call.takes for call in calls}
            free = [at for at, one in enumerate(calls) if one.name == method.takes]
            free = [at for at in free if at not in used]
            taken = free[-1] if free else self._add(pool, calls, self._methods[method.takes])
        calls.append(MethodCall(method.name, _arguments(pool, method), method.is_property, taken))
        return len(calls) - 1

    def simplest_make(self) -> str:
        """The simplest text that makes an object."""
        return self._make.format(_listed([_simplest(one) for one in self._making]))

    def simplest(self, call: MethodCall) -> Rows:
        """The simplest arguments of a call."""
        method = self._methods[call.name]
        if method.examples is not None:
            # An example is meant as a whole: its values may belong together.
            return call.arguments
        return tuple(_simplest(one) for one in method.parameters)


class _Pool:
    """The values of one program: one or two of each type."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self._values: dict[Texts, Sequence[str]] = {}

    def value(self, parameter: Parameter) -> tuple[str, str]:
        """A value for a parameter, with the parameter's name if it must be given by that."""
        texts = from_hint(parameter.hint)
        if texts not in self._values:
            count = 1 if self.draw.random() < ONE_VALUE else 2
            self._values[texts] = self.draw.sample(texts, min(count, len(texts)))
        return (_keyword(parameter), self.draw.choice(self._values[texts]))


def _arguments(pool: _Pool, method: Method) -> Rows:
    if method.examples is not None and not method.is_property:
        row = pool.draw.choice(from_examples(method.name, method.examples))
        return tuple(("", text) for text in row)
    return tuple(pool.value(one) for one in method.parameters)


def _can_be_called(method: Method) -> bool:
    return method.examples is not None or all(from_hint(one.hint) for one in method.parameters)


def _small(draw: random.Random, parameter: Parameter) -> tuple[str, str]:
    """One of the two simplest values: sizes and limits show their bugs when they are small."""
    return (_keyword(parameter), draw.choice(from_hint(parameter.hint)[:2]))


def _simplest(parameter: Parameter) -> tuple[str, str]:
    return (_keyword(parameter), from_hint(parameter.hint)[0])


def _keyword(parameter: Parameter) -> str:
    return parameter.name if parameter.keyword else ""


def _listed(rows: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name}={text}" if name else text for name, text in rows)
