# SPDX-License-Identifier: Apache-2.0
"""Programs by Hypothesis: small ones first, since most bugs need two threads and a call of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from hypothesis import assume, find
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from unsnarl.errors import UsageError
from unsnarl.stress.arguments import from_examples, from_hint
from unsnarl.stress.program import Call, Program
from unsnarl.stress.subject import Method, Parameter, Subject

MOST_IN_THREADS = 6  # three threads with two calls each have 90 serial orders
VALUES = 2  # of a type, in one program

Draw = Callable[[SearchStrategy[Any]], Any]


class Size(NamedTuple):
    """How large programs are at most: threads, calls of each, calls before them and after them."""

    threads: int
    calls: int
    around: int


# One for each round of the search; the last one for all later rounds.
SIZES = (Size(2, 1, 1), Size(2, 2, 1), Size(2, 2, 2), Size(3, 2, 2), Size(2, 3, 2), Size(3, 3, 2))


class Calls:
    """Which calls there can be, with strategies for their arguments."""

    def __init__(self, subject: Subject) -> None:
        self.left_out: list[str] = []
        self._methods = {one.name: one for one in subject.methods}
        self._making = subject.making
        self._make = f"{subject.name}({{}})"
        self._is_made = subject.has("make")
        for method in subject.methods:
            if method.examples is None and not all(map(_can_be_given, method.parameters)):
                self.left_out.append(method.name)
        usable = [one for name, one in self._methods.items() if name not in self.left_out]
        self._usable = [one for one in usable if one.takes not in self.left_out]
        self._check(subject)

    def _check(self, subject: Subject) -> None:
        missing = [one.name for one in subject.making if not _can_be_given(one)]
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

    def make(self, draw: Draw, pool: Pool) -> str:
        """The text that makes an object."""
        if self._is_made:
            return "setup.make()"
        rows = [pool.value(draw, one) for one in self._making]
        return self._make.format(_listed(rows))

    def some(self, draw: Draw, pool: Pool, least: int, most: int) -> tuple[Call, ...]:
        """The calls of a thread, with those that others of them need."""
        methods = draw(st.lists(st.sampled_from(self._usable), min_size=least, max_size=most))
        calls: list[Call] = []
        for method in methods:
            self._add(draw, pool, calls, method)
        return tuple(calls)

    def _add(self, draw: Draw, pool: Pool, calls: list[Call], method: Method) -> int:
        taken = None
        if method.takes:
            used = {call.takes for call in calls}
            found = [
                at for at, call in enumerate(calls) if call.name == method.takes and at not in used
            ]
            # A producer that itself takes something is a rare thing, and may be missing.
            taken = found[-1] if found else self._add(draw, pool, calls, self._methods[method.takes])
        calls.append(
            Call(method.name, self._arguments(draw, pool, method), method.is_property, taken)
        )
        return len(calls) - 1

    def _arguments(self, draw: Draw, pool: Pool, method: Method) -> tuple[tuple[str, str], ...]:
        if method.examples is not None and not method.is_property:
            row = draw(from_examples(method.name, method.examples))
            return tuple(("", text) for text in row)
        return tuple(pool.value(draw, one) for one in method.parameters)


    def simplest_make(self) -> str:
        """The simplest text that makes an object."""
        rows = [_simplest(one) for one in self._making]
        return "setup.make()" if self._is_made else self._make.format(_listed(rows))

    def simplest(self, call: Call) -> tuple[tuple[str, str], ...]:
        """The simplest arguments of a call."""
        method = self._methods[call.name]
        if method.examples is not None:
            # An example is meant as a whole: its values may belong together.
            return call.arguments
        return tuple(_simplest(one) for one in method.parameters)


class Pool:
    """The values of one program."""

    def __init__(self) -> None:
        self._values: dict[str, Sequence[str]] = {}

    def value(self, draw: Draw, parameter: Parameter) -> tuple[str, str]:
        """A value for a parameter, with the parameter's name if it must be given by that."""
        texts = from_hint(parameter.hint)
        assert texts is not None
        kind = repr(parameter.hint)
        if kind not in self._values:
            rows = st.lists(texts, min_size=1, max_size=VALUES, unique=True)
            self._values[kind] = draw(rows)
        text = draw(st.sampled_from(self._values[kind]))
        return (parameter.name if parameter.keyword else "", text)


def _listed(rows: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name}={text}" if name else text for name, text in rows)


@cache
def _simplest(parameter: Parameter) -> tuple[str, str]:
    texts = from_hint(parameter.hint)
    assert texts is not None
    return (parameter.name if parameter.keyword else "", find(texts, lambda _: True))


def _can_be_given(parameter: Parameter) -> bool:
    return from_hint(parameter.hint) is not None


def programs(calls: Calls, size: Size) -> SearchStrategy[Program]:
    """All programs of a class up to a size."""

    @st.composite
    def build(draw: DrawFn) -> Program:
        pool = Pool()
        count = draw(st.integers(2, size.threads))
        threads = tuple(calls.some(draw, pool, 1, size.calls) for _ in range(count))
        assume(sum(map(len, threads)) <= MOST_IN_THREADS)
        before = calls.some(draw, pool, 0, size.around)
        after = calls.some(draw, pool, 0, size.around)
        return Program(calls.make(draw, pool), before, threads, after)

    return build()
