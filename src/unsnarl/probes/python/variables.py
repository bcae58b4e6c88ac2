# SPDX-License-Identifier: Apache-2.0
"""Names of the variables that sites touched: a site knows its attribute, a run knows whose."""

from __future__ import annotations

from types import CodeType
from typing import Any

from unsnarl import _core
from unsnarl.probes.python import importer
from unsnarl.probes.python.rewriter.kinds import ATTR_WRITE


class _Sites:
    """The attribute sites of the rewritten codes, collected as far as `codes`."""

    def __init__(self) -> None:
        self.codes = 0
        self.found: list[Any] = []


_sites = _Sites()


def collect() -> None:
    """Find the sites of codes loaded since the last call; done before the fork to spare runs."""
    codes = importer._installed[-1]._kept
    for code in codes[_sites.codes :]:
        _collect(code)
    _sites.codes = len(codes)


def seen() -> dict[int, str]:
    """By site id: `Queue.qsize`, for the sites that an object has come to."""
    collect()
    names = ((site.id, site.variable) for site in _sites.found)
    return {number: name for number, name in names if "." in name}


def _collect(code: CodeType) -> None:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            _collect(const)
        elif isinstance(const, _core.Site) and const.kind <= ATTR_WRITE:
            _sites.found.append(const)
