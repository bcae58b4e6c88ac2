# SPDX-License-Identifier: Apache-2.0
"""The paper's way: an integer for each event's position in the order, solved by z3.

CLAP's encoding in difference logic (reads-from choices, exclusion of locks), written as SMT-LIB
text, with the clocks' two reductions of ReCBuLC's figure 8: reads-from choices that cannot be are
left out (8b), and positions are restricted to a range (8c). Our own solver is measured against it;
in tests it is the oracle.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from unsnarl.errors import ToolError
from unsnarl.reproduce.orders.closure import OrderClosure
from unsnarl.reproduce.orders.problem import Kind, OrderProblem, sections
from unsnarl.reproduce.orders.solution import Solution, Solved, TimedOut, Unsatisfiable


class SmtSolver:
    """z3 on the encoding; `bounds` are figure 8(c)'s ranges of positions.

    `seconds` has the processor time of the last problem: text written, read, solved.
    """

    name = "z3"

    def __init__(self, bounds: bool = True) -> None:
        self.bounds = bounds
        self.seconds: dict[str, float] = {}

    def solve(self, problem: OrderProblem, seconds: float) -> Solution:
        """z3's solution; writing and reading the text counts, too."""
        deadline = time.monotonic() + seconds
        self.seconds = {}
        try:
            text = self._timed("write", lambda: encode(problem, self.bounds, deadline))
        except TimeoutError:
            return TimedOut(seconds)
        if text is None:
            return Unsatisfiable(by="encoding")
        return self.solve_text(problem, text, deadline) or TimedOut(seconds)

    def solve_text(self, problem: OrderProblem, text: str, deadline: float) -> Solution | None:
        """The solution of an encoding; None if the time is over first."""
        z3 = load_z3()
        solver = z3.SolverFor("QF_IDL")
        self._timed("read", lambda: solver.from_string(text))
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        solver.set("timeout", max(1, int(1000 * left)))
        status = self._timed("solve", lambda: checked(solver))
        if status == z3.unsat:
            return Unsatisfiable(by="z3")
        return Solved(_order(problem, solver.model()), by="z3") if status == z3.sat else None

    def _timed(self, what: str, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        try:
            return work()
        finally:
            self.seconds[what] = time.process_time() - start


def load_z3() -> Any:
    """The solver's module, or a message where it is not installed."""
    try:
        import z3  # noqa: PLC0415  # large, and only this solver needs it
    except ImportError as missing:
        raise ToolError(
            "solver-missing",
            "the solver z3 is not installed in this environment",
            "install it with: pip install 'unsnarl[solve]', or use unsnarl's own solver",
        ) from missing
    return z3


def checked(solver: Any, assumptions: Sequence[Any] = ()) -> Any:
    """What z3 says; Ctrl-C, which it keeps to itself, is Ctrl-C."""
    status = solver.check(*assumptions)
    if str(status) == "unknown" and "interrupted" in solver.reason_unknown():
        raise KeyboardInterrupt
    return status


def _order(problem: OrderProblem, model: Any) -> Any:
    positions = np.zeros(problem.size, np.int64)
    for declared in model.decls():
        if declared.name().startswith("e"):
            positions[int(declared.name()[1:])] = model[declared].as_long()
    # Events at one position do not depend on one another; a thread's are never at one.
    return np.lexsort((np.arange(problem.size), positions))


def encode(problem: OrderProblem, bounds: bool = True, deadline: float = math.inf) -> str | None:
    """The problem as SMT-LIB text; None if a read has no choice left, or orders go in circles.

    Raises:
        TimeoutError: Not even the text was ready in time: without clocks it grows with the cube.
    """
    closure = OrderClosure.of(problem)
    if closure is None:
        return None
    lines = [f"(declare-const e{event} Int)" for event in range(problem.size)]
    lines += [_asserted(_before(a, b)) for a, b in closure.orders()]
    if bounds and len(closure.sources):
        lines += _ranges(closure)
    reads = _Reads(problem, closure, deadline)
    lines += reads.lines()
    if reads.hopeless:
        return None
    lines += _exclusions(problem, closure)
    return "\n".join(lines)


def _before(a: int, b: int) -> str:
    return f"(< e{a} e{b})"


def _asserted(formula: str) -> str:
    return f"(assert {formula})"


def _ranges(closure: OrderClosure) -> list[str]:
    """Figure 8(c): an event has as many positions below it as events known to be before it."""
    low, high = closure.before.sum(axis=1) + 1, len(closure.before) - closure.after.sum(axis=1)
    return [
        f"(assert (and (<= {a} e{event}) (<= e{event} {b})))"
        for event, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True))
    ]


class _Reads:
    """The reads-from choices, figure 8(b)."""

    def __init__(self, problem: OrderProblem, closure: OrderClosure, deadline: float) -> None:
        self.problem, self.closure, self.deadline = problem, closure, deadline
        self.objects, self.values = problem.object.tolist(), problem.value.tolist()
        self.writes: dict[int, list[int]] = defaultdict(list)
        for event in problem.of(Kind.WRITE).tolist():
            self.writes[self.objects[event]].append(event)
        self.firsts: dict[int, set[int]] = defaultdict(set)  # free first values, by cell
        self.hopeless = False

    def lines(self) -> list[str]:
        """Declarations and assertions."""
        asserted = []
        for read in self.problem.of(Kind.READ).tolist():
            # A limit of 30 s was exceeded by 50 s before the encoding looked at it (docs/adr/0020).
            if time.monotonic() > self.deadline:
                raise TimeoutError
            if self.problem.logged[read]:
                choices = list(self._choices(read))
                self.hopeless |= not choices
                asserted.append(_asserted(f"(or {' '.join(choices)} false)"))
        return [*self._first_values(), *asserted]

    def _first_values(self) -> Iterator[str]:
        """A free first value is one value."""
        for cell, values in self.firsts.items():
            names = [f"i{cell}_{value}" for value in sorted(values)]
            yield from (f"(declare-const {name} Bool)" for name in names)
            for i, one in enumerate(names):
                yield from (_asserted(f"(not (and {one} {two}))") for two in names[:i])

    def _choices(self, read: int) -> Iterator[str]:
        cell, value = self.objects[read], self.values[read]
        writes = [w for w in self.writes[cell] if not self.closure(read, w)]
        for write in writes:
            if self.values[write] == value:
                yield from self._from(read, write, writes)
        first = self.problem.initial.get(cell, value)
        if first == value and not any(self.closure(w, read) for w in writes):
            parts = [_before(read, w) for w in writes]
            if cell not in self.problem.initial:
                self.firsts[cell].add(value)
                parts.append(f"i{cell}_{value}")
            yield f"(and {' '.join(parts)} true)"

    def _from(self, read: int, write: int, writes: list[int]) -> Iterator[str]:
        # The paper's reading: no other write between, whatever its value. The looser one of our own
        # solver made z3 no faster (docs/adr/0020).
        parts = [_before(write, read)]
        for other in writes:
            if other == write or self.closure(other, write):
                continue
            follows, precedes = self.closure(write, other), self.closure(other, read)
            if follows and precedes:
                return
            either = [] if follows else [_before(other, write)]
            either += [] if precedes else [_before(read, other)]
            parts.append(either[0] if len(either) == 1 else f"(or {' '.join(either)})")
        yield f"(and {' '.join(parts)})"


def _exclusions(problem: OrderProblem, closure: OrderClosure) -> Iterator[str]:
    by_lock: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for lock, thread, acquire, release in zip(
        *map(np.ndarray.tolist, sections(problem)), strict=True
    ):
        by_lock[lock].append((thread, acquire, release))
    for listed in by_lock.values():
        for i, one in enumerate(listed):
            yield from (_exclusion(closure, one, two) for two in listed[:i] if one[0] != two[0])


def _exclusion(closure: OrderClosure, one: tuple[int, int, int], two: tuple[int, int, int]) -> str:
    """One of two critical sections ends before the other begins; a lock kept is the last."""
    (_, acquire, release), (_, acquire2, release2) = one, two
    first = "false" if release < 0 else _before(release, acquire2)
    second = "false" if release2 < 0 else _before(release2, acquire)
    if release2 >= 0 and closure(acquire, release2):
        return _asserted(first)
    if release >= 0 and closure(acquire2, release):
        return _asserted(second)
    return _asserted(f"(or {first} {second})")
