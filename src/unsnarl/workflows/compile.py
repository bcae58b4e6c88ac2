# SPDX-License-Identifier: Apache-2.0
"""Compile: become the compiler, with the probe in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NoReturn

from unsnarl.probes.native import compiler

Language = Literal["cc", "c++"]


def compile_with_probe(language: Language, arguments: Sequence[str]) -> NoReturn:
    """Replace this process by the compiler; every argument but ours is passed on to it."""
    compiler.run(language, arguments)
