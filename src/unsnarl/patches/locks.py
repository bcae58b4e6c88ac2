# SPDX-License-Identifier: Apache-2.0
"""Classes and their locks, and by which expression a region reaches one."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from unsnarl.patches.blocks import Function, StatementRun, executed, last_line
from unsnarl.patches.imports import add_name
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError

SYNCHRONISED = ("Lock", "RLock", "Condition")
COUNTER = re.compile(r" #\d+$")
# Classes whose body declares fields or members.
DECLARED = frozenset(
    {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "NamedTuple", "TypedDict", "Protocol"}
)
# Bases that say nothing about other classes which are used in the same places.
ALONE = frozenset({"object", "ABC", "Generic"})


@dataclass(frozen=True)
class LockChoice:
    """A lock that regions may hold.

    Attributes:
        owner: The class whose attribute it is; "" for a variable of a module.
        name: The attribute's or the variable's name.
        file: Where the class or variable is.
        is_new: Whether it has yet to be made.
        reentrant: Whether it has to be an RLock.
        is_foreign: Whether no code holds it where it accesses a variable at fault.
        within: The line of the function whose local variable it is; 0 for none.
    """

    owner: str
    name: str
    file: str = ""
    is_new: bool = False
    reentrant: bool = False
    is_foreign: bool = False
    within: int = 0


class ClassSource(NamedTuple):
    """A class and the file that it is in."""

    source: SourceFile
    node: ast.ClassDef

    @property
    def members(self) -> frozenset[str]:
        """Its methods and the attributes that they assign."""
        methods = [one for one in self.node.body if isinstance(one, Function)]
        names = {one.name for one in methods}
        for method in methods:
            me = self_name(method)
            names |= {
                one.attr
                for one in ast.walk(method)
                if isinstance(one, ast.Attribute)
                and isinstance(one.ctx, ast.Store)
                and isinstance(one.value, ast.Name)
                and one.value.id == me
            }
        return frozenset(names)

    @property
    def constructor(self) -> Function | None:
        """Its `__init__`, if attributes can be added there."""
        if any(
            "__slots__" in ast.unparse(one) for one in self.node.body if isinstance(one, ast.Assign)
        ):
            return None
        found = [one for one in self.node.body if isinstance(one, Function)]
        return next((one for one in found if one.name == "__init__"), None)

    @property
    def has_plain_body(self) -> bool:
        """Whether a variable in its body is one attribute of the class, and nothing else."""
        bases = {ast.unparse(one).partition("[")[0].rpartition(".")[2] for one in self.node.bases}
        return not bases & DECLARED and not self.node.keywords


def plain_name(name: str) -> str:
    """`Account.lock` of `Account.lock #2`."""
    return COUNTER.sub("", name)


def is_lock_made(node: ast.expr) -> bool:
    """Whether an expression makes a lock."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in SYNCHRONISED


def self_name(method: Function) -> str:
    """What a method calls its object."""
    arguments = [*method.args.posonlyargs, *method.args.args]
    static = any(ast.unparse(one) == "staticmethod" for one in method.decorator_list)
    return arguments[0].arg if arguments and not static else ""


def classes(sources: Mapping[str, SourceFile], file: str = "") -> dict[str, ClassSource]:
    """The classes of some files, by name.

    Of a name that is there twice, the one in `file` is meant; none if that has not just one.
    """
    found: dict[str, list[ClassSource]] = {}
    for source in sources.values():
        for node in _class_nodes(source):
            found.setdefault(node.name, []).append(ClassSource(source, node))
    meant = {
        name: ones if len(ones) == 1 else [one for one in ones if one.source.name == file]
        for name, ones in found.items()
    }
    return {name: ones[0] for name, ones in meant.items() if len(ones) == 1}


@lru_cache(maxsize=64)
def assignments(source: SourceFile) -> tuple[ast.Assign, ...]:
    """All of a file."""
    return tuple(node for node in source.nodes if isinstance(node, ast.Assign))


# Every draft asks for the same few files.
@lru_cache(maxsize=64)
def _class_nodes(source: SourceFile) -> tuple[ast.ClassDef, ...]:
    return tuple(node for node in source.nodes if isinstance(node, ast.ClassDef))


def with_bases(name: str, owners: Mapping[str, ClassSource]) -> list[str]:
    """A class and those that it is derived from, as far as their files are at hand."""
    found = [name]
    for one in found:
        if one in owners:
            bases = [ast.unparse(base).rpartition(".")[2] for base in owners[one].node.bases]
            found += [base for base in bases if base not in found]
    return [one for one in found if one in owners]


def expression(
    choice: LockChoice, run: StatementRun, source: SourceFile, owners: Mapping[str, ClassSource]
) -> str:
    """How the statements of a run write the lock; raises if they cannot reach it."""
    if choice.owner:
        return f"{_object(choice, run, owners)}.{choice.name}"
    if choice.file == source.name or _is_visible(choice.name, run, source):
        return choice.name
    return _imported(choice, source)


def _object(choice: LockChoice, run: StatementRun, owners: Mapping[str, ClassSource]) -> str:
    """The expression for the object whose attribute the lock is."""
    method, owner = run.function, run.owner
    if owner is not None and method is not None and _is_a(owner, choice.owner, owners):
        name = self_name(_method(run))
        if name:
            return name
    cls = owners.get(choice.owner)
    if cls is None:
        raise UnpatchableError(f"the class {choice.owner} is not in the files at fault")
    found = Counter(_receivers(run, cls.members | {choice.name}))
    if _has_siblings(cls):
        found = Counter(
            {one: found[one] for one in found if _is_made_as(one, choice.owner, owners)}
        )
    if not found:
        raise UnpatchableError(f"no {choice.owner} is named there")
    return min(found, key=lambda text: (-found[text], text))


def _has_siblings(owner: ClassSource) -> bool:
    """Whether who is handed such an object may as well be handed one without its attributes."""
    bases = {ast.unparse(one).partition("[")[0].rpartition(".")[2] for one in owner.node.bases}
    return not bases <= ALONE


def _is_made_as(text: str, owner: str, owners: Mapping[str, ClassSource]) -> bool:
    """Whether what has this name is always an object of this class: all that is assigned to it."""
    sources = {one.source.name: one.source for one in owners.values()}
    made = [
        ast.unparse(node.value.func).rpartition(".")[2] if isinstance(node.value, ast.Call) else ""
        for source in sources.values()
        for node in assignments(source)
        if text in map(ast.unparse, node.targets)
    ]
    return bool(made) and set(made) == {owner}


def _method(run: StatementRun) -> Function:
    """The method itself, of a function within it."""
    functions = [one for one in run.around if isinstance(one, Function)]
    at = run.around.index(run.owner) if run.owner else 0
    return next(one for one in functions if run.around.index(one) > at)


def _is_a(owner: ast.ClassDef, name: str, owners: Mapping[str, ClassSource]) -> bool:
    if owner.name == name:
        return True
    bases = [ast.unparse(one).rpartition(".")[2] for one in owner.bases]
    return any(
        base == name or (base in owners and _is_a(owners[base].node, name, owners))
        for base in bases
        if base != owner.name
    )


def _receivers(run: StatementRun, members: frozenset[str]) -> Iterator[str]:
    """Expressions whose attributes are those of the class, and which exist before the run."""
    stored = {
        one.id
        for one in executed(run.statements)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    own = self_name(_method(run)) if run.owner is not None else ""
    for node in executed(run.statements):
        if isinstance(node, ast.Attribute) and node.attr in members:
            root = _root(node.value)
            text = ast.unparse(node.value)
            if root and root not in stored and text != own:
                yield text


def _root(node: ast.expr) -> str:
    """The name that a chain of attributes begins with; "" for anything else."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_visible(name: str, run: StatementRun, source: SourceFile) -> bool:
    """Whether a plain name means a variable of a function around, or of the module."""
    scopes = [one for one in run.around if isinstance(one, Function | ast.Module)]
    for scope in scopes:
        body = scope.body
        stored = {
            one.id
            for one in executed(body)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        names = {one.arg for one in scope.args.args} if isinstance(scope, Function) else set()
        if name in stored | names:
            return True
    return any(
        (alias.asname or alias.name) == name
        for one in source.tree.body
        if isinstance(one, ast.ImportFrom)
        for alias in one.names
    )


def _imported(choice: LockChoice, source: SourceFile) -> str:
    """`module.lock`, where the file has imported the module."""
    stem = choice.file.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2]
    for node in source.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if alias.name.rpartition(".")[2] == stem and (
                    alias.asname or "." not in alias.name
                ):
                    return f"{alias.asname or alias.name}.{choice.name}"
    if neighbour_import(choice, source) is None:
        raise UnpatchableError(f"{source.name} does not import {stem}")
    return choice.name


def neighbour_import(choice: LockChoice, source: SourceFile) -> ast.ImportFrom | None:
    """The import of something else from the lock's module, next to which it can be imported."""
    if choice.owner or choice.file == source.name or choice.name in all_names(source):
        return None
    parts = choice.file.removesuffix("/__init__.py").removesuffix(".py").split("/")
    for node in source.tree.body:
        module = (getattr(node, "module", None) or "").split(".")
        if isinstance(node, ast.ImportFrom) and module[-1] and parts[-len(module) :] == module:
            return node
    return None


def import_lock(choice: LockChoice, edits: LineEdits) -> list[str]:
    """Import a lock from a module from which the file imports already; gives what was added."""
    node = neighbour_import(choice, edits.source)
    if node is None:
        return []
    text = f"from {'.' * node.level}{node.module} import {choice.name}"
    try:
        add_name(edits, node, choice.name)
    except UnpatchableError:
        edits.insert_after(last_line(node), text, like=node.lineno)
    return [text]


def new_name(wanted: str, taken: Set[str]) -> str:
    """A name that nobody has, the language neither."""
    if wanted in dir(builtins) or keyword.iskeyword(wanted):
        wanted += "_"
    names = [wanted, *(f"{wanted}_{number}" for number in range(2, 99))]
    return next(name for name in names if name not in taken)


@lru_cache(maxsize=64)
def all_names(source: SourceFile) -> frozenset[str]:
    """Everything that a file calls by a name."""
    found: set[str] = set()
    for node in source.nodes:
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    return frozenset(found)


def bound(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that statements assign."""
    return {
        one.id
        for one in executed(list(statements))
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
