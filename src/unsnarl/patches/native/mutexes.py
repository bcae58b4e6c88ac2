# SPDX-License-Identifier: Apache-2.0
"""Mutexes of C and C++: which there are, how a function reaches one, how it is taken and made."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from unsnarl.patches.locks import LockChoice
from unsnarl.patches.native.source import CEdits, CSource, StatementRange
from unsnarl.patches.native.tokens import Token, opening
from unsnarl.patches.native.tree import Class, Statement
from unsnarl.patches.source import UnpatchableError

PTHREAD = "pthread_mutex_t"
STANDARD = re.compile(r"(?:std::)?(?:recursive_|timed_|recursive_timed_|shared_)?mutex")
GUARD = re.compile(
    r"(?:const)?(?:std::)?(?:lock_guard|unique_lock|scoped_lock)(?:<[^;]*?>)?"
    r"(?P<name>\w+)[({](?P<locks>[^;]*)[)}];"
)
SYNCHRONISING = re.compile(r"pthread_mutex_\w*lock\(|(?:\.|->)(?:un)?lock\(\)")
HEADERS = (".h", ".hh", ".hpp", ".hxx", ".ipp", ".inl")
Sources = Mapping[str, CSource]


@dataclass(frozen=True)
class Mutex(LockChoice):
    """A mutex that regions may hold; see LockChoice.

    Attributes:
        type: As it is declared: `pthread_mutex_t`, `std::mutex`.
    """

    type: str = PTHREAD

    @property
    def is_pthread(self) -> bool:
        """Whether it is taken by a function of pthreads."""
        return self.type == PTHREAD

    def lock(self, expression: str) -> str:
        """The statement that takes it."""
        return f"pthread_mutex_lock(&{expression});"

    def unlock(self, expression: str) -> str:
        """The statement that gives it back."""
        return f"pthread_mutex_unlock(&{expression});"


def is_mutex(type_name: str) -> bool:
    """Whether a variable of this type is one."""
    return type_name == PTHREAD or STANDARD.fullmatch(type_name) is not None


def mutexes(sources: Sources) -> Iterator[Mutex]:
    """Those of the files and of their classes."""
    for source in sources.values():
        for variable in source.unit.variables:
            if is_mutex(variable.type):
                yield Mutex("", variable.name, source.name, type=variable.type)
        for owner in source.unit.classes:
            for member in owner.members:
                if is_mutex(member.type):
                    yield Mutex(owner.name, member.name, source.name, type=member.type)


def classes(sources: Sources) -> dict[str, Class]:
    """The classes of some files by name; one that is there twice is not meant by either."""
    found: dict[str, list[Class]] = {}
    for source in sources.values():
        for owner in source.unit.classes:
            found.setdefault(owner.name, []).append(owner)
    return {name: ones[0] for name, ones in found.items() if name and len(ones) == 1}


# How it is written.


def expression(
    mutex: Mutex, run: StatementRange, sources: Sources, at_fault: frozenset[str]
) -> str:
    """How the statements of a run write the mutex; raises if they cannot reach it."""
    if not mutex.owner:
        return mutex.name
    if run.function.owner == mutex.owner and run.function.name:
        return mutex.name
    owner = classes(sources).get(mutex.owner)
    if owner is None:
        raise UnpatchableError(f"{mutex.owner} is not declared in the files at fault")
    members = frozenset(one.name for one in owner.members)
    texts: list[str] = []
    # The object whose members are at fault, rather than one through which it is reached.
    for wanted in (members & at_fault, members):
        found = Counter(_receivers(list(run.tokens), wanted))
        texts += sorted(found, key=lambda one: (-found[one], one))
    texts = [text for text in texts if at_fault.isdisjoint(re.findall(r"\w+", text))]
    texts += _named(mutex.owner, run, sources)
    if not texts:
        raise UnpatchableError(f"no {mutex.owner} is named there")
    return f"{texts[0]}{mutex.name}"


def _receivers(tokens: list[Token], members: frozenset[str]) -> Iterator[str]:
    """What is before a member of the class, its sign included: `o->`, `office.`."""
    for index in range(2, len(tokens)):
        if tokens[index].text in members and tokens[index - 1].text in ("->", "."):
            begin = _receiver(tokens, index - 2)
            text = "".join(one.text for one in tokens[begin:index])
            if "(" not in text and "++" not in text and "--" not in text:
                yield text


def _receiver(tokens: list[Token], at: int) -> int:
    """Where the expression that ends at `at` begins."""
    while at > 0:
        if tokens[at].text == "]":
            at = opening(tokens, at) - 1
        elif tokens[at - 1].text in ("->", ".", "::"):
            at -= 2
        else:
            return at
    return at


def _named(owner: str, run: StatementRange, sources: Sources) -> list[str]:
    """A parameter or a variable of the file that is one, if the run names it."""
    words = {one.text for one in run.tokens}
    head = "".join(one.text + " " for one in run.function.head)
    found = []
    for sign, name in re.findall(rf"\b{re.escape(owner)} ([*&]) (\w+)", head):
        if name in words:
            found.append(f"{name}->" if sign == "*" else f"{name}.")
    for source in sources.values():
        for variable in source.unit.variables:
            if variable.name in words and variable.type in (owner, f"struct{owner}"):
                found.append(f"{variable.name}.")
    return found


# Who takes it.


def text_of(statement: Statement) -> str:
    """A statement without blanks."""
    return "".join(
        one.text + " " if one.text in ("struct", "return", "const", "unsigned") else one.text
        for one in statement.tokens
    )


def takes(statement: Statement, lock: str) -> bool:
    """Whether it locks the mutex, until it is unlocked."""
    if statement.kind != "simple":
        return False
    text = text_of(statement).removeprefix("(void)")
    return text in (
        f"pthread_mutex_lock(&{lock});",
        f"pthread_mutex_lock({lock});",
        f"{lock}.lock();",
    )


def gives(statement: Statement, lock: str) -> bool:
    """Whether it unlocks the mutex."""
    if statement.kind != "simple":
        return False
    text = text_of(statement).removeprefix("(void)")
    return text in (
        f"pthread_mutex_unlock(&{lock});",
        f"pthread_mutex_unlock({lock});",
        f"{lock}.unlock();",
    )


def guards(statement: Statement, lock: str) -> str:
    """The name of the guard that holds the mutex up to the end of its block; "" if it is none."""
    found = GUARD.fullmatch(text_of(statement)) if statement.kind == "simple" else None
    return found["name"] if found and lock in found["locks"].split(",") else ""


def synchronises(statement: Statement) -> bool:
    """Whether it takes or gives back any mutex."""
    text = text_of(statement) if statement.kind == "simple" else ""
    return bool(GUARD.fullmatch(text) or SYNCHRONISING.search(text))


def is_unlock(statement: Statement) -> bool:
    """Whether it gives back any mutex."""
    return statement.kind == "simple" and "unlock(" in text_of(statement)


# A new one.


def new_name(wanted: str, taken: frozenset[str] | set[str]) -> str:
    """A name that nothing has yet."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}{number}", number + 1
    return name


def new_type(sources: Sources) -> str:
    """What the files use already, else what their language has."""
    every = list(sources.values())
    if any(one.includes("mutex") for one in every):
        return "std::mutex"
    if any(one.includes("pthread.h") for one in every):
        return PTHREAD
    return "std::mutex" if all(one.is_cpp for one in every) else PTHREAD


def bear(mutex: Mutex, every: Mapping[str, CEdits], used: frozenset[str]) -> None:
    """Define the mutex in the file that it belongs to, and declare it in others that use it."""
    several = len(used) > 1
    headers = [name for name in sorted(used) if every[name].source.path.suffix in HEADERS]
    if headers:
        _bear_inline(mutex, every[headers[0]], several=len(headers) > 1)
        return
    home = mutex.file if mutex.file in used else min(used)
    for name in sorted(used):
        edits = every[name]
        include(edits, "pthread.h" if mutex.is_pthread else "mutex")
        if name == home:
            value = " = PTHREAD_MUTEX_INITIALIZER" if mutex.is_pthread else ""
            storage = "" if several else "static "
            declare(edits, f"{storage}{mutex.type} {mutex.name}{value};")
        else:
            declare(edits, f"extern {mutex.type} {mutex.name};")


def _bear_inline(mutex: Mutex, edits: CEdits, *, several: bool) -> None:
    """In a header of C++; whoever includes it has the same one."""
    if mutex.is_pthread or several or not edits.source.is_cpp:
        raise UnpatchableError("a new mutex in a header would be one for each file")
    include(edits, "mutex")
    declare(edits, f"inline {mutex.type} {mutex.name};")


def declare(edits: CEdits, text: str) -> None:
    """New lines behind the includes, or else before everything."""
    position, blank = _behind_includes(edits.source)
    newline = edits.source.newline
    lines = "".join(line + newline for line in text.split("\n"))
    edits.insert(position, newline + lines if blank else lines + newline)


def include(edits: CEdits, header: str) -> None:
    """The include that the file lacks, behind its last one."""
    if edits.source.includes(header):
        return
    found = _includes(edits.source)
    line = f"#include <{header}>{edits.source.newline}"
    if found:
        edits.insert(edits.source.begin_of(edits.source.line_of(found[-1].begin)), line)
    else:
        position, _ = _behind_includes(edits.source)
        edits.insert(position, line)


def _includes(source: CSource) -> list[Token]:
    """The includes before the first declaration, outside of every condition."""
    first = source.tokens.every[0].begin if source.tokens.every else len(source.text)
    depth, found = 0, []
    for directive in source.tokens.directives:
        if directive.begin > first:
            break
        word = re.sub(r"\s", "", directive.text)
        if word.startswith("#if"):
            depth += 1
        elif word.startswith("#endif"):
            depth -= 1
        elif word.startswith("#include") and not depth:
            found.append(directive)
    return found


def _behind_includes(source: CSource) -> tuple[int, bool]:
    """A position for declarations, and whether a blank line belongs before them or behind."""
    found = _includes(source)
    if found:
        line = source.line_of(found[-1].end - 1)
        return source.begin_of(line) + len(source.lines[line - 1]), True
    first = source.tokens.every[0].begin if source.tokens.every else len(source.text)
    return source.begin_of(source.line_of(first)), False
