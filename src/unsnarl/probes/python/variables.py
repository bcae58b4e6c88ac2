# SPDX-License-Identifier: Apache-2.0
"""Names of the variables that sites touched: a site knows its attribute, a run knows whose."""

from __future__ import annotations

from types import CodeType
from typing import Any

from unsnarl import _core

_ATTR_WRITE = 1  # the kinds up to this one are accesses of attributes

_codes: list[CodeType] = []  # rewritten, their sites not yet looked at
_sites: list[Any] = []


def install() -> None:
    """From now on, keep the rewritten code objects: their constants are the sites."""
    register = _core.register_code

    def register_code(code: CodeType, base: int, origin: bytes) -> Any:
        _codes.append(code)
        return register(code, base, origin)

    _core.register_code = register_code


def collect() -> None:
    """Find the sites of codes loaded since the last call; done before the fork to spare runs."""
    while _codes:
        for const in _codes.pop().co_consts:
            if type(const) is _core.Site and const.kind <= _ATTR_WRITE:
                _sites.append(const)


def seen() -> dict[int, str]:
    """By site id: `Queue.qsize`, for the sites that an object has come to."""
    collect()
    names = ((site.id, site.variable) for site in _sites)
    return {number: name for number, name in names if "." in name}
