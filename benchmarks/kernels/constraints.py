# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D102, PLR0917, SIM114  a specimen: the module docstring says what it is
"""An incremental solver of one-way constraints, of the kind of DeltaBlue.

Variables keep the strength with which they are determined; adding or removing a constraint changes
only what lies downstream of it. Each thread solves problems of its own.
"""

import itertools

from teams import in_threads

REQUIRED, PREFERRED, NORMAL, WEAK = range(4)  # the smaller, the stronger
LENGTH = 100


class Variable:
    """A value, and what is known of how it came about."""

    def __init__(self, value):
        self.value = value
        self.users = []
        self.source = None
        self.mark = 0
        self.strength = WEAK
        self.fixed = True

    def add(self, constraint):
        self.users.append(constraint)

    def drop(self, constraint):
        self.users.remove(constraint)
        if self.source is constraint:
            self.source = None


class Constraint:
    """What all kinds have in common."""

    def __init__(self, strength):
        self.strength = strength

    def is_input(self):
        return False

    def satisfy(self, mark, solver):
        """Enforces the constraint if it can be; gives the one that had to give way."""
        self.choose(mark)
        if not self.is_satisfied():
            if self.strength == REQUIRED:
                raise ValueError("a required constraint cannot be satisfied")
            return None
        for variable in self.inputs():
            variable.mark = mark
        output = self.output()
        loser = output.source
        if loser is not None:
            loser.unsatisfy()
        output.source = self
        if not solver.propagate(self, mark):
            raise ValueError("a cycle of constraints")
        output.mark = mark
        return loser

    def inputs_known(self, mark):
        for variable in self.inputs():
            if variable.mark != mark and not variable.fixed and variable.source is not None:
                return False
        return True


class Unary(Constraint):
    """On one variable."""

    def __init__(self, variable, strength, solver):
        Constraint.__init__(self, strength)
        self.variable = variable
        self.satisfied = False
        variable.add(self)
        solver.add(self)

    def detach(self):
        self.variable.drop(self)

    def choose(self, mark):
        weaker = self.strength < self.variable.strength
        self.satisfied = self.variable.mark != mark and weaker

    def is_satisfied(self):
        return self.satisfied

    def unsatisfy(self):
        self.satisfied = False

    def inputs(self):
        return ()

    def output(self):
        return self.variable

    def recalculate(self):
        self.variable.strength = self.strength
        self.variable.fixed = not self.is_input()
        if self.variable.fixed:
            self.execute()

    def execute(self):
        pass


class Stay(Unary):
    """The variable should keep its value."""


class Edit(Unary):
    """The variable is set from outside."""

    def is_input(self):
        return True


FORWARD, BACKWARD = 1, -1


class Binary(Constraint):
    """Between two variables; either may follow the other."""

    def __init__(self, left, right, strength, solver):
        Constraint.__init__(self, strength)
        self.left = left
        self.right = right
        self.direction = 0
        self.attach()
        solver.add(self)

    def attach(self):
        self.left.add(self)
        self.right.add(self)

    def detach(self):
        self.left.drop(self)
        self.right.drop(self)

    def choose(self, mark):
        left, right = self.left, self.right
        if left.mark == mark:
            free = right.mark != mark and self.strength < right.strength
            self.direction = FORWARD if free else 0
        elif right.mark == mark:
            self.direction = BACKWARD if self.strength < left.strength else 0
        elif left.strength > right.strength:
            self.direction = BACKWARD if self.strength < left.strength else 0
        else:
            self.direction = FORWARD if self.strength < right.strength else 0

    def is_satisfied(self):
        return self.direction != 0

    def unsatisfy(self):
        self.direction = 0

    def input(self):
        return self.left if self.direction == FORWARD else self.right

    def inputs(self):
        return (self.input(),)

    def output(self):
        return self.right if self.direction == FORWARD else self.left

    def recalculate(self):
        source, target = self.input(), self.output()
        target.strength = max(self.strength, source.strength)
        target.fixed = source.fixed
        if target.fixed:
            self.execute()


class Equal(Binary):
    """Both have the same value."""

    def execute(self):
        self.output().value = self.input().value


class Scale(Binary):
    """right = left * factor + offset."""

    def __init__(self, left, factor, offset, right, strength, solver):
        self.factor = factor
        self.offset = offset
        Binary.__init__(self, left, right, strength, solver)

    def attach(self):
        Binary.attach(self)
        self.factor.add(self)
        self.offset.add(self)

    def detach(self):
        Binary.detach(self)
        self.factor.drop(self)
        self.offset.drop(self)

    def inputs(self):
        return (self.input(), self.factor, self.offset)

    def execute(self):
        if self.direction == FORWARD:
            self.right.value = self.left.value * self.factor.value + self.offset.value
        else:
            self.left.value = (self.right.value - self.offset.value) // self.factor.value

    def recalculate(self):
        source, target = self.input(), self.output()
        target.strength = max(self.strength, source.strength)
        target.fixed = source.fixed and self.factor.fixed and self.offset.fixed
        if target.fixed:
            self.execute()


class Solver:
    """Keeps the constraints satisfied as they come and go."""

    def __init__(self):
        self.last_mark = 0

    def new_mark(self):
        self.last_mark += 1
        return self.last_mark

    def add(self, constraint):
        mark = self.new_mark()
        loser = constraint.satisfy(mark, self)
        while loser is not None:
            loser = loser.satisfy(mark, self)

    def remove(self, constraint):
        if not constraint.is_satisfied():
            constraint.detach()
            return
        output = constraint.output()
        constraint.unsatisfy()
        constraint.detach()
        output.source = None
        losers = self._cut_loose(output)
        for strength in (REQUIRED, PREFERRED, NORMAL):
            for loser in losers:
                if loser.strength == strength:
                    self.add(loser)

    def _cut_loose(self, output):
        """Forgets what lay downstream of a removed constraint; gives who could take over."""
        output.strength = WEAK
        output.fixed = True
        losers = []
        todo = [output]
        while todo:
            variable = todo.pop()
            for constraint in variable.users:
                if not constraint.is_satisfied():
                    losers.append(constraint)
            for constraint in self.users_of(variable):
                constraint.recalculate()
                todo.append(constraint.output())
        return losers

    def users_of(self, variable):
        """The satisfied constraints that read the variable."""
        source = variable.source
        return [one for one in variable.users if one is not source and one.is_satisfied()]

    def propagate(self, constraint, mark):
        todo = [constraint]
        while todo:
            current = todo.pop()
            output = current.output()
            if output.mark == mark:
                self.remove(constraint)
                return False
            current.recalculate()
            todo.extend(self.users_of(output))
        return True

    def plan_for(self, edits):
        """The order in which to execute what depends on the edited variables."""
        mark = self.new_mark()
        todo = [edit for edit in edits if edit.is_input() and edit.is_satisfied()]
        plan = []
        while todo:
            constraint = todo.pop()
            output = constraint.output()
            if output.mark != mark and constraint.inputs_known(mark):
                plan.append(constraint)
                output.mark = mark
                todo.extend(self.users_of(output))
        return plan


def set_value(solver, variable, value):
    edit = Edit(variable, PREFERRED, solver)
    plan = solver.plan_for([edit])
    for step in range(10):
        variable.value = value + step
        for constraint in plan:
            constraint.execute()
    solver.remove(edit)


def chain(length):
    """A row of equal variables, changed at its head."""
    solver = Solver()
    row = [Variable(place) for place in range(length + 1)]
    for left, right in itertools.pairwise(row):
        Equal(left, right, REQUIRED, solver)
    Stay(row[-1], NORMAL, solver)
    set_value(solver, row[0], 100)
    return sum(variable.value for variable in row)


def projection(length):
    """Points mapped by a common scale and offset, changed on every side."""
    solver = Solver()
    factor, offset = Variable(10), Variable(1000)
    pairs = []
    for place in range(length):
        source, target = Variable(place), Variable(0)
        pairs.append((source, target))
        Stay(source, NORMAL, solver)
        Scale(source, factor, offset, target, REQUIRED, solver)
    set_value(solver, pairs[0][0], 17)
    set_value(solver, pairs[-1][1], 1050)
    set_value(solver, factor, 5)
    set_value(solver, offset, 2000)
    return sum(source.value + target.value for source, target in pairs)


def solve(times):
    total = 0
    for _ in range(times):
        total += chain(LENGTH) + projection(LENGTH)
    return total


def run(size, threads=4):
    return sum(in_threads(threads, lambda place: solve(size)))
