# SPDX-License-Identifier: Apache-2.0
"""The methods by name: each takes a comparison and returns ranked answers, best first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from unsnarl.analyses import bugaboo, falcon, joined
from unsnarl.analyses.answer import Answer
from unsnarl.analyses.baselines import avio, cci
from unsnarl.analyses.elimination import explained
from unsnarl.analyses.falcon import Formula
from unsnarl.analyses.recon.answers import answers as reconstructions
from unsnarl.model.evidence import Comparison

DEFAULT = "joined"
UNLABELLED = "bugaboo-unlabelled"


@dataclass(frozen=True)
class Choices:
    """What a user may choose of the methods; the defaults are those of the papers.

    Attributes:
        formula: Falcon's suspiciousness (Falcon 3.2).
        context_size: Length of Bugaboo's contexts.
    """

    formula: Formula = "jaccard"
    context_size: int = 5


Method = Callable[[Comparison, Choices], list[Answer]]


def _bugaboo(comparison: Comparison, choices: Choices, *, labelled: bool) -> list[Answer]:
    options = bugaboo.BugabooOptions(labelled=labelled, context_size=choices.context_size)
    return bugaboo.answers(comparison, options)


METHODS: dict[str, Method] = {
    DEFAULT: lambda comparison, _: explained(comparison, joined.answers),
    "recon": lambda comparison, _: explained(comparison, reconstructions),
    "falcon": lambda comparison, choices: falcon.answers(
        comparison, falcon.FalconOptions(formula=choices.formula)
    ),
    "bugaboo": lambda comparison, choices: _bugaboo(comparison, choices, labelled=True),
    UNLABELLED: lambda comparison, choices: _bugaboo(comparison, choices, labelled=False),
    "cci": lambda comparison, _: cci.answers(comparison),
    "avio": lambda comparison, _: avio.answers(comparison),
}


def rank_with(method: str, comparison: Comparison, choices: Choices | None = None) -> list[Answer]:
    """The answers of a method; nothing to compare, nothing to rank."""
    return METHODS[method](comparison, choices or Choices()) if comparison.failing else []


def rank_quickly(comparison: Comparison) -> list[Answer]:
    """The answers of the default method that are found in a fraction of its time."""
    return joined.answers(comparison, with_cycles=False) if comparison.failing else []
