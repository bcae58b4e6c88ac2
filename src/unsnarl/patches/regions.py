# SPDX-License-Identifier: Apache-2.0
"""Patches that hold a lock around statements."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from unsnarl.patches.births import bear, lock_births, module_births
from unsnarl.patches.blocks import (
    LineSpan,
    StatementRun,
    blocks_of,
    covering,
    executed,
    first_line,
    last_line,
)
from unsnarl.patches.checks import HOISTING, check_holdable, is_waiting, same_but_for
from unsnarl.patches.expressions import plain_names, replace_expressions
from unsnarl.patches.locks import (
    ClassSource,
    LockChoice,
    classes,
    expression,
    import_lock,
    new_name,
    with_bases,
)
from unsnarl.patches.source import (
    LineEdits,
    SourceFile,
    UnpatchableError,
    changed_header,
    header_text,
)

Sources = Mapping[str, SourceFile]


@dataclass(frozen=True)
class Draft:
    """A patch that has yet to be run.

    Attributes:
        kind: What it does, as `Patch.kind` has it.
        says: In words.
        texts: The new text of each file, by its name.
        size: How many lines it puts under a lock, or changes; smaller ones are tried first.
        spans: The lines that it protects.
        choice: The lock.
        turns: Whether a loop takes it anew in every turn.
    """

    kind: str
    says: str
    texts: Mapping[str, str]
    size: int
    spans: tuple[LineSpan, ...] = ()
    choice: LockChoice | None = field(default=None, compare=False)
    turns: bool = False


def lock_draft(
    sources: Sources,
    spans: Sequence[LineSpan],
    choice: LockChoice,
    at_fault: frozenset[str] = frozenset(),
    *,
    turns: bool = False,
) -> Draft:
    """Hold the lock around all the spans; raises UnpatchableError where that cannot be.

    `at_fault` are names that may change meanwhile: no lock is reached through them. With `turns`,
    loops among the statements take the lock in every turn; raises if there is none.
    """
    owners = classes(sources, choice.file)
    every = {name: LineEdits(source) for name, source in sources.items()}
    added: dict[str, list[str]] = {name: [] for name in sources}
    names: dict[str, str] = {}
    size = split = 0
    if choice.is_new:
        home = owners[choice.owner].source.name if choice.owner else choice.file
        made = "RLock" if choice.reentrant else "Lock"
        added[home] += bear(choice, every[home], owners, made, at_fault)
    elif choice.reentrant:
        _make_reentrant(choice, every, owners)
    for name, runs in _runs(sources, spans).items():
        imported = False
        for run in runs:
            lock = expression(choice, run, sources[name], owners)
            if at_fault.intersection(lock.split(".")[1:-1]):
                raise UnpatchableError(f"{lock} is reached through a variable at fault")
            if _is_held(run, lock):
                continue
            in_turns = turns and is_splittable(run)
            split += in_turns
            if in_turns:
                size += _hold_in_turns(every[name], run, lock, _last(spans, name, run))
            else:
                before = _hoist(every[name], run, lock)
                size += _hold(every[name], _with_adjacent(run, lock), lock, before)
                names |= {one: ast.unparse(call) for one, call in before.items()}
                added[name] += [f"{one} = {ast.unparse(call)}" for one, call in before.items()]
            added[name].append(f"with {lock}:")
            if lock == choice.name and not imported:
                added[name] += import_lock(choice, every[name])
                imported = True
    if not size or (turns and not split):
        raise UnpatchableError("the lock is held there already, or no loop can be split")
    texts = _texts(every, added, names)
    says = f"hold {named(choice)} around {shown(spans)}"
    says += ", in every turn of the loop" if turns else ""
    return Draft("lock", says, texts, size, tuple(spans), choice, turns)


def reentrant_draft(sources: Sources, choice: LockChoice) -> Draft:
    """A plain lock of the program as one that its holder may take once more."""
    every = {name: LineEdits(source) for name, source in sources.items()}
    _make_reentrant(choice, every, classes(sources))
    texts = _texts(every, dict.fromkeys(sources, ()))
    return Draft("reentrant", f"make {named(choice)} an RLock", texts, 1)


def _texts(
    every: Mapping[str, LineEdits],
    added: Mapping[str, Sequence[str]],
    names: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The files that changed, each checked."""
    texts = {name: edits.text() for name, edits in every.items()}
    changed = {name: text for name, text in texts.items() if text != every[name].source.text}
    for name, text in changed.items():
        same_but_for(every[name].source, text, added[name], names)
    if not changed:
        raise UnpatchableError("nothing changes")
    return changed


def named(choice: LockChoice) -> str:
    """The lock, as a report calls it."""
    name = f"{choice.owner}.{choice.name}" if choice.owner else choice.name
    kind = "RLock" if choice.reentrant else "lock"
    return f"{name} (a new {kind})" if choice.is_new else name


def shown(spans: Sequence[LineSpan]) -> str:
    """The lines, as a report calls them."""
    return ", ".join(
        f"{one.file}:{one.first}" + (f"-{one.last}" if one.last > one.first else "")
        for one in sorted(set(spans))
        if not any(other != one and other.covers(one) for other in spans)
    )


def _runs(sources: Sources, spans: Sequence[LineSpan]) -> dict[str, list[StatementRun]]:
    """The statements of every span by file; those that lie over each other are one."""
    found: dict[str, list[StatementRun]] = {}
    for name in dict.fromkeys(span.file for span in spans):
        source = sources[name]
        runs = [covering(source, one.first, one.last) for one in spans if one.file == name]
        found[name] = _apart(source, runs)
    return found


def _apart(source: SourceFile, runs: Sequence[StatementRun]) -> list[StatementRun]:
    apart: list[StatementRun] = []
    for run in sorted(runs, key=lambda one: (one.first, -one.last)):
        if apart and run.first <= apart[-1].last:
            both = covering(source, apart[-1].first, max(apart[-1].last, run.last))
            apart[-1] = both
        else:
            apart.append(run)
    return apart


def _is_held(run: StatementRun, lock: str) -> bool:
    """Whether a `with` of this lock is around the statements, in the same function."""
    held = False
    for node in run.around:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            held = False
        elif isinstance(node, ast.With) and lock in _items(node):
            held = True
    return held


def holds(source: SourceFile, line: int, name: str) -> bool:
    """Whether a `with` of a lock of this name is around a line, in the same function."""
    held = False
    try:
        run = covering(source, line, line)
    except UnpatchableError:
        return False
    for node in (*run.around, *run.statements):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            held = False
        elif isinstance(node, ast.With):
            inside = node.body[0].lineno <= line
            held |= inside and any(one.rpartition(".")[2] == name for one in _items(node))
    return held


def _with_adjacent(run: StatementRun, lock: str) -> StatementRun:
    """With the `with` of the same lock before or behind it: there is no reason to let go of it."""
    for block in blocks_of(run.around[-1]):
        if run.statements[0] in block:
            first, last = block.index(run.statements[0]), block.index(run.statements[-1])
            before, behind = block[max(first - 1, 0) : first], block[last + 1 : last + 2]
            more = [one for one in (*before, *behind) if _is_with(one, lock)]
            statements = [one for one in block if one in run.statements or one in more]
            return run._replace(statements=tuple(statements))
    return run


def _is_with(node: ast.stmt, lock: str) -> bool:
    return (
        isinstance(node, ast.With) and _items(node) == [lock] and node.body[0].lineno > node.lineno
    )


def _items(node: ast.With) -> list[str]:
    return [ast.unparse(one) for one in node.items]


def _hoist(edits: LineEdits, run: StatementRun, lock: str) -> dict[str, ast.Call]:
    """Calls that wait and give a value, made before the lock is taken; by the names of the values.

    Only those that the run makes in any case, of what it does not assign itself.
    """
    found: dict[str, ast.Call] = {}
    stored = {
        one.id
        for one in executed(run.statements)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    taken = plain_names(edits.source)
    for statement in run.statements:
        if not isinstance(statement, HOISTING):
            break
        for node in executed([statement]):
            if isinstance(node, ast.Call) and is_waiting(node, lock):
                if stored & {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}:
                    continue
                name = new_name(ast.unparse(node.func).rpartition(".")[2], taken | set(found))
                found[name] = node
    for name, call in found.items():
        edits.insert_before(run.first, f"{name} = {ast.unparse(call)}")
        replace_expressions(edits, [call], text=name)
    return found


def _hold(
    edits: LineEdits, run: StatementRun, lock: str, hoisted: Mapping[str, ast.Call] | None = None
) -> int:
    """Put the run below `with lock:`; gives the number of lines that were not below it before."""
    before = list((hoisted or {}).values())
    check_holdable(run.statements, f"{edits.source.name}:{run.first}", lock, before)
    size = run.last - run.first + 1
    for node in executed(run.statements):
        if isinstance(node, ast.With) and lock in _items(node):
            _unwrap(edits, node, lock)
            size -= last_line(node) - node.lineno
    edits.wrap(run.first, run.last, f"with {lock}:")
    return max(size, 1)


# A loop that takes the lock in every turn.


def is_splittable(run: StatementRun) -> bool:
    """Whether the statements are one `while` loop whose condition is part of the region."""
    node = run.statements[0]
    return (
        len(run.statements) == 1
        and isinstance(node, ast.While)
        and not node.orelse
        and not isinstance(node.test, ast.Constant)
    )


def _last(spans: Iterable[LineSpan], name: str, run: StatementRun) -> int:
    """The last line of the run that has to be under the lock."""
    return max(one.last for one in spans if one.file == name and run.first <= one.last <= run.last)


def _hold_in_turns(edits: LineEdits, run: StatementRun, lock: str, last: int) -> int:
    """`while True:`, and below it the lock around the check and the first statements."""
    node = run.statements[0]
    source = edits.source
    if not isinstance(node, ast.While):
        raise UnpatchableError("there is no loop")
    test = header_text(source, node, "while")
    inside = [one for one in node.body if first_line(one) <= last]
    check_holdable((ast.Expr(node.test), *inside), f"{source.name}:{run.first}", lock)
    for one in executed(inside):
        if isinstance(one, ast.With) and lock in _items(one):
            _unwrap(edits, one, lock)
    unit = source.unit
    edits.change(node.lineno, changed_header(source, node.lineno, "while True:"))
    for depth, text in enumerate((f"with {lock}:", f"if {_negated(node.test, test)}:", "break"), 1):
        edits.insert_after(node.lineno, unit * depth + text, like=node.lineno)
    end = last_line(inside[-1]) if inside else node.lineno
    edits.shift(node.lineno + 1, end, 1)
    return max(end - node.lineno, 1)


def _negated(test: ast.expr, text: str) -> str:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return ast.unparse(test.operand)
    compound = isinstance(test, ast.BoolOp | ast.IfExp | ast.NamedExpr | ast.Compare)
    return f"not ({text})" if compound else f"not {text}"


def _unwrap(edits: LineEdits, node: ast.With, lock: str) -> None:
    """Take the lock out of an inner `with`: a plain one would wait for itself."""
    first = node.body[0]
    header = edits.source.lines[node.lineno - 1]
    rest = [one for one in _items(node) if one != lock]
    if first.lineno != node.lineno + 1 and _code_between(edits.source, node.lineno, first.lineno):
        raise UnpatchableError("the header of a `with` has several lines")
    if first.lineno == node.lineno:
        raise UnpatchableError("a `with` has its block in its own line")
    if rest:
        end = header[len(header.rstrip("\r\n")) :]
        comment = _comment(header)
        indent = edits.source.indentation(node.lineno)
        edits.change(node.lineno, f"{indent}with {', '.join(rest)}:{comment}{end}")
        return
    edits.remove(node.lineno)
    edits.shift(node.lineno + 1, last_line(node), -1)


def _code_between(source: SourceFile, header: int, first: int) -> bool:
    lines = [source.lines[at].strip() for at in range(header, first - 1)]
    return any(line and not line.startswith("#") for line in lines)


def _comment(header: str) -> str:
    _, mark, text = header.rstrip("\r\n").rpartition("  #")
    return f"{mark}{text}" if mark else ""


def _make_reentrant(
    choice: LockChoice, every: Mapping[str, LineEdits], owners: Mapping[str, ClassSource]
) -> None:
    """`threading.RLock()` where the program makes a plain lock."""
    if choice.owner:
        pairs = [
            (every[owners[name].source.name], one)
            for name in with_bases(choice.owner, owners)
            for one in lock_births(owners[name], choice.name)
        ]
    else:
        pairs = [
            (edits, one)
            for edits in every.values()
            for one in module_births(edits.source, choice.name)
        ]
    if len(pairs) != 1:
        raise UnpatchableError("where the lock is made is not plain")
    edits, call = pairs[0]
    if not isinstance(call.func, ast.Attribute) or call.func.end_col_offset is None:
        raise UnpatchableError("RLock is not imported there")
    line = call.func.end_lineno or call.lineno
    data = edits.source.lines[line - 1].encode()
    end = call.func.end_col_offset
    edits.change(line, (data[: end - len("Lock")] + b"RLock" + data[end:]).decode())
