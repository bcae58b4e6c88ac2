# SPDX-License-Identifier: Apache-2.0
"""The methods by name: each takes a comparison and returns ranked answers, best first."""

from __future__ import annotations

from collections.abc import Callable

from unsnarl.analyses import falcon, joined
from unsnarl.analyses.answer import Answer
from unsnarl.analyses.recon.answers import answers as recon_answers
from unsnarl.model.evidence import Comparison

Method = Callable[[Comparison], list[Answer]]

DEFAULT = "joined"
METHODS: dict[str, Method] = {
    DEFAULT: joined.answers,
    "recon": recon_answers,
    "falcon": falcon.answers,
}


def rank_with(method: str, comparison: Comparison) -> list[Answer]:
    """The answers of a method; nothing to compare, nothing to rank."""
    return METHODS[method](comparison) if comparison.failing else []
