# SPDX-License-Identifier: Apache-2.0
"""Functions and statements of C and C++: what is in a body, and where.

It is no compiler: types and expressions stay tokens, and what a macro hides is not seen. The
compiler has the last word on every patch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from unsnarl.patches.native.tokens import Token, closing, opening

CONDITIONED = ("if", "while", "for", "switch", "catch")
LEAVING = ("return", "break", "continue", "goto", "throw", "co_return")
# Between the parameters of a function and its body.
TRAILING = frozenset(("const", "noexcept", "override", "final", "volatile", "try", "mutable"))


@dataclass(frozen=True)
class BranchBody:
    """Statements that are executed one after the other; without braces it is one."""

    statements: tuple[Statement, ...]
    braced: bool
    begin: int
    end: int


@dataclass(frozen=True)
class Statement:
    """A statement.

    Attributes:
        kind: `simple`, `label`, `block`, or its first word: `if`, `return`.
        tokens: All of it.
        head: Of a compound one, what is before its bodies: `while (x > 0)`.
        bodies: Its branches.
        lambdas: Functions that are written within it.
    """

    kind: str
    tokens: tuple[Token, ...]
    head: tuple[Token, ...] = ()
    bodies: tuple[BranchBody, ...] = ()
    lambdas: tuple[CFunction, ...] = ()

    @property
    def begin(self) -> int:
        """Where it begins."""
        return self.tokens[0].begin

    @property
    def end(self) -> int:
        """Where it has ended."""
        return self.tokens[-1].end

    def inner(self) -> Iterator[Statement]:
        """It, and all statements in it that are executed with it."""
        yield self
        for body in self.bodies:
            for statement in body.statements:
                yield from statement.inner()


@dataclass(frozen=True)
class CFunction:
    """A function with a body.

    Attributes:
        name: Without its scope; "" of a lambda.
        scope: The namespaces and classes around it and those before its name: `BlockQueue`.
        head: The tokens before its body.
    """

    name: str
    scope: tuple[str, ...]
    head: tuple[Token, ...]
    body: BranchBody

    @property
    def owner(self) -> str:
        """The class whose member it may be."""
        return self.scope[-1] if self.scope else ""

    @property
    def returns(self) -> str:
        """The type that it gives, as its source writes it; "" if that is not plain."""
        at = next((i for i, one in enumerate(self.head) if one.text == self.name), 0)
        words = [one.text for one in self.head[:at]]
        kept = [one for one in words if one not in ("static", "inline", "extern", "virtual")]
        if not kept or any(one in ("template", "]", "__attribute__", "explicit") for one in kept):
            return ""
        return " ".join(kept).replace(" :: ", "::")


@dataclass(frozen=True)
class Class:
    """A struct or class with its members."""

    name: str
    members: tuple[Member, ...]


@dataclass(frozen=True)
class Member:
    """A variable of a class or of the file: its name and the words of its type, put together."""

    name: str
    type: str


@dataclass
class Unit:
    """What a file declares."""

    functions: list[CFunction] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    variables: list[Member] = field(default_factory=list)

    def every(self) -> Iterator[CFunction]:
        """All functions, those within others included, inner ones last."""
        for function in self.functions:
            yield function
            yield from _lambdas(function.body)


def _lambdas(body: BranchBody) -> Iterator[CFunction]:
    for outer in body.statements:
        for statement in outer.inner():
            for function in statement.lambdas:
                yield function
                yield from _lambdas(function.body)


def body_of(tokens: Sequence[Token], at: int, last: int) -> BranchBody:
    """The statements between two braces."""
    found: list[Statement] = []
    index = at + 1
    while index < last:
        statement, index = _statement(tokens, index, last)
        found.append(statement)
    return BranchBody(tuple(found), True, tokens[at].begin, tokens[last].end)


def _single(tokens: Sequence[Token], at: int, end: int) -> tuple[BranchBody, int]:
    """A branch: a block, or one statement."""
    if at < end and tokens[at].text == "{":
        last = closing(tokens, at)
        return body_of(tokens, at, last), last + 1
    if at >= end:
        position = tokens[end - 1].end
        return BranchBody((), False, position, position), end
    statement, after = _statement(tokens, at, end)
    return BranchBody((statement,), False, statement.begin, statement.end), after


def _statement(tokens: Sequence[Token], at: int, end: int) -> tuple[Statement, int]:
    word = tokens[at].text
    if word == "{":
        last = closing(tokens, at)
        body = body_of(tokens, at, last)
        return Statement("block", tuple(tokens[at : last + 1]), (), (body,)), last + 1
    if word in CONDITIONED or _is_a_loop_of_a_macro(tokens, at, end):
        return _conditioned(tokens, at, end)
    if word in ("do", "try"):
        return _unconditioned(tokens, at, end)
    label = _label(tokens, at, end)
    if label:
        return Statement("label", tuple(tokens[at:label])), label
    return _simple(tokens, at, end)


def _is_a_loop_of_a_macro(tokens: Sequence[Token], at: int, end: int) -> bool:
    """`LIST_FOREACH(x, list) {`."""
    if tokens[at].kind != "word" or at + 1 >= end or tokens[at + 1].text != "(":
        return False
    last = closing(tokens, at + 1)
    return last + 1 < end and tokens[last + 1].text == "{"


def _conditioned(tokens: Sequence[Token], at: int, end: int) -> tuple[Statement, int]:
    word = tokens[at].text
    index = at + 1
    while index < end and tokens[index].text != "(":  # if constexpr
        index += 1
    after = closing(tokens, index) + 1 if index < end else end
    head = tuple(tokens[at:after])
    body, after = _single(tokens, after, end)
    bodies = [body]
    while word == "if" and after < end and tokens[after].text == "else":
        body, after = _single(tokens, after + 1, end)
        bodies.append(body)
    kind = word if word in CONDITIONED else "loop"
    return Statement(kind, tuple(tokens[at:after]), head, tuple(bodies), _inside(head)), after


def _unconditioned(tokens: Sequence[Token], at: int, end: int) -> tuple[Statement, int]:
    word = tokens[at].text
    body, after = _single(tokens, at + 1, end)
    bodies = [body]
    if word == "do":
        while after < end and tokens[after].text != ";":
            after = closing(tokens, after) + 1 if tokens[after].text == "(" else after + 1
        after = min(after + 1, end)
    while word == "try" and after < end and tokens[after].text == "catch":
        body, after = _single(tokens, closing(tokens, after + 1) + 1, end)
        bodies.append(body)
    return Statement(word, tuple(tokens[at:after]), (), tuple(bodies)), after


def _label(tokens: Sequence[Token], at: int, end: int) -> int:
    """Behind `case 2:`, `default:` or `out:`; 0 if there is no label."""
    if tokens[at].text in ("case", "default"):
        index = at
        while index < end and tokens[index].text not in (":", ";"):
            index += 1
        return index + 1
    follows = at + 1 < end and tokens[at + 1].text == ":"
    return at + 2 if tokens[at].kind == "word" and follows else 0


def _simple(tokens: Sequence[Token], at: int, end: int) -> tuple[Statement, int]:
    index = at
    while index < end and tokens[index].text != ";":
        index = closing(tokens, index) + 1 if tokens[index].text in ("(", "[", "{") else index + 1
    after = min(index + 1, end)
    found = tuple(tokens[at:after])
    word = tokens[at].text
    kind = word if word in LEAVING else "simple"
    return Statement(kind, found, (), (), _inside(found)), after


def _inside(tokens: Sequence[Token]) -> tuple[CFunction, ...]:
    """The lambdas of an expression."""
    found = []
    at = 0
    while at < len(tokens):
        if tokens[at].text == "{" and _opens_a_lambda(tokens, at):
            last = closing(tokens, at)
            found.append(CFunction("", (), (), body_of(tokens, at, last)))
            at = last
        at += 1
    return tuple(found)


def _opens_a_lambda(tokens: Sequence[Token], at: int) -> bool:
    before = at - 1
    while before > 0 and tokens[before].text in TRAILING:
        before -= 1
    if before > 0 and tokens[before].text == ")":
        before = opening(tokens, before) - 1
    if before < 0 or tokens[before].text != "]":
        return False
    first = opening(tokens, before)
    # `a[1] {` would be no lambda; behind a name or bracket it is an element.
    return first == 0 or tokens[first - 1].text in ("(", ",", "=", "return", "{", "&&", "||")
