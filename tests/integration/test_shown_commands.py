# SPDX-License-Identifier: Apache-2.0
"""What pages show was typed and printed: their commands are run, their outputs compared.

`UNSNARL_UPDATE_GOLDEN=1 pytest tests/integration/test_shown_commands.py` writes the outputs anew.
"""

from __future__ import annotations

import os
import re
import textwrap
from pathlib import Path

import pytest
from tests.integration.shown_commands import (
    WHERE,
    Session,
    agree,
    checked,
    parts,
    unchecked,
)

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted([DOCS / "tutorial.md", *DOCS.glob("how-to/*.md"), *DOCS.glob("explanation/*.md")])
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
WHERES = {page: found[1] for page, text in TEXTS.items() if (found := WHERE.search(text))}
NAMES = {page.stem: page for page in WHERES}
FIRST = [page for page, where in WHERES.items() if where not in NAMES]
README_BLOCK = re.compile(r"<!-- demo output: begin -->\n```\n(.*?)```", re.DOTALL)


def _name(page: Path) -> str:
    return page.stem


@pytest.mark.slow
@pytest.mark.parametrize("first", FIRST, ids=_name)
def test_pages_show_what_their_commands_print(first: Path, tmp_path: Path) -> None:
    session = Session(tmp_path, WHERES[first])
    for page in (first, *(page for page, where in WHERES.items() if where == first.stem)):
        wrong, right = checked(TEXTS[page], session)
        if wrong and "UNSNARL_UPDATE_GOLDEN" in os.environ:
            page.write_text(right, encoding="utf-8")
        assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_no_command_is_shown_that_is_not_run(page: Path) -> None:
    assert unchecked(TEXTS[page]) == []
    assert page in WHERES or not list(parts(TEXTS[page]))


def test_pieces_of_a_report_are_those_of_the_demo() -> None:
    """The demo's report, which another test compares with README, is explained piece by piece."""
    found = README_BLOCK.search((DOCS.parent / "README.md").read_text(encoding="utf-8"))
    assert found
    page = (DOCS / "how-to" / "read-a-report.md").read_text(encoding="utf-8")
    pieces = re.findall(r"^```\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(pieces) > 5
    assert [piece for piece in pieces if piece not in found[1]] == []


PAGE = textwrap.dedent("""
    <!-- file: a.txt -->
    ```text
    one 1
    two
    three
    ```

    ```console
    $ cat a.txt
    one 7
    [...]
    three
    $ echo two
    2
    ```
""")


def test_a_page_with_another_output_is_seen_and_corrected(tmp_path: Path) -> None:
    wrong, right = checked(PAGE, Session(tmp_path, "here"))
    assert wrong == ["$ echo two\ntwo\n"]
    assert right == PAGE.replace("\n2\n", "\ntwo\n")
    assert checked(right, Session(tmp_path, "here")) == ([], right)


def test_figures_and_breaks_of_lines_do_not_count_but_words_do() -> None:
    assert agree("12 runs · size-0a1b\nin 3.1 s", "7 runs\n· size-ffff in 10 s\n")
    assert not agree("12 runs", "12 trials")
    assert not agree("[...]\nend", "begin\nend of it")


def test_a_command_that_has_no_answer_is_no_output(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="exit 3"):
        Session(tmp_path, "here").run("exit 3")


def test_commands_that_would_not_be_run_are_seen() -> None:
    assert unchecked("```\nunsnarl rank\n```\n") == ["unsnarl rank"]
    assert unchecked("```console\n$ unsnarl rank\n```\n") == []
