# SPDX-License-Identifier: Apache-2.0
"""Parts of pages that are made from the code whenever the site is built, as Markdown."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from unsnarl import config
from unsnarl.campaigns.store import SCHEMA, Description
from unsnarl.cli.hunt import hunt
from unsnarl.cli.main import cli
from unsnarl.replay.kept import KeptEvent
from unsnarl.reports.render.json import schema

REPOSITORY = Path(__file__).parents[2]
COLUMNS = 96


def options() -> str:
    """Every command, as its own `--help` has it."""
    return "\n\n".join(_command(name, command) for name, command in sorted(cli.commands.items()))


def _command(name: str, command: click.Command) -> str:
    width = {"terminal_width": COLUMNS, "max_content_width": COLUMNS}
    with click.Context(command, info_name=f"unsnarl {name}", **cli.context_settings | width) as one:
        return f"## {name}\n\n```\n{command.get_help(one).strip()}\n```"


def settings() -> str:
    """Every setting: what it means, what it is by default, how the environment sets it."""
    defaults = config.Settings()
    helps = {name: one for one in hunt.params for name in one.opts}
    rows = []
    for key, (field, _) in config.KEYS.items():
        option = helps.get(f"--{key}")
        text = option.help if isinstance(option, click.Option) else config.WITHOUT_OPTIONS[key]
        default = "one per core" if key == "jobs" else _value(getattr(defaults, field))
        meaning = re.sub(r" *\[default: .*?\]", "", text or "")
        rows.append((f"`{key}`", f"`{config.variable(key)}`", default, meaning))
    return _table(("setting", "environment", "default", "meaning"), rows)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or value in ("", ()):
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def report_fields() -> str:
    """Every type of the JSON report with its fields."""
    found = json.loads(schema())["$defs"]
    return "\n\n".join(_type(name, one) for name, one in found.items())


def _type(name: str, one: dict[str, Any]) -> str:
    summary, meanings = _documented(one.get("description", ""))
    needed = one.get("required", ())
    rows = [
        (f"`{field}`", _kind(kind), "" if field in needed else "yes", meanings.get(field, ""))
        for field, kind in one.get("properties", {}).items()
    ]
    return f"## {name}\n\n{summary}\n\n" + _table(
        ("field", "type", "may be absent", "meaning"), rows
    )


def _documented(text: str) -> tuple[str, dict[str, str]]:
    """A docstring: what it says first, and what of each attribute."""
    head, _, rest = inspect.cleandoc(text).partition("Attributes:\n")
    parts = re.split(r"^ {4}(\w+): ", rest, flags=re.MULTILINE)[1:]
    meanings = {name: _plain(one) for name, one in zip(parts[::2], parts[1::2], strict=True)}
    return _plain(head), meanings


def _kind(kind: dict[str, Any]) -> str:
    if "$ref" in kind:
        name = kind["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in kind:
        return " or ".join(_kind(one) for one in kind["anyOf"])
    if "enum" in kind:
        return ", ".join(f"`{one}`" for one in kind["enum"])
    if kind.get("type") == "array":
        return f"array of {_kind(kind['items'])}" if kind.get("items") else "array"
    if isinstance(kind.get("additionalProperties"), dict):
        return f"object of {_kind(kind['additionalProperties'])}"
    return str(kind.get("type", "any"))


def campaign_fields() -> str:
    """The keys of campaign.json."""
    notes = _comments(inspect.getsource(Description))
    kinds = Description.__annotations__
    rows = [(f"`{key}`", f"`{kinds[key]}`", notes[key]) for key in kinds]
    return _table(("key", "type", "meaning"), rows)


def campaign_tables() -> str:
    """The database of a campaign."""
    return f"```sql\n{SCHEMA.strip()}\n```"


def run_file() -> str:
    """What `format.h` says of run files, with its drawing, and their sections."""
    text = (REPOSITORY / "native/include/unsnarl/format.h").read_text(encoding="utf-8")
    comment = text.partition("*/")[0].partition("\n *\n")[2]
    drawn = "\n".join(line.removeprefix(" *").removeprefix(" ") for line in comment.splitlines())
    rows = re.findall(r"UNS_SECTION_(\w+) = (\d+),\s*/\* (.*?) \*/", text)
    table = _table(("section", "number", "holds"), [(f"`{a}`", b, c) for a, b, c in rows])
    return f"```\n{drawn.strip()}\n```\n\n{table}"


def kept_fields() -> str:
    """The keys of an event in a kept interleaving."""
    _, meanings = _documented(KeptEvent.__doc__ or "")
    kinds = KeptEvent.__annotations__
    rows = [(f"`{key}`", f"`{kind}`", meanings.get(key, "")) for key, kind in kinds.items()]
    return _table(("key", "type", "meaning"), rows)


def _comments(source: str) -> dict[str, str]:
    """By field, the comment behind it."""
    rows = re.findall(r"^    (\w+): [^#\n]*(?:# (.*))?$", source, re.MULTILINE)
    return dict(rows)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    """What is no code must not be taken for markup."""
    marks = r"([|])" if "`" in text else r"([|<*])"
    return re.sub(marks, r"\\\1", _plain(text))


def copied_table(page: str, heads: str) -> Callable[[], str]:
    """A table of a page with figures, by how it begins; so nothing is written down twice."""

    def table() -> str:
        text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
        start = text.index(f"\n| {heads}") + 1
        return text[start:].partition("\n\n")[0].rstrip()

    return table


GENERATED: dict[str, Callable[[], str]] = {
    "options": options,
    "settings": settings,
    "report-fields": report_fields,
    "campaign-fields": campaign_fields,
    "campaign-tables": campaign_tables,
    "run-file": run_file,
    "kept-fields": kept_fields,
    "ranking-methods": copied_table("evaluation.md", "method | cause in the top 3"),
    "slowdown": copied_table("programs.md", "program | work | threads"),
    "solvers": copied_table("orders.md", "accesses | NOST"),
}
