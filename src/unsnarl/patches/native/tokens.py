# SPDX-License-Identifier: Apache-2.0
"""C and C++ as tokens with their positions: words, numbers, strings, signs; no comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

TOKEN = re.compile(
    r"""
    (?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z))
  | (?P<directive>^[ \t]*\#(?:\\\r?\n|/\*.*?\*/|[^\n])*)
  | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
  | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])*')
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
  | (?P<sign>::|->|\+\+|--|&&|\|\||<<=|>>=|<<|[=!<>+\-*/%&|^]=|[^\s\w])
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
PAIRS = {"(": ")", "[": "]", "{": "}"}
CLOSING = frozenset(PAIRS.values())
CONDITIONAL = re.compile(r"[ \t]*#[ \t]*(?P<word>if|ifdef|ifndef|elif|else|endif)\b")


class Token(NamedTuple):
    """A token and where it is in the text."""

    kind: str
    text: str
    begin: int
    end: int


class Tokens(NamedTuple):
    """The tokens of a text, and where its preprocessor's directives are."""

    every: Sequence[Token]
    directives: Sequence[Token]


def read(text: str) -> Tokens:
    """All tokens but those behind an #else or #elif: one branch is enough for braces."""
    every, directives = [], []
    skipped: list[bool] = []
    for token in _scan(text):
        if token.kind == "directive":
            directives.append(token)
            _follow(token, skipped)
        elif not any(skipped):
            every.append(token)
    return Tokens(every, directives)


def _scan(text: str) -> Iterator[Token]:
    for match in TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind != "comment":
            kind = "string" if kind in ("raw", "mark") else kind
            yield Token(kind, match[0], match.start(), match.end())


def _follow(token: Token, skipped: list[bool]) -> None:
    found = CONDITIONAL.match(token.text)
    word = found["word"] if found else ""
    if word in ("if", "ifdef", "ifndef"):
        skipped.append(re.match(r"[ \t]*#[ \t]*if[ \t]+0\b", token.text) is not None)
    elif word in ("elif", "else") and skipped:
        skipped[-1] = not (skipped[-1] and word == "else")
    elif word == "endif" and skipped:
        skipped.pop()


def closing(tokens: Sequence[Token], at: int) -> int:
    """The index of the bracket that closes the one at `at`; the last index if none does."""
    depth = 0
    for index in range(at, len(tokens)):
        if tokens[index].text in PAIRS:
            depth += 1
        elif tokens[index].text in CLOSING:
            depth -= 1
            if not depth:
                return index
    return len(tokens) - 1


def opening(tokens: Sequence[Token], at: int) -> int:
    """The index of the bracket that the one at `at` closes; 0 if none does."""
    depth = 0
    for index in range(at, -1, -1):
        if tokens[index].text in CLOSING:
            depth += 1
        elif tokens[index].text in PAIRS:
            depth -= 1
            if not depth:
                return index
    return 0
