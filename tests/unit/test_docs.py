# SPDX-License-Identifier: Apache-2.0
"""Links lead somewhere, named files exist, and pages keep to their sizes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DECISIONS = sorted((ROOT / "docs" / "adr").glob("0*.md"))
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")})
NAMING = [page for page in PAGES if "internals" in page.parts or page.name == "ARCHITECTURE.md"]
# Files that the how-to pages make.
EXAMPLES = {
    "src/unsnarl/analyses/gap.py",
    "src/unsnarl/reports/render/checklist.py",
}
LINK = re.compile(r"\]\(([^)#\s]+)")
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|pyi|c|h|s|inc|def|md|toml))`")
BASES = (ROOT, ROOT / "src" / "unsnarl", ROOT / "native", ROOT / "src" / "unsnarl" / "reproduce")


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    inside = [link for link in links if "://" not in link]
    assert [link for link in inside if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", NAMING, ids=_name)
def test_files_that_are_named_exist(page: Path) -> None:
    named = set(PATH.findall(page.read_text(encoding="utf-8"))) - EXAMPLES
    named = {path for path in named if not re.search("[A-Z]{4}", path)}  # NAME.py
    missing = {path for path in named if not any((base / path).exists() for base in BASES)}
    assert missing == set()


def test_readme_fits_its_size() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("decision", DECISIONS, ids=_name)
def test_decisions_fit_on_a_screen(decision: Path) -> None:
    text = decision.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 45
    wanted = ("Status", "Question", "Decision", "Why", "Price")
    assert [part for part in wanted if not re.search(rf"^\W*{part}\b", text, re.MULTILINE)] == []


def test_decisions_are_listed() -> None:
    index = (ROOT / "docs" / "adr" / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in DECISIONS if f"({path.name})" not in index] == []
