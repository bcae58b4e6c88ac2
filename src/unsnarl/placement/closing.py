# SPDX-License-Identifier: Apache-2.0
"""What closes a conflict: accesses of the same run without which those that are shown are a riddle.

An experiment confirms two orders, and a ranking picks accesses that set runs apart. Neither needs
the check that a thread had made, the write that a failing read took its value from, or the line
that fails: all of these follow from what was confirmed, or led to it. A reader needs them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations, islice, product

from unsnarl.model.event import Event, Op
from unsnarl.model.site import Site
from unsnarl.placement.given_back import given_back
from unsnarl.placement.local_names import assigning_lines, deciding_lines, names_used
from unsnarl.placement.set_anew import set_anew
from unsnarl.placement.traced import TracedRun

DECIDES = re.compile(r"(el)?if\b|while\b|assert\b")
# Kinds of sites that name what they touch, and those that touch a container as a whole.
NAMED = ("attr_", "global_", "cell_")
WHOLE = ("method", "shape_")
REACH = 3  # events of one line between reading a container and using it
# Lines of an explanation, without those that fail; of a long one so many are added all the same.
MOST_LINES, FEWEST = 6, 2
# Events of a thread between what is shown of it and the rest of the same change, before or after.
NEAR = 12
# A name may stand for another one, which stands for what was read.
STEPS_BACK = 3


def closing(run: TracedRun, shown: Sequence[Event]) -> list[Event]:
    """The accesses to add to those that are shown, in order of time.

    The most important ones, if they are many.
    """
    return _Closing(run, shown).found()


class _Closing:
    def __init__(self, run: TracedRun, shown: Sequence[Event]) -> None:
        self._run = run
        self._site = run.site
        self._shown = sorted(event for event in shown if event.is_access)
        self._cells: dict[int, list[Event]] = defaultdict(list)
        self._threads: dict[str, list[Event]] = defaultdict(list)
        for event in run.accesses:
            self._cells[event.cell].append(event)
            self._threads[event.path].append(event)

    def found(self) -> list[Event]:
        if not self._shown:
            return []
        added: dict[tuple[object, ...], Event] = {}
        lines = {self._line(event) for event in self._shown}
        locks = list(self._two_locks())
        room = max(FEWEST, MOST_LINES - len(lines), len(locks))
        for event in (*locks, *self._wanted()):
            line = self._line(event)
            if line not in lines and len(added) < room:
                added.setdefault(line, event)
        for event in self._result():
            if len(lines) + len(added) < MOST_LINES and self._line(event) not in lines:
                added.setdefault(self._line(event), event)
        # Not even in a long explanation may that be missing which lets others into a lock.
        waits = given_back(self._run, sorted({*self._shown, *added.values()}))
        return sorted({*added.values(), *waits, *self._on_shown_lines(added.values())})

    def _on_shown_lines(self, added: Iterable[Event]) -> Iterator[Event]:
        """What else a line reads that another thread has written: of `fields[name].flag` the flag.

        It takes no room: a line is shown once.
        """
        shown = sorted({*self._shown, *added})
        for event in shown:
            written = {one.cell for one in shown if one.writes and one.path != event.path}
            written.discard(event.cell)
            mine = self._threads[event.path]
            at = bisect_left(mine, event.at, key=lambda one: one.at)
            near = (one for one in mine[at + 1 : at + 1 + REACH] if one not in shown)
            same = (one for one in near if self._line(one) == self._line(event))
            yield from (one for one in same if one.op is Op.READ and one.cell in written)

    def _line(self, event: Event) -> tuple[object, ...]:
        """A further access of a line that is shown says nothing new."""
        site = self._site(event)
        return event.path, site.file, site.line, event.op is Op.READ

    def _wanted(self) -> Iterator[Event]:
        """The most important first."""
        failing = self._run.failing
        yield from self._failure(failing)
        yield from self._missing_writes()
        yield from set_anew(self._run, self._shown)
        for event in self._shown:
            yield from self._decisions(event)
        failed = [failing] if failing is not None and self._is_shown(failing) else []
        begins = [
            (begin, event)
            for event in (*failed, *self._turns())
            for begin in self._begin(event)
            if not (begin.writes and self._only_fails(event))
        ]
        for begin, event in sorted(begins, key=lambda pair: not self._decides(pair[0])):
            yield begin
            yield from self._too_late(begin, event)
        for event in self._turns():
            yield from self._origins(event)
        for event in self._shown:
            yield from self._taken_over(event)
        yield from self._found_later([*self._shown, *failed])

    def _taken_over(self, event: Event) -> Iterator[Event]:
        """By what a thread had decided to go on with what another one had put there.

        It gives that up, or puts its own there: how did it come to have the other one's?
        """
        before = [one for one in self._cells[event.cell] if one.at < event.at]
        writes = [one for one in before if one.writes]
        if not (event.writes and writes) or writes[-1].path == event.path:
            return
        mine = (one for one in before if one.path == event.path and one.at > writes[-1].at)
        yield from (one for one in islice(mine, 1) if self._decides(one))

    def _found_later(self, shown: Sequence[Event]) -> Iterator[Event]:
        """What a thread then found where it had been, and another one had changed something.

        Two accesses of one thread around that of another one are a conflict, two alone are none.
        """
        for write in (one for one in shown if one.writes):
            same = [one for one in shown if one.path != write.path and self._is_same(one, write)]
            been = {one.path for one in same if one.at < write.at}
            if not any(one.at > write.at for one in same):
                for path in sorted(been):
                    later = (one for one in self._threads[path] if one.at > write.at)
                    yield from islice((one for one in later if self._is_same(one, write)), 1)

    def _is_same(self, one: Event, other: Event) -> bool:
        """Whether both touch one variable: an element and the whole of its container do."""
        owner = self._owner(one)
        return one.cell == other.cell or (owner > 0 and owner == self._owner(other))

    def _only_fails(self, event: Event) -> bool:
        """Whether its thread finds no more than the result: what it had made before is no news."""
        mine = [one for one in self._shown if one.path == event.path]
        is_failing = self._run.failing is not None and event.key == self._run.failing.key
        return is_failing and len(mine) <= 1

    def _failure(self, failing: Event | None) -> Iterator[Event]:
        """The access that fails, if it is of what is shown, and who wrote what it read."""
        if failing is None or not self._is_shown(failing):
            return
        yield failing
        if self._run.is_iterated:
            # The steps of the loop are no accesses: what changed meanwhile is behind its first.
            yield from islice(
                (one for one in self._others_writes(failing) if one.at > failing.at), 1
            )
        else:
            yield from self._source(failing)

    def _result(self) -> Iterator[Event]:
        """What came of it, if the access that fails is of something else: who wrote that."""
        failing = self._run.failing
        if failing is None or self._is_shown(failing):
            return
        yield from self._source(failing)
        writes = [one for one in self._others_writes(failing) if one.at < failing.at]
        meanwhile = [one for one in writes if one.at > self._shown[0].at]
        if failing.writes and meanwhile:
            # What it takes away, or makes, another one has taken or made: one of those shown first.
            threads = {one.path for one in self._shown}
            yield failing
            yield max(meanwhile, key=lambda one: (one.path in threads, one.at))

    def _source(self, failing: Event) -> Iterator[Event]:
        """Who wrote what the failing access read."""
        if failing.op is Op.READ:
            writes = [one for one in self._others_writes(failing) if one.at < failing.at]
            # What was written before all that is shown is where it all began, and no news.
            since = min(one.at for one in (self._shown[0], *self._begin(failing)))
            yield from (one for one in writes[-1:] if one.at > since)

    def _is_shown(self, event: Event) -> bool:
        """Whether it is about what the shown accesses are about."""
        owner = self._owner(event)
        owners = {self._owner(one) for one in self._shown}
        return event.cell in {one.cell for one in self._shown} or (owner > 0 and owner in owners)

    def _others_writes(self, event: Event) -> list[Event]:
        """Also those of the whole container that it is an element of."""
        owner = self._owner(event)
        found = [*self._cells[event.cell], *(self._wholes[owner] if owner else ())]
        return sorted({one for one in found if one.writes and one.path != event.path})

    @cached_property
    def _wholes(self) -> dict[int, list[Event]]:
        """By the cell that has the container: what was done to the container as a whole."""
        found: dict[int, list[Event]] = defaultdict(list)
        for mine in self._threads.values():
            for event in mine:
                if event.writes and self._site(event).kind.startswith(WHOLE):
                    found[self._owner(event)].append(event)
        return found

    def _owner(self, event: Event) -> int:
        """The cell from which its thread had just read the container that it touches; 0 for none.

        An element and the container as a whole are two cells: what owns both is the same.
        """
        site, mine = self._site(event), self._threads[event.path]
        if site.kind.startswith(NAMED):
            return 0
        at = bisect_left(mine, event.at, key=lambda one: one.at)
        for one in reversed(mine[max(at - REACH, 0) : at]):
            other = self._site(one)
            same_line = (other.file, other.line) == (site.file, site.line)
            if same_line and one.op is Op.READ and other.kind.startswith(NAMED):
                return one.cell
        return 0

    def _is_contended(self, event: Event) -> bool:
        """Whether another thread writes it once this one has begun; who made it does not count."""
        begun = self._threads[event.path][0].at
        return any(one.at > begun for one in self._others_writes(event))

    def _two_locks(self) -> Iterator[Event]:
        """Both hold what one line takes, and yet two locks: who had put the other one there."""
        failing = self._run.failing
        failed = [failing, *self._source(failing)] if failing is not None else []
        for one, other in combinations(sorted({*self._shown, *failed}), 2):
            if one.path == other.path or one.cell != other.cell:
                continue
            for mine, its in product(self._run.around(one), self._run.around(other)):
                owner = self._owner(mine)
                is_one = self._line(mine)[1:] == self._line(its)[1:] and owner == self._owner(its)
                if owner and is_one and mine.cell != its.cell:
                    writes = [event for event in self._cells[owner] if event.writes]
                    for event in writes[-1:]:
                        before = [one for one in self._others_writes(event) if one.at < event.at]
                        yield from (event, its, *self._begin(event), *before[-1:])
                    return

    def _missing_writes(self) -> Iterator[Event]:
        """Reads alone are no conflict: the write that a read came too early or too late for."""
        if any(event.writes for event in self._shown):
            return
        for event in reversed(self._shown):
            writes = self._others_writes(event)
            later = [one for one in writes if one.at > event.at]
            yield from later[:1] or writes[-1:]

    def _turns(self) -> Iterator[Event]:
        """The first access of every thread, and those with which it goes on after another one."""
        seen: set[str] = set()
        for at, event in enumerate(self._shown):
            if event.path not in seen or self._shown[at - 1].path != event.path:
                seen.add(event.path)
                yield event

    def _begin(self, event: Event) -> list[Event]:
        """What it had found there before: the first access of the cell in the same execution.

        Who decides by what it reads has its reason there; who comes too late for it had another.
        """
        is_first = self._shown[0].at >= event.at
        if event.op is Op.READ and self._decides(event) and is_first:
            return []
        earlier = [one for one in self._execution(event) if one.cell == event.cell]
        return earlier[-1:]

    def _decides(self, event: Event) -> bool:
        return bool(DECIDES.match(self._run.text(self._site(event))))

    def _too_late(self, begin: Event, event: Event) -> Iterator[Event]:
        """What another thread wrote after this one had decided by what was there before."""
        if begin.op is not Op.READ or event.op is Op.READ or not self._decides(begin):
            return
        threads = {one.path for one in self._shown}
        later = (one for one in self._others_writes(begin) if one.at > begin.at)
        yield from islice((one for one in later if one.path in threads), 1)

    def _decisions(self, event: Event) -> Iterator[Event]:
        """By what its thread had come there, if another one that is shown changed that too late.

        The one was still to change what the other decided by: both belong to one change.
        """
        site = self._site(event)
        lines = deciding_lines(site.file, site.line)
        for one in self._execution(event):
            if one.op is Op.READ and self._site(one).line in lines:
                yield from islice(self._late_change(one, event), 2)

    def _late_change(self, check: Event, event: Event) -> Iterator[Event]:
        """The check and the change that its cell was still to get from who is shown near it."""
        is_same = self._class(check) == self._class(event)
        for write in self._others_writes(check) if is_same else ():
            mine = self._threads[write.path]
            at = bisect_left(mine, write.at, key=lambda one: one.at)
            near = mine[max(at - NEAR, 0) : at + NEAR]
            if write.at > check.at and any(one in self._shown for one in near):
                yield from (check, write)

    def _class(self, event: Event) -> str:
        """The class whose attribute it is, as the program's run had it; else that of its method."""
        site = self._site(event)
        return (site.variable or site.function).partition(".")[0]

    def _execution(self, event: Event) -> Iterator[Event]:
        """What its thread did before it in the same execution of the function, the latest first.

        Going back, lines only decrease, and on one line the code's own order is kept; else it was
        an earlier call, or round of a loop.
        """
        site = self._site(event)
        latest, met = event, {event.point}
        for one in reversed(self._threads[event.path]):
            other = self._site(one)
            if one.at >= event.at or (other.file, other.enclosing) != (site.file, site.enclosing):
                continue
            if one.point in met or self._comes_later(one, latest):
                break
            latest = one
            met.add(one.point)
            yield one

    def _comes_later(self, one: Event, other: Event) -> bool:
        """Whether an event comes later in the code than another one of the same function."""
        first, second = self._site(one), self._site(other)
        if first.line != second.line or first.function != second.function:
            return first.line > second.line
        return one.site > other.site

    def _origins(self, event: Event) -> Iterator[Event]:
        """Where its thread got what it uses there: the reads behind the local names of its line.

        They matter if others write what they read; of two accesses alone, the last one always says
        through what the one thread came to what the other had.
        """
        is_pair = len(self._shown) == len({one.path for one in self._shown})
        before = list(self._execution(event))
        wanted = [self._site(event)]
        for back in range(STEPS_BACK):
            lines = {line for site in wanted for line in _assigned(site)}
            reads = list(_latest(before, lines, self._site))
            wanted = [self._site(one) for one in reads]
            contended = [one for one in reads if self._is_contended(one)]
            yield from contended or (reads[-1:] if is_pair and not back else ())


def _assigned(site: Site) -> list[int]:
    return assigning_lines(site.file, site.line, names_used(site.file, site.line))


def _latest(
    before: Iterable[Event], lines: set[int], site: Callable[[Event], Site]
) -> Iterator[Event]:
    """The latest event on each of the lines, in order of time."""
    found: dict[int, Event] = {}
    for event in before:
        line = site(event).line
        if line in lines and event.op in (Op.READ, Op.CALL):
            found.setdefault(line, event)
    yield from sorted(found.values())
