# SPDX-License-Identifier: Apache-2.0
"""A conflict: the accesses that make a bug, and what the program did with what it saw there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from msgspec.structs import replace

from unsnarl.model.report import FailureReport, FindingPoint
from unsnarl.model.run import is_iterated
from unsnarl.reports import flow
from unsnarl.reports.patterns import (
    CALL,
    FAIL,
    closes,
    conflicts,
    is_data,
    mode,
    overlaps,
    sets,
    whole,
)
from unsnarl.reports.program_text import ProgramText, called_lines, joint
from unsnarl.reports.steps import UNSET

# What a look-up gives where there is nothing yet.
ABSENT = ("None", UNSET, "<no file>", "NULL", "nullptr")
NOTHING = (*ABSENT, "False", "0", "[]", "{}", "()", "''", '""', "set()")
# Nobody writes that for its own sake: what belongs there comes later.
NO_BYTES = "<file of 0 bytes>"
# A container without anything in it: `<OrderedDict of 0>`.
EMPTY = re.compile(r"<(?!folder|file)[\w.]+ of 0>")
# What is not there: a key, an attribute, an index, a file, or a method of None.
MISSING = re.compile(
    r"KeyError|AttributeError|IndexError|FileNotFoundError|NameError|UnboundLocalError|ValueError"
    r"|StopIteration|'NoneType'"
)
TAKES_OUT = (
    *("pop", "popitem", "popleft", "remove", "discard", "clear"),
    *("unlink", "rename", "rmdir", "rmtree"),  # of files and folders
)
# Whatever is there stays there: nobody's write is lost by it.
ADDS = ("append", "appendleft", "add", "insert", "extend", "mkdir", "makedirs")
QUEUE_TAKES_OUT = (*TAKES_OUT, "get", "get_nowait")  # of a dictionary it only looks
ANNOUNCING = (".task_done()", ".set()", ".notify()", ".notify_all()", ".set_result()")
WAITING = (".join()", ".wait()", ".wait_for()", ".get()", ".put()", ".acquire()", ".result()")
SETS_NOTHING = re.compile(r"=\s*(None|NULL|nullptr);?$")


@dataclass(frozen=True)
class ShownConflict:
    """One thread's first and last access, and those of others that came in between.

    Or two accesses alone, one of each thread. `span` says how far apart they are shown; `overlaps`
    that the other thread was in the middle of something as well.
    """

    points: tuple[FindingPoint, ...]
    failure: FailureReport
    code: ProgramText
    span: int = 1
    overlaps: bool = False
    elements: tuple[str, ...] = ()
    fails: tuple[FindingPoint, ...] = field(default=(), repr=False)
    iterated: frozenset[str] = frozenset()

    @property
    def first(self) -> FindingPoint:
        """Where the conflict begins."""
        return self.points[0]

    @property
    def last(self) -> FindingPoint:
        """Where the conflict ends: in the same thread, unless there are only two accesses."""
        return self.points[-1]

    @property
    def others(self) -> list[FindingPoint]:
        """Those of the thread that came in between."""
        return [point for point in self.points if point.thread != self.first.thread]

    @property
    def variables(self) -> set[str]:
        """What the accesses touch."""
        return {point.variable for point in self.points}

    @property
    def modes(self) -> str:
        """`RWW`; who only asks an object to decide by its answer reads it."""
        return "".join("R" if self.looks(point) else "W" for point in self.points)

    @property
    def is_pair(self) -> bool:
        """Whether it is two accesses alone, of two threads."""
        return self.first.thread != self.last.thread

    @property
    def is_turned(self) -> bool:
        """Further up in the same function means another call of it, or another round of a loop."""
        same = self.first.function == self.last.function
        return same and self.first.line > self.last.line and len(self.variables) > 1

    @property
    def leads_to_failure(self) -> bool:
        """Whether a thread failed, or raised what was swallowed, at its last access."""
        raised = {(one.thread, one.raised.file, one.raised.line) for one in self.failure.chain}
        failed = {(one.thread, one.file, one.line) for one in self.fails}
        return (self.last.thread, self.last.file, self.last.line) in raised | failed

    def looks(self, point: FindingPoint) -> bool:
        """Whether it changes nothing: it reads, or asks to decide by the answer."""
        return mode(point) == "R" or (point.op == CALL and self.code.asks(point))

    @cached_property
    def decides(self) -> bool:
        """Whether the thread came to its last access by what it had seen at its first."""
        if not self.looks(self.first) or self.is_pair:
            return False
        # A check that comes to the same after what others have written is not what went wrong.
        is_outdated = not self.code.still_holds(self.first, self._later)
        decides = self.code.decides(self.first, self.last) and is_outdated
        return decides or self._found_nothing()

    @property
    def _later(self) -> list[str]:
        """What others have written to what the thread had looked at; "" for what is not known."""
        same = [one for one in self.others if one.variable == self.first.variable]
        return [one.value or "" for one in same if mode(one) == "W"]

    @cached_property
    def had_decided(self) -> bool:
        """Whether it had been led there by what it saw even before."""
        if not self.looks(self.first) or self.is_pair:
            return False
        return self.code.had_decided(self.first, self.last, self._later)

    @property
    def makes_room(self) -> bool:
        """Whether the thread tested at its first access what its last one changes in any case.

        `if len(cache) >= most: del cache[oldest]`, and then `cache[key] = value`.
        """
        is_outdated = not self.code.still_holds(self.first, self._later)
        return self.is_joint and self.code.asks(self.first) and is_outdated

    def _found_nothing(self) -> bool:
        """Whether it saw that there is nothing, and put its own there."""
        absent = self.first.value in ABSENT
        return absent and self.modes == "RWW" and self.first.line != self.last.line

    @cached_property
    def computes(self) -> bool:
        """Whether the thread stores what it computed from what it had read.

        Also from what a call gave back that set something else: `old = os.umask(0)`.
        """
        if not self.modes.endswith("WW") or len(self.variables) > 1:
            return False
        if self.takes_out(self.last) or (self.modes == "WWW" and self.takes_out(self.first)):
            return False
        return self.code.computes(self.first, self.last)

    @property
    def iterates(self) -> bool:
        """Whether a thread goes through what another one changes."""
        if "W" not in self.modes:
            return False
        if self.says_iterated:
            return True
        return not self.is_pair and self.code.iterates(self.first, self.last)

    @property
    def says_iterated(self) -> bool:
        """Whether the interpreter noticed that this changed while it was gone through."""
        said = (self.failure.message, *(one.message for one in self.failure.chain))
        is_other = self.iterated and not self.iterated & set(map(whole, self.variables))
        return any(map(is_iterated, said)) and not is_other

    def ends_use(self, point: FindingPoint) -> bool:
        """Whether it closes something, or leaves nothing behind."""
        if mode(point) == "R":
            return False
        gone = point.value == UNSET or SETS_NOTHING.search(point.text)
        return bool(gone) or closes(point)

    @property
    def is_ended(self) -> bool:
        """Whether another thread ended the use of what the last access uses."""
        return any(self.ends_use(one) and self._is_same(one, self.last) for one in self.others)

    def _is_same(self, one: FindingPoint, other: FindingPoint) -> bool:
        """Whether they touch the same element, as far as that is known."""
        if one.variable != other.variable:
            return False
        mine, its = self._element(one), self._element(other)
        return not mine or mine == its

    def _element(self, point: FindingPoint) -> str:
        """What of the variable an access touches, as far as that is known."""
        return dict(zip(map(id, self.points), self.elements, strict=False)).get(id(point), "")

    def takes_out(self, point: FindingPoint) -> bool:
        """Whether a write takes something away that had been there."""
        statement = flow.alone(point.text, point.line)
        if isinstance(statement, ast.Delete) or SETS_NOTHING.search(point.text):
            return True
        return _calls(statement, QUEUE_TAKES_OUT if point.op == CALL else TAKES_OUT)

    @property
    def adds(self) -> bool:
        """Whether the last access adds something, and leaves what else there is."""
        return _calls(flow.alone(self.last.text, self.last.line), ADDS)

    @property
    def is_supplied(self) -> bool:
        """Whether a look-up of each thread had found nothing, and the other one supplied it since.

        The interpreter itself has checked, before it called `__getattr__`.
        """
        same = self.first.function == self.last.function
        return same and self.code.supplies(self.first) and self.code.supplies(self.last)

    def puts(self, point: FindingPoint) -> bool:
        """Whether a write leaves something behind, as opposed to one that tears down."""
        return mode(point) == "W" and not self.ends_use(point) and not self.takes_out(point)

    @property
    def loses_one(self) -> bool:
        """Whether another thread removed an element: what it is in goes on, without it."""
        statements = (flow.alone(one.text, one.line) for one in self.others if mode(one) == "W")
        removed = [
            part for one in statements if isinstance(one, ast.Delete) for part in one.targets
        ]
        return any(isinstance(part, ast.Subscript) for part in removed)

    @property
    def is_moved(self) -> bool:
        """Whether another thread took something out and then put it, or what came of it, elsewhere:
        nothing has ended."""
        taken = [at for at, one in enumerate(self.others) if self.ends_use(one)]
        return any(map(self.puts, self.others[taken[0] + 1 :])) if taken else False

    @property
    def removes_one(self) -> bool:
        """Whether the last access takes something out, and leaves what else there is."""
        text = self.last.text
        return self.takes_out(self.last) and ".clear(" not in text and "[:]" not in text

    def counts(self, point: FindingPoint) -> bool:
        """Whether a write changes what has been there before: `self.length += 1`."""
        return isinstance(flow.alone(point.text, point.line), ast.AugAssign)

    @property
    def sees_nothing(self) -> bool:
        """Whether another thread looked at what the last access writes, and found nothing."""
        late = [one for one in self.others if one.variable == self.last.variable]
        return any(self.looks(one) and is_nothing(one.value) for one in late) or self.misses

    @property
    def sees_something(self) -> bool:
        """Whether another thread looked at what the first access wrote, and found it filled."""
        looks = [one for one in self.others if self.looks(one) and one.value is not None]
        return any(
            one.variable == self.first.variable and not is_nothing(one.value) for one in looks
        )

    @property
    def misses(self) -> bool:
        """Whether another thread failed in between because something was not there."""
        threads = {one.thread for one in self.others}
        lines = {(one.thread, one.file, one.line) for one in self.others}
        return any(
            bool(MISSING.search(one.value or ""))
            for one in self.fails
            if one.thread in threads and (one.thread, one.file, one.line) in lines
        )

    @property
    def breaks(self) -> bool:
        """Whether the last access failed at once because nothing was there.

        The line that called it may be the one that shows it.
        """
        lines = {(one.file, one.line) for one in called_lines(self.last)[-2:]}
        return any(
            one.thread == self.last.thread
            and (one.file, one.line) in lines
            and bool(MISSING.search(f"{one.value} {self.failure.message}"))
            for one in self.fails
        )

    @property
    def announces(self) -> bool:
        """Whether the thread says that something is done before it does it."""
        return self.first.part in ANNOUNCING and mode(self.last) == "W"

    @cached_property
    def fills(self) -> bool:
        """Whether the thread puts something into what it has made and stored for others."""
        if self.is_pair or self.looks(self.first) or self.looks(self.last):
            return False
        inside = self.last.op == CALL or bool(self.last.part) or bool(self._element(self.last))
        if len(self.variables) == 1 and inside and not self.takes_out(self.last):
            return self.code.makes(self.first)
        return self.code.fills(self.first, self.last)

    @cached_property
    def was_checked(self) -> bool:
        """Whether the last write was made by a check of what another one has written since.

        Who sets a variable because it found nothing there looked before the other one set it.
        """
        is_one = len(self.variables) == 1 and self.modes.endswith("WW")
        if not (is_one and self.is_overwritten) or self._gives_up_others:
            return False
        # What was overwritten says nothing of what a check had found.
        later = self._later if self.looks(self.first) else []
        return self.code.guards(self.last, self.first, later) or self.is_supplied

    @property
    def _gives_up_others(self) -> bool:
        """Whether the last write leaves nothing of what another one has put there.

        Its check, that there is something, may have found just that.
        """
        put = [one for one in self.points if one.thread != self.last.thread and mode(one) == "W"]
        filled = any(one.value is not None and not is_nothing(one.value) for one in put[-1:])
        return filled and is_nothing(self.last.value)

    @property
    def is_empty(self) -> bool:
        """Whether the first write leaves nothing behind: by its value, else by its line."""
        if self.first.value is not None:
            return is_nothing(self.first.value)
        return self.first.text.rstrip(";").rpartition("=")[2].strip() in NOTHING

    @property
    def is_set_anew(self) -> bool:
        """Whether a thread sets an object's state, another one does, and the first one uses it."""
        return sets(self.first) and any(map(sets, self.others)) and not sets(self.last)

    @property
    def is_repeated(self) -> bool:
        """Whether another thread has done to it what this one had, by the same call of a library,
        and this one then reads what it takes for its own."""
        calls = (self.first.op, self.first.part, self.first.text)
        same = any((one.op, one.part, one.text) == calls for one in self.others)
        return self.first.op == CALL and same and self.last.op == "read"

    @property
    def is_overwritten(self) -> bool:
        """Whether the writes set the variable, as opposed to changing what it contains."""
        return all(
            point.op == "write"
            and not point.part
            and self._assigns(point)
            # What a removal gives is assigned, not what it is removed from.
            and (bool(SETS_NOTHING.search(point.text)) or not self.takes_out(point))
            for point in self.points
            if mode(point) == "W"
        )

    @property
    def reads_others(self) -> bool:
        """Whether the thread finds what another one has put in the place of its own."""
        # Further up in the same function, it is another call that reads.
        turned = self.first.function == self.last.function and self.first.line >= self.last.line
        single = self.modes == "WWR" and len(self.variables) == 1
        return single and not turned and self.is_overwritten

    def _assigns(self, point: FindingPoint) -> bool:
        return bool(re.match(r"[^=!<>]*[^=!<>]=[^=]|.*[-+*/|&^]=", point.text))

    @property
    def is_shown(self) -> bool:
        """Whether the program shows what it is, and not only the order of reads and writes."""
        ways = (
            self.iterates,
            self.computes,
            self.decides,
            self.had_decided,
            self.is_ended and self.looks(self.last),
            self.reads_others,
        )
        return any(ways)

    @property
    def is_joint(self) -> bool:
        """Whether one function made the first and the last access."""
        return joint(self.first, self.last) is not None


def _calls(statement: ast.stmt | None, names: Sequence[str]) -> bool:
    """Whether a line calls a method with one of these names."""
    nodes = ast.walk(statement) if statement else ()
    calls = (node.func for node in nodes if isinstance(node, ast.Call))
    return any(getattr(called, "attr", "") in names for called in calls)


def gone_through(failure: FailureReport, points: Sequence[FindingPoint]) -> frozenset[str]:
    """What was gone through where the interpreter noticed that it changed, if that is shown."""
    chain = [one for one in failure.chain if is_iterated(one.message)]
    noticed = {(one.thread, one.raised.file, one.raised.line) for one in chain}
    if is_iterated(failure.message):
        noticed |= {(one.thread, one.file, one.line) for one in points if one.op == FAIL}
    shown = (one for one in points if is_data(one) and (one.thread, one.file, one.line) in noticed)
    return frozenset(whole(one.variable) for one in shown)


def conflicts_in(
    failure: FailureReport, points: Sequence[FindingPoint], code: ProgramText
) -> Iterator[ShownConflict]:
    """Every broken atomicity; the latest first, which is nearest to the failure."""
    shown = [point for point in points if is_data(point) and not point.setup]
    fails, iterated = failing_points(points), gone_through(failure, points)
    data = [replace(point, variable=whole(point.variable)) for point in shown]
    elements = [element(point) for point in shown]
    found = [pick for pick in conflicts(data) if not _is_one_wait(data[pick[0]], data[pick[-1]])]
    found = [pick for pick in found if not _is_outdated(pick, data, found)]
    picks = sorted(found, reverse=True, key=lambda pick: pick[::-1])
    # Where each of two threads was in the middle of something, the one that began it.
    for pick in picks or [pick[:3] for pick in overlaps(data)]:
        yield ShownConflict(
            tuple(data[i] for i in pick),
            failure,
            code,
            pick[-1] - pick[0],
            not picks,
            tuple(elements[i] for i in pick),
            fails,
            iterated,
        )


def _is_outdated(
    pick: tuple[int, ...], data: Sequence[FindingPoint], found: Sequence[tuple[int, ...]]
) -> bool:
    """Whether the thread itself has set the variable since its first access.

    What it saw before that has nothing to do with what another one did later.
    """
    first, *others, last = pick
    return any(
        data[own].thread == data[first].thread
        and mode(data[own]) == "W"
        and (own, *others, last) in found
        for own in range(first + 1, others[0])
    )


def half_written(points: Sequence[FindingPoint]) -> tuple[FindingPoint, ...]:
    """Where a thread read a file that another one had emptied and not yet written."""
    files = [one for one in points if is_data(one) and one.value == NO_BYTES]
    for one, other in pairwise(files):
        same = one.variable == other.variable and one.thread != other.thread
        if same and (mode(one), mode(other)) == ("W", "R"):
            return one, other
    return ()


def failing_points(points: Sequence[FindingPoint]) -> tuple[FindingPoint, ...]:
    """Where threads failed."""
    return tuple(point for point in points if point.op == FAIL)


def is_nothing(value: str | None) -> bool:
    """Whether a value says that there is nothing, or nothing in it."""
    return value in NOTHING or bool(EMPTY.fullmatch(value or ""))


def _is_one_wait(first: FindingPoint, last: FindingPoint) -> bool:
    """Whether both are one call, which waits for others to do something in between."""
    same = (first.op, first.file, first.line, first.part) == (CALL, last.file, last.line, last.part)
    return same and first.part in WAITING


def element(point: FindingPoint) -> str:
    """`['tea']` of an access to an element; "" for a variable or a whole container."""
    own = point.variable[len(whole(point.variable)) :]
    return own or (point.part if point.part.startswith("[") else "")
