# SPDX-License-Identifier: Apache-2.0
"""`make test` says at its end what failed, in which part."""

import sys
from pathlib import Path

import pytest
from tools import suite

TESTS = """
import pytest

def test_good():
    pass

@pytest.mark.parametrize("n", [1, 2])
def test_bad(n):
    assert n == "seven"

def test_without_its_fixture(nothing):
    pass
"""


def of_tests(folder: Path, text: str) -> suite.Part:
    (folder / "test_it.py").write_text(text)
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={folder / 'main.xml'}")
    return suite.Part("main", [sys.executable, *words, str(folder)], folder)


def test_failed_tests_are_named_with_their_last_lines(tmp_path, capsys):
    part = of_tests(tmp_path, TESTS)
    part.run()
    assert part.code == 1
    summary = part.summary()
    assert summary[0].startswith("main: exit 1, `")
    named = [line for line in summary if line.startswith("  ") and not line.startswith("   ")]
    assert [line.rpartition("::")[2] for line in named] == [
        "test_bad[1]",
        "test_bad[2]",
        "test_without_its_fixture",
    ]
    assert any("assert 1 == 'seven'" in line for line in summary)
    assert "2 failed, 1 passed, 1 error" in capsys.readouterr().out


def test_of_many_failed_tests_the_first_are_named(tmp_path):
    many = suite.MOST_TESTS + 2
    part = of_tests(tmp_path, TESTS.replace("[1, 2]", f"range({many - 1})"))
    part.run()
    assert part.summary()[-1] == "  and 2 more"


def test_a_file_that_cannot_be_loaded_is_named(tmp_path):
    part = of_tests(tmp_path, "import nothing_of_this_name\n")
    part.run()
    assert any("nothing_of_this_name" in line for line in part.summary())


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "import os; os.kill(os.getpid(), 9)"])
def test_of_other_commands_the_end_of_the_output_is_shown(tmp_path, code):
    words = [sys.executable, "-c", f"print('\\n'.join(map(str, range(99))), flush=True); {code}"]
    part = suite.Part("lint", words, tmp_path)
    part.run()
    assert part.code not in (0, None)
    head, *lines = part.summary()
    assert head.startswith("lint: exit ")
    assert lines == [f"    {n}" for n in range(99 - suite.PART_LINES, 99)]


def test_what_passes_is_not_mentioned(tmp_path):
    part = suite.Part("lint", [sys.executable, "-c", "print('fine')"], tmp_path)
    part.run()
    assert (part.code, part.summary()) == (0, [])


@pytest.mark.parametrize(("bad", "code"), [("", 0), ("native", 1), ("alone", 1)])
def test_the_exit_code_and_the_last_line_are_those_of_all_parts(
    tmp_path, monkeypatch, capsys, bad, code
):
    def run_all(others):
        parts = [suite.Part(name, ["true"], tmp_path) for name in ("main", "native", "alone")]
        for part in parts:
            part.command = ["false"] if part.name == bad else ["true"]
            part.run()
        return parts

    monkeypatch.setattr(suite, "run_all", run_all)
    monkeypatch.setattr(suite, "LOGS", tmp_path / "logs")
    assert suite.main() == code
    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith(f"suite: {code} of 3 parts failed")


def test_the_next_part_runs_whatever_becomes_of_the_first(tmp_path):
    parts = [suite.Part(name, [name], tmp_path) for name in ("false", "true")]
    suite.at_once(parts)
    assert [part.code for part in parts] == [1, 0]


def test_tests_find_the_interpreter_that_runs_them(monkeypatch):
    monkeypatch.setenv("PATH", "/bin")
    assert suite.environment("/a/bin/python")["PATH"] == "/a/bin:/bin"
    assert suite.environment("make")["PATH"] == "/bin"
