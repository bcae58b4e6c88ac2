# SPDX-License-Identifier: Apache-2.0
"""CLAP proper, second half: which write each read saw, such that all threads went their ways.

z3 chooses what each read saw, so that the path conditions hold; our own solver says whether there
is an order in which they can all have seen that. If not, the reads that contradict one another are
forbidden together, and z3 chooses again. z3 never sees an order: arithmetic is what it is good at
(clauses about orders cost the prototype more than all else).

It starts from what the followed run itself saw, which has an order, and lets go of as few of these
reads as it must. Reads on which no condition depends are left out.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any, Literal

from unsnarl.reproduce.clap.encode import Encoded
from unsnarl.reproduce.clap.pairs import Pairs
from unsnarl.reproduce.clap.sightings import FIRST, Sightings, is_number, symbols_in
from unsnarl.reproduce.orders import Kind, OrderProblem, Solution, Solved, TimedOut, Unsatisfiable
from unsnarl.reproduce.orders.closure import OrderClosure
from unsnarl.reproduce.orders.smt import checked, load_z3
from unsnarl.reproduce.orders.solver import OrderSolver, solve_order

Choice = dict[int, int]  # read -> write, or FIRST
How = Literal["exactly", "strictly", "loosely"]


@dataclass
class ChoiceEffort:
    """What it took.

    Attributes:
        reads: Reads on which a condition depends.
        choices: Writes that they may have seen, all together.
        pruned: Choices that the threads' own orders and the clocks have removed beforehand.
        rounds: How often z3 chose.
        conflicts: How often there was no order for its choice.
    """

    reads: int = 0
    choices: int = 0
    pruned: int = 0
    rounds: int = 0
    conflicts: int = 0


class Chooser:
    """Solves one followed run.

    Args:
        how: What must be seen as the followed run saw it. Strictly, all that is no integer: an
            order that keeps to this does what was recorded for certain; loosely, nothing, and the
            replay has to show it. Exactly, integers on which no condition depends, too: they may
            be what a run failed of that was no branch (an index out of range).
    """

    def __init__(self, encoded: Encoded, seen: Sightings, how: How) -> None:
        self.effort = ChoiceEffort()
        self.order: OrderProblem | None = None  # the one that was solved
        self._seen = seen
        self._problem = encoded.problem
        self._cells = encoded.problem.object.tolist()
        self._closure = OrderClosure.of(encoded.problem)
        self._writes: dict[int, list[int]] = defaultdict(list)
        for event in encoded.problem.of(Kind.WRITE).tolist():
            self._writes[self._cells[event]].append(event)
        self._base = self._marked(how != "loosely")
        self._names: set[str] = set()  # of the symbols on which conditions depend
        self._reads = self._relevant() if self._closure else {}
        if how == "exactly":
            self._base = self.with_choice(
                {read: write for read, write in seen.seen.items() if read not in self._reads}
            )
        self.effort.reads = len(self._reads)
        self.effort.choices = sum(map(len, self._reads.values()))

    def solve(self, solver: OrderSolver, seconds: float) -> Solution:
        """An order, the proof that there is none, or neither in time."""
        if self._closure is None or not all(self._reads.values()):
            return Unsatisfiable(by="clocks")
        return _Loop(self, solver, seconds).run()

    def _candidates(self, read: int) -> list[int]:
        """The writes that a read can have seen, figure 8(b)."""
        assert self._closure is not None
        closure, cell = self._closure, self._cells[read]
        listed = self._writes[cell]
        writes = [w for w in listed if not closure(read, w)]
        found = [
            w
            for w in writes
            if is_number(self._seen.written.get(w))
            and not any(closure(w, other) and closure(other, read) for other in writes)
        ]
        if is_number(self._seen.firsts.get(cell)) and not any(closure(w, read) for w in writes):
            found.append(FIRST)
        self.effort.pruned += len(listed) + 1 - len(found)
        return found

    def text_of(self, read: int, write: int) -> str:
        """What a write left, or what was there first."""
        if write == FIRST:
            return self._seen.firsts[self._cells[read]]
        return self._seen.written[write]

    def _relevant(self) -> dict[int, list[int]]:
        """The reads on whose symbols conditions depend, with their candidates."""
        by_symbol = {name: read for read, name in self._seen.symbols.items()}
        waiting = symbols_in(self._seen.conditions)
        done = self._names
        found: dict[int, list[int]] = {}
        while waiting:
            name = waiting.pop()
            done.add(name)
            texts = [self._seen.facts[name]] if name in self._seen.facts else []
            if name in by_symbol:
                read = by_symbol[name]
                found[read] = self._candidates(read)
                texts += [self.text_of(read, write) for write in found[read]]
            waiting |= symbols_in(texts) - done
        return found

    def formula(self) -> str:
        """Conditions, facts and what each choice means, as SMT-LIB text."""
        facts = [(name, text) for name, text in self._seen.facts.items() if name in self._names]
        asserted = [*self._seen.conditions, *(f"(= {name} {text})" for name, text in facts)]
        declared = [f"(declare-const {name} Int)" for name in sorted(self._names)]
        for read, writes in self._reads.items():
            symbol = self._seen.symbols[read]
            for write in writes:
                name, text = choice_name(read, write), self.text_of(read, write)
                declared.append(f"(declare-const {name} Bool)")
                asserted.append(f"(=> {name} (= {symbol} {text}))")
            any_of = " ".join(choice_name(read, write) for write in writes)
            asserted.append(f"(or {any_of} false)")
        return "\n".join([*declared, *(f"(assert {text})" for text in asserted)])

    def _marked(self, strict: bool) -> OrderProblem:
        """The problem with numbers for what was no integer; nothing is known of the integers."""
        problem, seen = self._problem, self._seen
        value, logged = problem.value.copy(), problem.logged.copy()
        symbolic = {self._cells[read] for read in seen.symbols}
        numbers = _MarkNumbers()
        initial = dict(problem.initial)
        for event, mark in seen.written.items():
            cell = self._cells[event]
            is_one_of_many = cell in symbolic
            # A value of its own for each write, so that the value of a read names the write it saw.
            value[event] = event + 1 if is_one_of_many else numbers[mark]
        for cell, first in seen.firsts.items():
            initial[cell] = 0 if cell in symbolic else numbers[first]
        for event, mark in seen.marks.items():
            cell = self._cells[event]
            value[event] = numbers[mark]
            logged[event] = strict and cell not in symbolic and self._is_left(cell, mark)
        logged[list(seen.symbols)] = False
        return replace(problem, value=value, logged=logged, initial=initial)

    def _is_left(self, cell: int, mark: str) -> bool:
        """Whether anything that is known has left this in the cell."""
        left = {self._seen.written.get(write) for write in self._writes[cell]}
        return mark in left | {self._seen.firsts.get(cell)}

    def with_choice(self, choice: Choice) -> OrderProblem:
        """The problem in which these reads saw these writes."""
        value, logged = self._base.value.copy(), self._base.logged.copy()
        for read, write in choice.items():
            value[read] = 0 if write == FIRST else write + 1
            logged[read] = True
        return replace(self._base, value=value, logged=logged)

    @property
    def reads(self) -> dict[int, list[int]]:
        """The reads that matter, with the writes that they may have seen."""
        return self._reads

    def pairs(self) -> Pairs:
        """What excludes each other."""
        assert self._closure is not None
        writes = {read: self._writes[self._cells[read]] for read in self._reads}
        return Pairs(self._closure, self._reads, writes)

    @property
    def seen(self) -> dict[int, int]:
        """What the followed run saw."""
        return self._seen.seen


class _MarkNumbers(dict[str, int]):
    """A number for each mark, from 1 on."""

    def __missing__(self, mark: str) -> int:
        self[mark] = number = len(self) + 1
        return number


def choice_name(read: int, write: int) -> str:
    """The name of "this read saw this write"."""
    return f"f{read}_{'first' if write == FIRST else write}"


class _Loop:
    """z3 chooses, our solver orders, until both agree."""

    def __init__(self, chooser: Chooser, solver: OrderSolver, seconds: float) -> None:
        self._chooser = chooser
        self._orders = solver
        self._given = seconds
        self._end = time.monotonic() + seconds
        self._z3 = load_z3()
        self._solver = self._z3.Solver()
        self._solver.from_string(chooser.formula())
        # 318 accesses: 5 s with clauses learned one at a time, 0.4 s with these (docs/adr/0023).
        self._pairs = chooser.pairs()
        self._paired: set[int] = set()
        # A read with one choice needs no assumption: the formula demands it anyway.
        self._kept = {
            read: chooser.seen[read]
            for read, writes in chooser.reads.items()
            if chooser.seen[read] in writes and len(writes) > 1
        }

    @property
    def _left(self) -> float:
        return max(self._end - time.monotonic(), 0.001)

    def _bool(self, read: int, write: int) -> Any:
        return self._z3.Bool(choice_name(read, write))

    def run(self) -> Solution:
        """The solution."""
        while time.monotonic() < self._end:
            self._chooser.effort.rounds += 1
            solution = self._round()
            if solution is not None:
                return solution
        return TimedOut(self._given)

    def _round(self) -> Solution | None:
        kept = {str(name): read for read, name in self._assumed()}
        self._solver.set("timeout", int(1000 * self._left) + 1)
        # What is kept is assumed, not asserted: it can be let go of without a new solver.
        status = checked(self._solver, [name for _, name in self._assumed()])
        if status == self._z3.unsat:
            core = [kept[str(name)] for name in self._solver.unsat_core()]
            if not core:
                return Unsatisfiable(by="z3")
            self._let_go(max(core))
            return None
        if status != self._z3.sat:
            return TimedOut(self._given)
        return self._order(self._choice())

    def _assumed(self) -> list[tuple[int, Any]]:
        return [(read, self._bool(read, write)) for read, write in self._kept.items()]

    def _let_go(self, read: int) -> None:
        """The read may see any write; z3 is given beforehand what that excludes.

        As text, which z3 reads faster than its Python functions can say it; and of reads that are
        still kept only as far as they are.
        """
        self._kept.pop(read, None)
        if read in self._paired:
            return
        self._paired.add(read)
        excluded: dict[str, list[str]] = defaultdict(list)
        for one, other in self._pairs.against(read):
            if self._kept.get(other[0], other[1]) == other[1]:
                excluded[choice_name(*one)].append(choice_name(*other))
        lines = [
            f"(assert (=> {name} (not (or {' '.join(found)} false))))"
            for name, found in excluded.items()
        ]
        self._solver.from_string("\n".join(lines))

    def _choice(self) -> Choice:
        model = self._solver.model()
        true = {one.name() for one in model.decls() if self._z3.is_true(model[one])}
        found = {}
        for read, writes in self._chooser.reads.items():
            able = [write for write in writes if choice_name(read, write) in true]
            found[read] = self._kept.get(read, able[0])
        return found

    def _order(self, choice: Choice) -> Solution | None:
        solution = self._feasible(choice)
        if not isinstance(solution, Unsatisfiable):
            self._chooser.order = self._chooser.with_choice(choice)
            return solution
        self._chooser.effort.conflicts += 1
        # A clause of all reads excludes one choice only; the fewer it names, the more.
        core = self._contradiction(choice)
        if core is None:
            return TimedOut(self._given)
        if not core:
            return solution
        names = [self._z3.Not(self._bool(read, write)) for read, write in core.items()]
        self._solver.add(self._z3.Or(names))
        for read in core:
            self._let_go(read)
        return None

    def _feasible(self, choice: Choice) -> Solution:
        return solve_order(self._chooser.with_choice(choice), self._orders, self._left)

    def _contradiction(self, choice: Choice) -> Choice | None:
        """As few of the reads as cannot all be so; None if the time is over."""
        # No order even without any choice: then no clause can help.
        if isinstance(self._feasible({}), Unsatisfiable):
            return {}
        reads = list(choice)
        core: list[int] = []
        while True:
            # The shortest beginning of the reads that contradicts the core with its last one.
            low, high = 0, len(reads)
            while low < high:
                middle = (low + high) // 2
                tried = {read: choice[read] for read in [*core, *reads[:middle]]}
                solution = self._feasible(tried)
                if isinstance(solution, TimedOut):
                    return None
                low, high = (middle + 1, high) if isinstance(solution, Solved) else (low, middle)
            if not high:
                return {read: choice[read] for read in core}
            core.append(reads[high - 1])
            reads = reads[: high - 1]
