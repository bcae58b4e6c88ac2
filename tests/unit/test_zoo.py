# SPDX-License-Identifier: Apache-2.0
"""The zoo is well formed: every bug has its twin and a truth that points at real lines."""

import ast
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ZOO = Path(__file__).resolve().parents[2] / "zoo"
FOLDERS = sorted(path.parent for path in ZOO.glob("python/*/bug.toml"))
KEYS = {"name", "title", "type", "switch", "command", "fixed", "source", "cause"}
TYPES = {"atomicity", "order", "deadlock", "race", "lost-wakeup", "multi-variable"}
OPS = {"read", "write", "acquire", "wait", "release", "call"}
TIME_LIMIT = 120

every_bug = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def load(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "bug.toml").read_text(encoding="utf-8"))


def program(folder: Path, command: list[str]) -> Path:
    """The source file that a command of bug.toml runs."""
    return folder / command[1].partition("::")[0]


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every function below a node, with the qualified name its code object carries."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            name = prefix + child.name
            yield name, child
            yield from functions(child, f"{name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from functions(child, f"{prefix}{child.name}.")
        else:
            yield from functions(child, prefix)


def lines_of(source: str, function: str) -> list[str]:
    """The stripped lines of one function, found by its qualified name."""
    lines = [line.strip() for line in source.splitlines()]
    if function == "<module>":
        return lines
    node = dict(functions(ast.parse(source)))[function]
    assert isinstance(node, ast.stmt) and node.end_lineno is not None
    return lines[node.lineno - 1 : node.end_lineno]


def run(folder: Path, command: list[str]) -> tuple[int | None, str]:
    """Run a command of bug.toml; the status is None if it did not end in time."""
    tool, *arguments = command
    start = [sys.executable] if tool == "python" else [sys.executable, "-m", "pytest", "-q"]
    environment = os.environ | {
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
    }
    try:
        done = subprocess.run(
            [*start, *arguments],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIME_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, "deadlock"
    return done.returncode, done.stdout


def test_the_zoo_is_not_empty() -> None:
    assert len(FOLDERS) >= 42
    assert [path.name for path in FOLDERS] == sorted(
        path.name for path in (ZOO / "python").iterdir() if path.is_dir()
    )


def test_the_readme_lists_every_bug() -> None:
    rows = (ZOO / "README.md").read_text(encoding="utf-8").splitlines()
    for folder in FOLDERS:
        bug = load(folder)
        row = next(row for row in rows if row.startswith(f"| [{folder.name}]"))
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[2].startswith(bug["type"])
        assert cells[3] == bug["switch"]


@every_bug
def test_bug_toml_is_complete(folder: Path) -> None:
    bug = load(folder)
    assert bug.keys() == KEYS
    assert bug["name"] == folder.name
    assert bug["type"] in TYPES
    assert bug["switch"] in {"gil", "free"}
    assert all(bug[key] for key in ("title", "source", "cause"))
    assert all(bug[key][0] in {"python", "pytest"} for key in ("command", "fixed"))


@every_bug
def test_program_and_twin_differ_little(folder: Path) -> None:
    bug = load(folder)
    buggy, fixed = (program(folder, bug[key]) for key in ("command", "fixed"))
    name, twin = ("test_", "test_fixed") if bug["command"][0] == "pytest" else ("", "fixed")
    assert buggy.name == f"{name}{folder.name}.py"
    assert fixed.name == f"{twin}.py"
    before, after = (path.read_text(encoding="utf-8") for path in (buggy, fixed))
    assert before != after
    assert ast.get_docstring(ast.parse(before)) == ast.get_docstring(ast.parse(after)) is not None
    changed = set(before.splitlines()) ^ set(after.splitlines())
    assert len({line.strip() for line in changed}) <= 16


@every_bug
def test_causes_point_at_one_line_each(folder: Path) -> None:
    for cause in load(folder)["cause"]:
        assert cause["signature"]
        points = cause["points"]
        threads = len({point["role"] for point in points})
        assert {point["role"] for point in points} == set(range(1, threads + 1))
        assert threads in ((2, 3) if load(folder)["type"] == "deadlock" else (2,))
        assert 2 <= len(points) <= (2 * threads if threads > 2 else 4)
        for point in points:
            assert point.keys() == {"file", "function", "text", "op", "role"}
            assert point["op"] in OPS
            source = (folder / point["file"]).read_text(encoding="utf-8")
            lines = lines_of(source, point["function"])
            assert sum(point["text"] in line for line in lines) == 1, point


@every_bug
def test_program_passes_or_fails_with_its_signature(folder: Path) -> None:
    bug = load(folder)
    status, output = run(folder, bug["command"])
    if status != 0 or "Traceback" in output:
        assert any(cause["signature"] in output for cause in bug["cause"]), output


@every_bug
def test_twin_passes(folder: Path) -> None:
    status, output = run(folder, load(folder)["fixed"])
    assert status == 0, output
    assert "Traceback" not in output
