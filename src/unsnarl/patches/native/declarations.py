# SPDX-License-Identifier: Apache-2.0
"""What a file of C or C++ declares: functions with bodies, classes, variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unsnarl.patches.native.tokens import Token, closing
from unsnarl.patches.native.tree import TRAILING, CFunction, Class, Member, Unit, body_of

SCOPES = ("namespace", "class", "struct", "union", "extern")
STORAGE = ("static", "mutable", "extern", "inline", "thread_local")
ACCESS = ("public", "private", "protected")
Scope = tuple[str, ...]


def parse(tokens: Sequence[Token]) -> Unit:
    """The functions, classes and variables of a file."""
    reader = _Reader(tokens)
    reader.unit.variables += reader.declarations(0, len(tokens), ())
    return reader.unit


class _Reader:
    """Reads declarations one after the other, and those in scopes."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self.unit = Unit()

    def declarations(self, at: int, end: int, scope: Scope) -> list[Member]:
        """Read up to `end`; gives the variables of this scope."""
        tokens = self._tokens
        begin = at
        found: list[Member] = []
        while at < end:
            text = tokens[at].text
            if text == ";":
                found += _variables(tokens[begin:at])
                begin = at + 1
            elif text in ("(", "["):
                at = closing(tokens, at)
            elif text == "{":
                last = closing(tokens, at)
                if self._braced(begin, at, scope):
                    begin = last + 1
                at = last
            elif text == ":" and at > begin and tokens[at - 1].text in ACCESS:
                begin = at + 1
            at += 1
        return found

    def _braced(self, begin: int, at: int, scope: Scope) -> bool:
        """Read what a brace opens; gives whether a declaration ends behind it."""
        head = self._tokens[begin:at]
        words = [one.text for one in head]
        if words and words[-1] == "=":
            return False
        called = words.index("(") if "(" in words else -1
        keyword = next((one for one in SCOPES if one in words), "")
        if keyword in ("namespace", "extern"):
            return self._namespace(head, at, scope)
        if keyword and called < 0:
            self._class(head, keyword, at, scope)
            # `struct x { ... } variable;` goes on.
            return False
        if called < 1 or "enum" in words or not _ends_a_head(words):
            return False
        name, prefix = _name(words, called)
        body = body_of(self._tokens, at, closing(self._tokens, at))
        self.unit.functions.append(CFunction(name, (*scope, *prefix), tuple(head), body))
        return True

    def _namespace(self, head: Sequence[Token], at: int, scope: Scope) -> bool:
        """`namespace x {`, `extern "C" {`: what is in it is the file's."""
        names = [one.text for one in head if one.kind == "word"]
        inner = (*scope, *names[1:2]) if names[0] == "namespace" else scope
        self.unit.variables += self.declarations(at + 1, closing(self._tokens, at), inner)
        return True

    def _class(self, head: Sequence[Token], keyword: str, at: int, scope: Scope) -> None:
        tokens, last = self._tokens, closing(self._tokens, at)
        names = [one.text for one in head if one.kind == "word"]
        name = "".join(names[names.index(keyword) + 1 :][:1])
        if not name and last + 1 < len(tokens) and tokens[last + 1].kind == "word":
            name = tokens[last + 1].text  # typedef struct { ... } name;
        members = self.declarations(at + 1, last, (*scope, name))
        self.unit.classes.append(Class(name, tuple(members)))


def _ends_a_head(words: Sequence[str]) -> bool:
    """Whether a function's body may follow: not the value of a member, `: next{0}`."""
    if words[-1] == ")" or words[-1] in TRAILING:
        return True
    if "->" in words:
        return True
    # Behind the initialisers of a constructor the last one has ended.
    return words[-1] == "}"


def _name(words: Sequence[str], called: int) -> tuple[str, tuple[str, ...]]:
    """The name before the parameters, and the scopes that are written before it."""
    name = words[called - 1]
    prefix: list[str] = []
    at = called - 2
    if at >= 0 and words[at] == "~":
        name, at = f"~{name}", at - 1
    while at >= 1 and words[at] == "::":
        prefix.insert(0, words[at - 1])
        at -= 2
    return name, tuple(prefix)


def _variables(tokens: Sequence[Token]) -> Iterator[Member]:
    """The variables of a declaration: `static int low, high = 2`."""
    words = [one.text for one in tokens]
    if not words or words[0] in ("typedef", "using", "friend", "return", "template"):
        return
    depth = 0
    base: str | None = None
    for index, token in enumerate(tokens):
        if token.text in ("(", "[", "{"):
            if token.text == "(" and not depth:
                return  # a prototype, or what looks like one
            depth += 1
        elif token.text in (")", "]", "}"):
            depth -= 1
        following = words[index + 1] if index + 1 < len(words) else ","
        if not depth and index and token.kind == "word" and following in ("=", ",", "[", ";", "{"):
            if tokens[index - 1].text in ("struct", "class", "enum", "union", "="):
                continue
            if _in_a_value(words, index):
                continue
            if base is None:
                base = "".join(one for one in words[:index] if one not in STORAGE)
            yield Member(token.text, base)


def _in_a_value(words: Sequence[str], index: int) -> bool:
    """Whether an `=` stands between the last comma and the word."""
    for word in reversed(words[:index]):
        if word == ",":
            return False
        if word == "=":
            return True
    return False
