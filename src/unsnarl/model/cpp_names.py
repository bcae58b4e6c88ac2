# SPDX-License-Identifier: Apache-2.0
"""Names in C and C++: of files, and of functions without arguments, types and templates.

Used inside targets as well: standard library only.
"""

from __future__ import annotations

import re

# Sources, and the headers that are compiled into them.
C_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C")
C_HEADERS = (".h", ".hh", ".hpp", ".hxx")
SYSTEM_HEADERS = ("/usr/include/", "/usr/local/include/", "/usr/lib/gcc/")
_ANONYMOUS = "(anonymous namespace)::"
_LAMBDA = re.compile(r"\{lambda\(.*?\)#(\d+)\}")
_OPERATOR = re.compile(r"\boperator(\(\)|<<=|>>=|<=>|<<|>>|<=|>=|->\*|->|<|>)")
# Signs of operators stand for themselves until brackets have been dealt with.
_MASKS = str.maketrans("<>()", "\x01\x02\x03\x04")
_UNMASKED = str.maketrans("\x01\x02\x03\x04", "<>()")


def bare(function: str) -> str:
    """What may be a name with arguments, `int main()`, without them; others stay as they are."""
    return plain(function) if "(" in function else function


def plain(function: str) -> str:
    """`void work<int>(Queue<int>&)` is work<…>, `Account::deposit(int) const` Account::deposit."""
    text = _LAMBDA.sub(r"{lambda#\1}", function.replace(_ANONYMOUS, ""))
    text = _OPERATOR.sub(lambda found: found[0].translate(_MASKS), text)
    text = _without_templates(text).partition("(")[0].strip()
    # A template's function is listed with the type that it returns.
    owner, operator, sign = text.partition("operator")
    name = owner.rpartition(" ")[2] + operator + sign
    return name.translate(_UNMASKED)


def _without_templates(text: str) -> str:
    """Arguments in angle brackets become one sign."""
    kept: list[str] = []
    depth = 0
    for sign in text:
        depth -= sign == ">"
        if depth == 0:
            kept.append("<…>" if sign == ">" else sign)
        depth += sign == "<"
        if sign == "<" and depth == 1:
            kept.pop()
    return "".join(kept)
