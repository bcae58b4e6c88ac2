# SPDX-License-Identifier: Apache-2.0
"""Sites and points: where in the source something happened, and what."""

from __future__ import annotations

import re

import msgspec

from unsnarl.model.event import Op

# A call's own instruction comes so closely after the look-up of the method (gate/lock.c).
CALL_REACH = 40


# What comprehensions and generator expressions are called, as code of their own.
_NESTED = re.compile(r"(\.<locals>)?(\.|^)<(listcomp|setcomp|dictcomp|genexpr)>")


class Site(msgspec.Struct, frozen=True, order=True):
    """A static code point: the same in every run of one campaign."""

    file: str
    function: str
    line: int
    end_line: int
    column: int
    end_column: int
    kind: str
    name: str
    variable: str = ""

    @property
    def enclosing(self) -> str:
        """The function that it is written in: a comprehension is part of the one around."""
        if "<" not in self.function:
            return self.function
        return _NESTED.sub("", self.function) or "<module>"


UNKNOWN_SITE = Site("?", "?", 0, 0, 0, 0, "unknown", "")


class Point(msgspec.Struct, frozen=True, order=True):
    """A site and what was done there: what a node of the graph stands for."""

    site: Site
    op: Op
