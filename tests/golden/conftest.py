# SPDX-License-Identifier: Apache-2.0
"""Compares texts with the files beside this one; README.md says how to update them."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# What differs from run to run or from machine to machine, and what stands for it.
SCRUBS = (
    (re.compile(r"\b\d+\.\d+ s\b"), "N.N s"),
    (re.compile(r"\b\d{8}-\d{6}\b"), "CAMPAIGN"),
    (re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+(?=[\w.-]+\.py\b)"), "ROOT/"),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "0xADDRESS"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


def scrubbed(text: str) -> str:
    for pattern, substitute in SCRUBS:
        text = pattern.sub(substitute, text)
    return text


@pytest.fixture
def scrub() -> Callable[[str], str]:
    return scrubbed


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    def compare(name: str, text: str) -> None:
        path = HERE / "texts" / f"{name}.txt"
        actual = scrubbed(text)
        if os.environ.get("UNSNARL_UPDATE_GOLDEN"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(actual, "utf-8")
        expected = path.read_text("utf-8") if path.exists() else ""
        assert actual == expected, f"{path.name} differs; tests/golden/README.md says how to update"

    return compare
