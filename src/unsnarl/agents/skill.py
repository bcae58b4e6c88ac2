# SPDX-License-Identifier: Apache-2.0
"""SKILL.md: how an agent goes from a flaky test to a verified fix."""

from __future__ import annotations

from importlib import resources


def skill() -> str:
    """The text, as it comes with the package."""
    return resources.files("unsnarl.agents").joinpath("SKILL.md").read_text("utf-8")
