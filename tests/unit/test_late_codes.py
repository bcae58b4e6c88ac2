# SPDX-License-Identifier: Apache-2.0
"""Ids of code that runs load by themselves: all runs agree on them."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unsnarl.probes.python.late_codes import LateCodes, LateModule
from unsnarl.runfile import SiteTable


def code_of(text: str, function: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(text, "late.py", "exec"), names)
    return names[function].__code__


F = code_of("def f():\n    return 1\n", "f")
G = code_of("\n\ndef g():\n    return 2\n", "g")


def entry(code: Any, size: int = 10) -> Callable[[], dict[str, Any]]:
    return lambda: {
        "base": 0,
        "size": size,
        "file": code.co_filename,
        "function": code.co_qualname,
        "line": code.co_firstlineno,
        "sites": [[1, "call", "", code.co_firstlineno, 0, 0, 0]],
    }


@pytest.fixture
def path(tmp_path):
    file = str(tmp_path / "codes.json.late")
    LateCodes(file, 100, 200).begin("same")
    return file


def test_runs_that_load_in_another_order_agree(path):
    one, other = LateCodes(path, 100, 200), LateCodes(path, 100, 200)
    first = one.base_of(F, entry(F)), one.base_of(G, entry(G))
    second = other.base_of(G, entry(G)), other.base_of(F, entry(F))
    assert first == (100, 110)
    assert second == (110, 100)


def test_code_that_is_loaded_twice_in_a_run_is_two_pieces_of_code(path):
    one, other = LateCodes(path, 100, 200), LateCodes(path, 100, 200)
    assert [one.base_of(F, entry(F)) for _ in range(3)] == [100, 110, 120]
    assert [other.base_of(F, entry(F)) for _ in range(2)] == [100, 110]


def test_what_finds_no_room_keeps_its_own_ids(path):
    codes = LateCodes(path, 100, 115)
    assert codes.base_of(F, entry(F)) == 100
    assert codes.base_of(G, entry(G)) is None


def test_a_file_that_cannot_be_used_costs_only_the_sharing(tmp_path):
    assert LateCodes(str(tmp_path / "gone" / "late"), 100, 200).base_of(F, entry(F)) is None


def test_a_server_that_starts_anew_keeps_ids_only_of_the_same_code(path):
    assert LateCodes(path, 100, 200).base_of(G, entry(G)) == 100
    LateCodes(path, 100, 200).begin("same")
    assert LateCodes(path, 100, 200).base_of(F, entry(F)) == 110
    LateCodes(path, 100, 200).begin("edited")
    assert LateCodes(path, 100, 200).base_of(F, entry(F)) == 100


def test_half_a_line_of_a_killed_run_is_skipped(path):
    assert LateCodes(path, 100, 200).base_of(F, entry(F)) == 100
    with Path(path).open("a", encoding="utf-8") as file:
        file.write('{"key": "x", "ba')
    codes = LateCodes(path, 100, 200)
    assert codes.base_of(G, entry(G)) == 110
    assert LateCodes(path, 100, 200).base_of(G, entry(G)) == 110


def test_the_table_of_sites_has_them(tmp_path, path):
    LateCodes(path, 100, 200).base_of(G, entry(G))
    content = {"version": 1, "watermark": 100, "shared": 200, "codes": []}
    (tmp_path / "codes.json").write_text(json.dumps(content))
    table = SiteTable.load(tmp_path / "codes.json", "/project")
    assert (table.site(101).function, table.site(101).line) == ("g", 3)
    assert table.range_of(101) == (100, 110)


def test_code_is_described_once_for_all_runs(path):
    asked = []

    def described() -> dict[str, Any]:
        asked.append(F)
        return entry(F)()

    for _ in range(3):
        LateCodes(path, 100, 200).base_of(F, described)
    assert asked == [F]


def test_runs_inherit_what_the_server_has_read(path):
    server = LateCodes(path, 100, 200)
    LateCodes(path, 100, 200).base_of(F, entry(F))
    server.catch_up()
    Path(path).unlink()
    assert server.base_of(F, entry(F)) == 100


def test_a_server_that_cannot_read_the_file_goes_on(tmp_path):
    LateCodes(str(tmp_path / "gone"), 100, 200).catch_up()


def test_its_lock_is_not_one_that_the_target_waits_for(path, monkeypatch):
    """That one is put under the gate, and closing the file would not be seen there.

    Threads of a run that met another run there were taken for a deadlock.
    """

    def gated(*_: object) -> None:
        raise AssertionError("the target's")

    monkeypatch.setattr(fcntl, "flock", gated)
    codes = LateCodes(path, 100, 200)
    codes.note_module(LateModule("late", "late.py", among=True))
    assert codes.base_of(F, entry(F)) == 100
