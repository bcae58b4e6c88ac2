# SPDX-License-Identifier: Apache-2.0
"""Patches of C and C++ that hold a mutex around statements.

pthread_mutex_lock(&m);        and before every way out        std::lock_guard<...> guard(m);
...                            of the region: `return`,        ...
pthread_mutex_unlock(&m);      `break`, `goto`                 (in C++ the guard sees to that)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unsnarl.patches.blocks import LineSpan
from unsnarl.patches.native.holding import check_holdable
from unsnarl.patches.native.mutexes import (
    Mutex,
    Sources,
    bear,
    expression,
    gives,
    guards,
    new_name,
    takes,
)
from unsnarl.patches.native.source import CEdits, StatementRange, covering
from unsnarl.patches.native.tree import BranchBody, Statement
from unsnarl.patches.regions import Draft, named, shown
from unsnarl.patches.source import UnpatchableError

LOOPS = ("while", "for", "do", "loop")


def lock_draft(
    sources: Sources, spans: Sequence[LineSpan], mutex: Mutex, at_fault: frozenset[str]
) -> Draft:
    """Hold the mutex around all the spans; raises UnpatchableError where that cannot be."""
    every = {name: CEdits(source) for name, source in sources.items()}
    size = 0
    used = set()
    for run in _runs(sources, spans):
        lock = expression(mutex, run, sources, at_fault)
        whole = _whole(run, lock)
        if whole is None:
            continue
        check_holdable(whole, lock)
        size += _Region(every[run.source.name], whole, mutex, lock).hold()
        used.add(run.source.name)
    if not size:
        raise UnpatchableError("the mutex is held there already")
    if mutex.is_new:
        bear(mutex, every, frozenset(used))
    texts = {name: edits.text() for name, edits in every.items()}
    changed = {name: text for name, text in texts.items() if text != sources[name].text}
    if not changed:
        raise UnpatchableError("the mutex is held there already")
    says = f"hold {named(mutex)} around {shown(spans)}"
    return Draft("lock", says, changed, size, tuple(spans), mutex)


def _runs(sources: Sources, spans: Sequence[LineSpan]) -> list[StatementRange]:
    """The statements of every span; those that lie over each other are one."""
    found: list[StatementRange] = []
    ordered = sorted(spans, key=lambda one: (one.file, one.first, -one.last))
    for span in ordered:
        run = covering(sources[span.file], span.first, span.last)
        last = found[-1] if found else None
        if last is not None and last.source is run.source and run.begin < last.end:
            if run.end > last.end:
                found[-1] = covering(run.source, last.lines[0], run.lines[1])
        else:
            found.append(run)
    return found


def _whole(run: StatementRange, lock: str) -> StatementRange | None:
    """The run with the critical sections of the same mutex that it cuts or touches.

    None if it lies in one of them.
    """
    siblings = run.body.statements
    first, last = run.first, run.last
    if any(_guarded_before(body, until, lock) for body, until in _bodies(run)):
        return None
    before = _held_since(siblings, first, lock)
    if before is not None:
        first = before
        if not any(gives(one, lock) for one in siblings[run.first : run.last + 1]):
            return None
    elif first > 0 and gives(siblings[first - 1], lock):
        since = _held_since(siblings, first - 1, lock)
        first = first if since is None else since
    until = _held_until(siblings, first, last, lock)
    if any(guards(one, lock) for one in siblings[first : until + 2]):
        until = len(siblings) - 1  # a guard holds to the end of its block
    return run.widened(first, until)


def _bodies(run: StatementRange) -> Iterator[tuple[BranchBody, int]]:
    """The body of the run and those around it, each with the index of what leads to the run."""
    yield run.body, run.first
    body = run.function.body
    for statement in run.around:
        yield body, body.statements.index(statement)
        inner = [one for one in statement.bodies if one.begin <= run.begin and run.end <= one.end]
        if not inner:
            return
        body = inner[0]


def _guarded_before(body: BranchBody, until: int, lock: str) -> bool:
    return any(guards(one, lock) for one in body.statements[:until])


def _held_since(siblings: Sequence[Statement], at: int, lock: str) -> int | None:
    """The statement that took the mutex which is held before `at`."""
    since = None
    for index in range(at):
        if takes(siblings[index], lock):
            since = index
        elif gives(siblings[index], lock):
            since = None
    return since


def _held_until(siblings: Sequence[Statement], first: int, last: int, lock: str) -> int:
    """Where the run ends if it must not cut a critical section, nor stop right before one."""
    held = False
    index = first
    while index < len(siblings):
        if takes(siblings[index], lock):
            held = True
        elif gives(siblings[index], lock):
            held = False
        following = index + 1 < len(siblings) and takes(siblings[index + 1], lock)
        if index >= last and not held and not following:
            return index
        index += 1
    if held:
        raise UnpatchableError("where the mutex is given back is not plain")
    return len(siblings) - 1


class _Region:
    """The edits that hold a mutex around one run."""

    def __init__(self, edits: CEdits, run: StatementRange, mutex: Mutex, lock: str) -> None:
        self._edits = edits
        self._run = run
        self._mutex = mutex
        self._lock = lock
        self._guards = False

    def hold(self) -> int:
        """Write them; gives the number of lines that were not held before."""
        run, source = self._run, self._run.source
        if source.conditional_between(run.begin, run.end):
            raise UnpatchableError(f"{source.name}:{run.lines[0]} depends on the preprocessor")
        if source.leaving_macros & {one.text for one in run.tokens}:
            raise UnpatchableError(f"{source.name}:{run.lines[0]} can be left by a macro")
        if any(one.kind == "label" for one in run.statements):
            raise UnpatchableError(f"{source.name}:{run.lines[0]} can be jumped to")
        held = self._unwrap()
        if self._mutex.is_pthread:
            self._pair()
        else:
            self._guard()
        first, last = run.lines
        return max(1, last - first + 1 - held)

    def _unwrap(self) -> int:
        """Leave out the inner uses of the same mutex; gives the number of lines held by them."""
        removed = 0
        for statement in self._run.inner:
            if takes(statement, self._lock) or gives(statement, self._lock):
                self._edits.remove_lines(statement.begin, statement.end)
                removed += 1
            elif guards(statement, self._lock):
                name = guards(statement, self._lock)
                if sum(one.text == name for one in self._run.tokens) > 1:
                    raise UnpatchableError(f"the guard {name} is used")
                self._edits.remove_lines(statement.begin, statement.end)
                self._guards = True
                removed += 1
        return removed

    def _around(self, before: str, behind: str) -> None:
        """Lines before and behind the run, in braces if it is a branch without."""
        run, edits = self._run, self._edits
        first, last = run.statements[0], run.statements[-1]
        if run.body.braced:
            edits.line_before(first, before)
            if behind:
                edits.line_behind(last, behind, like=first)
            return
        wrap(edits, first, before, behind)

    def _pair(self) -> None:
        run = self._run
        unlock = self._mutex.unlock(self._lock)
        last = run.statements[-1]
        for statement, body in leaving(run):
            if statement is last and body is run.body and not run.body.braced:
                raise UnpatchableError("a branch that only leaves needs no mutex")
            self._leave(statement, body, unlock)
        behind = "" if _leaves(last) else unlock
        self._around(self._mutex.lock(self._lock), behind)

    def _leave(self, statement: Statement, body: BranchBody, unlock: str) -> None:
        """Give the mutex back before a `return`, whose value is taken first if that matters."""
        edits, source = self._edits, self._run.source
        value = _value(statement)
        before = unlock
        if value and not _is_plain(value):
            type_name = self._run.function.returns
            if not type_name:
                raise UnpatchableError("the type of what is returned is not known")
            name = new_name("result", source.words)
            text = source.text[statement.tokens[1].begin : statement.tokens[-2].end]
            star = "" if type_name.endswith("*") else " "
            before = f"{type_name}{star}{name} = {text};\n{unlock}"
            edits.replace(statement.tokens[1].begin, statement.tokens[-2].end, name)
        if body.braced:
            edits.line_before(statement, before)
        else:
            wrap(edits, statement, before, "")

    def _guard(self) -> None:
        run = self._run
        rest = run.body.statements[run.last + 1 :]
        name = new_name("guard", run.source.words)
        to_the_end = self._guards or not rest or (len(rest) == 1 and rest[0].kind == "return")
        if to_the_end or not run.body.braced:
            self._around(f"std::lock_guard<{self._mutex.type}> {name}({self._lock});", "")
        else:
            before = f"std::unique_lock<{self._mutex.type}> {name}({self._lock});"
            self._around(before, "" if _leaves(run.statements[-1]) else f"{name}.unlock();")


def wrap(edits: CEdits, statement: Statement, before: str, behind: str) -> None:
    """Braces around a branch of one statement, with more in them."""
    own = edits.source
    if not own.starts_line(statement.begin):
        edits.insert(statement.begin, "{ " + before.replace("\n", " ") + " ")
        edits.insert(statement.end, (" " + behind if behind else "") + " }")
        return
    position = _before(edits, statement.begin)
    edits.insert(position, " {")
    edits.line_before(statement, before)
    if behind:
        edits.line_behind(statement, behind)
    line = own.line_of(position - 1)
    end = own.line_of(statement.end - 1)
    after = own.begin_of(end) + len(own.lines[end - 1])
    edits.insert(after, f"{own.indentation(_head_line(edits, statement, line))}}}{own.newline}")


def _before(edits: CEdits, position: int) -> int:
    """Where the token before a position ends."""
    return max(one.end for one in edits.source.tokens.every if one.end <= position)


def _head_line(edits: CEdits, statement: Statement, line: int) -> int:
    """The line whose indentation the closing brace gets: that of the head's first word."""
    own = edits.source
    limit = len(own.indentation(own.line_of(statement.begin)))
    while line > 1 and len(own.indentation(line)) >= limit:
        line -= 1
    return line


def leaving(run: StatementRange) -> Iterator[tuple[Statement, BranchBody]]:
    """The statements that leave the run, each with the body that it is in."""
    labels = {
        one.tokens[0].text for one in run.inner if one.kind == "label" and len(one.tokens) == 2
    }
    for statement in run.statements:
        yield from _leaving(statement, run.body, labels, in_loop=False, in_switch=False)


def _leaving(
    statement: Statement, body: BranchBody, labels: set[str], *, in_loop: bool, in_switch: bool
) -> Iterator[tuple[Statement, BranchBody]]:
    kind = statement.kind
    if kind in ("return", "co_return") or _ends_the_thread(statement):
        yield statement, body
    elif kind == "throw":
        raise UnpatchableError("an exception would leave the mutex locked")
    elif (
        (kind == "break" and not (in_loop or in_switch))
        or (kind == "continue" and not in_loop)
        or (kind == "goto" and statement.tokens[1].text not in labels)
    ):
        yield statement, body
    loop, switch = in_loop or kind in LOOPS, in_switch or kind == "switch"
    for inner in statement.bodies:
        for one in inner.statements:
            yield from _leaving(one, inner, labels, in_loop=loop, in_switch=switch)


def _ends_the_thread(statement: Statement) -> bool:
    return statement.kind == "simple" and statement.tokens[0].text in ("pthread_exit", "thrd_exit")


def _leaves(statement: Statement) -> bool:
    """Whether nothing behind it in its body is executed."""
    return statement.kind in ("return", "break", "continue", "goto") or _ends_the_thread(statement)


def _value(statement: Statement) -> list[str]:
    """The tokens of what is returned."""
    if statement.kind not in ("return", "co_return"):
        return []
    return [one.text for one in statement.tokens[1:-1]]


def _is_plain(value: Sequence[str]) -> bool:
    """Whether it does not matter when the value is taken: a constant."""
    return len(value) <= 2 and all(
        one in ("NULL", "nullptr", "true", "false", "-", "+") or one[0].isdigit() or one.isupper()
        for one in value
    )
