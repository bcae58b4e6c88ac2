# SPDX-License-Identifier: Apache-2.0
"""What holds for all verbs, and for the commands that documents tell people and agents to type."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from unsnarl.agents.skill import skill
from unsnarl.cli.help_text import help_text
from unsnarl.cli.main import cli, run

REPOSITORY = Path(__file__).parents[2]
# Verbs whose answer is no text of ours, and what it is instead.
WITHOUT_JSON = {
    "cc": "the compiler's",
    "c++": "the compiler's",
    "collect": "pages for a browser, and an API in JSON",
    "completion": "a script of the shell",
    "mcp": "a protocol, in JSON itself",
    "report": "a page for a browser",
    "serve": "pages for a browser",
}
DOCUMENTS = {
    "SKILL.md": skill(),
    **{
        name: (REPOSITORY / name).read_text()
        for name in (
            "docs/agents.md",
            "docs/api.md",
            "docs/ci.md",
            "docs/collect.md",
            "docs/pytest.md",
            "docs/serve.md",
            "action/action.yml",
        )
    },
}


@pytest.mark.parametrize("verb", sorted(cli.commands))
def test_every_verb_that_answers_answers_in_json(verb):
    options = {name for option in cli.commands[verb].params for name in option.opts}
    assert ("--json" in options) is (verb not in WITHOUT_JSON)


def commands() -> list[tuple[str, str]]:
    """All calls of unsnarl in code of the documents."""
    found = []
    for name, text in DOCUMENTS.items():
        code = re.findall(r"```\w*\n(.*?)```", text, re.S) if name.endswith(".md") else [text]
        lines = [line for block in code for line in block.splitlines()]
        calls = [re.sub(r"^[\s$-]*(run: )?", "", line) for line in lines]
        found += [(name, call) for call in calls if call.startswith("unsnarl ")]
    return found


@pytest.mark.parametrize(("document", "call"), commands())
def test_commands_in_documents_exist(document, call):
    words = shlex.split(re.sub(r"\$\{\{.*?\}\}|\$\w+", "1", call.partition(" #")[0]))[1:]
    words = words[: words.index(">")] if ">" in words else words
    verb = cli.commands[words[0]]
    verb.make_context(words[0], words[1:], resilient_parsing=False)


def test_every_document_has_some():
    assert {name for name, _ in commands()} >= {"SKILL.md", "docs/agents.md", "docs/ci.md"}


def test_a_command_that_does_not_exist_is_seen():
    with pytest.raises(click.UsageError):
        cli.commands["hunt"].make_context("hunt", ["--no-such-option"])


def test_the_stored_help_is_what_the_command_would_print():
    stored = (REPOSITORY / "src" / "unsnarl" / "cli" / "help.txt").read_text()
    again = "python -m unsnarl.cli.help_text > src/unsnarl/cli/help.txt"
    assert stored == help_text(), again


def test_the_skill_is_printed_whole(capsys):
    assert run(["skill"]) == 0
    assert capsys.readouterr().out == skill()
