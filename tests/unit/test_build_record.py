# SPDX-License-Identifier: Apache-2.0
"""What a program says of its build: every word of it, and nothing of the system's sources."""

import subprocess
from pathlib import Path

import pytest

from unsnarl.probes.native import arguments, build_record
from unsnarl.probes.native.build_record import BuildStep

WORDS = ('-DNAME="a \\"b\\" é"', "-DPATH=C:\\new", "-DLINES=one\ntwo", "-c", "a.c", "-o", "a.o")


def recorded(*words: str) -> list[str]:
    return build_record.recorded("cc", ("gcc",), words, arguments.read(words))


def test_every_word_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    option, file = recorded(*WORDS)
    assert option == "-Xassembler"
    subprocess.run(["gcc", "-x", "assembler", "-c", file, "-o", "a.o"], check=True, close_fds=False)
    # Twice the same says no more than once.
    steps = build_record.read(tmp_path / "a.o")
    assert steps == [BuildStep("compile", "cc", ("gcc",), str(tmp_path), WORDS)]


def test_a_link_assembles_its_record() -> None:
    assert recorded("a.o", "-o", "a")[:2] == ["-x", "assembler"]
    # What compiles and links at once records in every object.
    assert recorded("a.c", "-o", "a")[0] == "-Xassembler"


@pytest.mark.parametrize(
    "line",
    [
        "-E a.c",
        "-S a.c",
        "-MM a.c",
        "-fsyntax-only a.c",
        "-c a.s",
        "-c -pipe a.c",
        "-shared a.o -o liba.so",
        "-c /usr/src/a.c",
        "--version",
    ],
)
def test_what_is_not_recorded(line: str) -> None:
    assert not recorded(*line.split())


def test_nothing_is_recorded_if_that_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build_record.VARIABLE, "0")
    assert not recorded("-c", "a.c")


def test_a_file_without_a_record_has_none(tmp_path: Path) -> None:
    file = tmp_path / "a"
    assert not build_record.read(file)
    for content in (b"", b"\x7fELF", b"\x7fELF" + b"\xff" * 200):
        file.write_bytes(content)
        assert not build_record.read(file)
