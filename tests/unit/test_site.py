# SPDX-License-Identifier: Apache-2.0
"""What the site adds to the pages: the contents, and what is generated from the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from docs.site import drawings, reference
from docs.site.pages import rewritten, sections

from unsnarl import config, errors
from unsnarl.cli.main import cli
from unsnarl.reports.render.json import schema

REPOSITORY = Path(__file__).parents[2]
PAGES = [path for path in REPOSITORY.glob("docs/**/*.md") if path.parent.name != "adr"]


def listed(index: str) -> set[Path]:
    """The pages that an index names."""
    path = REPOSITORY / index
    found = sections(path.read_text(encoding="utf-8"))
    return {(path.parent / f"{link}.md").resolve() for _, links in found for link in links}


def test_every_page_is_in_the_contents():
    named = listed("docs/README.md") | listed("docs/internals/README.md")
    assert {path for path in PAGES if path.name != "README.md"} <= named


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_option_of_every_command_is_in_the_reference(name):
    _, _, rest = reference.options().partition(f"## {name}\n")
    text = rest.partition("\n## ")[0]
    shown = [one for one in cli.commands[name].params if not getattr(one, "hidden", False)]
    options = {word for one in shown for word in one.opts if word[0] == "-"}
    assert f"Usage: unsnarl {name}" in text
    assert [word for word in options if word not in text] == []


def test_every_setting_has_a_row_with_its_meaning():
    rows = re.findall(r"^\| `([\w-]+)` \|.*\| (.+) \|$", reference.settings(), re.MULTILINE)
    assert [key for key, meaning in rows if meaning] == list(config.KEYS)


def test_every_field_of_the_report_is_in_the_reference():
    text = reference.report_fields()
    for name, one in json.loads(schema())["$defs"].items():
        part = text.partition(f"## {name}\n")[2].partition("\n## ")[0]
        assert re.findall(r"^\| `(\w+)`", part, re.MULTILINE) == list(one.get("properties", ()))


def test_the_exit_codes_of_the_commands_page_are_those_of_the_code():
    page = (REPOSITORY / "docs" / "commands.md").read_text(encoding="utf-8")
    rows = "".join(f"| {code} | {text} |\n" for code, text in errors.EXIT_CODES.items())
    assert f"| code | meaning |\n|---|---|\n{rows}\n" in page
    codes = {value for name, value in vars(errors).items() if re.fullmatch("EXIT_[A-Z_]+", name)
             and isinstance(value, int)}  # fmt: skip
    assert set(errors.EXIT_CODES) == codes


@pytest.mark.parametrize("name", reference.GENERATED)
def test_what_is_generated_has_rows(name):
    assert reference.GENERATED[name]().count("\n") > 4


def test_every_generated_part_has_a_page_that_asks_for_it():
    texts = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert set(re.findall(r"<!-- generated: ([\w-]+) -->", texts)) == set(reference.GENERATED)


@pytest.mark.parametrize("name", drawings.DRAWINGS)
def test_drawings_are_those_of_the_command(name):
    stored = (drawings.FIGURES / f"{name}.svg").read_text(encoding="utf-8")
    assert stored == drawings.DRAWINGS[name](), "python -m docs.site.drawings"


def test_the_front_page_gets_the_contents_and_other_pages_stay_as_they_are():
    front = rewritten("README", "# unsnarl\n", REPOSITORY)
    assert ":caption: Reference" in front and "\n/docs/commands\n" in front
    assert rewritten("docs/ci", "# CI\n", REPOSITORY) == "# CI\n"
    assert "orphan: true" in rewritten("zoo/README", "# Zoo\n", REPOSITORY)
    assert "\nadd-a-probe\n" in rewritten(
        "docs/internals/README", "- [a](add-a-probe.md): probes\n", REPOSITORY
    )
