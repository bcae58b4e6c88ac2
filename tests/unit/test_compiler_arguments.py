# SPDX-License-Identifier: Apache-2.0
"""What a compiler's command line asks for."""

import pytest

from unsnarl.probes.native import compiler
from unsnarl.probes.native.arguments import read


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("", "nothing"),
        ("-v", "nothing"),
        ("-O2 -Wall -o out", "nothing"),
        ("-I include -D NAME -isystem other", "nothing"),
        ("-MF deps -MT goal", "nothing"),
        ("-Xlinker", "nothing"),
        ("-Wl,--as-needed", "nothing"),
        ("a.c", "program"),
        ("a.o -lm", "program"),
        ("-lm", "program"),
        ("-l m", "program"),
        ("-", "program"),
        ("-c a.c", "compile"),
        ("a.c -S", "compile"),
        ("-E -", "compile"),
        ("-M a.c", "compile"),
        ("-MD a.c", "program"),
        ("-fsyntax-only a.c", "compile"),
        ("-shared a.o", "library"),
        ("-r a.o", "object"),
        ("-Wl,-r a.o", "object"),
        ("-shared -c a.c", "compile"),
    ],
)
def test_what_is_made(line, step):
    assert read(line.split()).step == step


@pytest.mark.parametrize(
    ("line", "compiles"),
    [
        ("a.c", True),
        ("a.cpp b.o", True),
        ("a.o lib.a lib.so", False),
        ("a.s", False),
        ("a.S", True),
        ("-x c data", True),
        ("-xc++ data", True),
        ("-x assembler a.c", False),
        ("-x none a.c", True),
        ("-x c -x none data", False),
        ("-o a.c b.o", False),
        ("-include a.c b.o", False),
    ],
)
def test_whether_there_is_code(line, compiles):
    assert read(line.split()).compiles == compiles


@pytest.mark.parametrize(
    ("line", "assembles"),
    [
        ("-c a.c", False),
        ("a.c b.s", True),
        ("a.c b.S", True),
        ("-x assembler-with-cpp data", True),
        ("-x c a.s", False),
        ("-pipe -c a.c", True),
        ("-masm=intel a.c", True),
        ("-masm=intel -masm=att a.c", False),
        ("-o a.s b.c", False),
    ],
)
def test_whether_the_assembler_reads_more_than_the_compiler_writes(line, assembles):
    assert read(line.split()).assembles == assembles


@pytest.mark.parametrize(
    ("line", "on", "refused"),
    [
        ("a.c", set(), False),
        ("-fsanitize=address,undefined a.c", {"address", "undefined"}, False),
        ("-fsanitize=address -fno-sanitize=address a.c", set(), False),
        ("-fsanitize=address -fno-sanitize=all a.c", set(), True),
        ("-fno-sanitize=thread a.c", set(), True),
        ("-fno-sanitize=thread -fsanitize=thread a.c", {"thread"}, False),
        ("-fno-sanitize=all -fsanitize=undefined a.c", {"undefined"}, False),
        ("-fno-sanitize-recover=undefined a.c", set(), False),
    ],
)
def test_sanitizers_by_the_last_word_about_each(line, on, refused):
    found = read(line.split())
    assert (found.sanitizers, found.refused) == (on, refused)


def test_the_last_width_counts():
    assert read(["-m32", "a.c"]).narrow
    assert not read(["-m32", "-m64", "a.c"]).narrow


def test_response_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").write_text("-c")
    (tmp_path / "outer").write_text("'with a space.c' @inner")
    (tmp_path / "open").write_text("-shared 'never closed")
    (tmp_path / "loop").write_text("a.c @loop")
    assert read(["@outer"]).step == "compile"
    assert read(["@open"]).step == "library"
    assert read(["@loop"]).step == "program"
    assert read(["@missing"]).step == "program"  # an input of that name, says the compiler


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("gcc", False),
        ("x86_64-linux-gnu-gcc-12", False),
        ("arm-none-eabi-g++", False),
        ("clang-14", True),
        ("/opt/llvm/bin/clang++", True),
        ("ccache clang -m64", True),
        ("ccache gcc", False),
        ("distcc x86_64-linux-gnu-g++-12 -std=c++17", False),
    ],
)
def test_a_compiler_is_known_by_its_name(words, expected):
    assert compiler.is_clang(words.split()) is expected


def test_a_compiler_is_known_by_what_its_name_leads_to(tmp_path):
    (tmp_path / "clang-99").write_text("")
    (tmp_path / "cc").symlink_to(tmp_path / "clang-99")
    assert compiler.is_clang([str(tmp_path / "cc")])


@pytest.fixture
def compilers(monkeypatch):
    """Neither is called; which one it is, is told by its name."""
    monkeypatch.setattr(compiler.shutil, "which", lambda name: f"/usr/bin/{name}")
    for name in compiler.EXTRAS.values():
        monkeypatch.delenv(name, raising=False)


def line_for(monkeypatch, name, *words):
    monkeypatch.setenv("UNSNARL_CC", name)
    return compiler.command("cc", words)


@pytest.mark.parametrize(
    ("name", "functions", "blocks"),
    [
        ("gcc", "--param=tsan-instrument-func-entry-exit=", "-fsanitize-coverage=trace-pc"),
        ("clang", "-tsan-instrument-func-entry-exit=", "-fsanitize-coverage-trace-pc"),
    ],
)
def test_words_of_the_wrapper_are_its_own(monkeypatch, compilers, name, functions, blocks):
    plain = line_for(monkeypatch, name, "-c", "a.c")
    assert f"{functions}0" in plain and blocks not in plain
    told = line_for(monkeypatch, name, "-c", "--functions", "a.c", "--blocks")
    assert f"{functions}1" in told and blocks in told
    assert not {"--functions", "--blocks"} & {*told}
    monkeypatch.setenv("UNSNARL_CC_FUNCTIONS", "1")
    monkeypatch.setenv("UNSNARL_CC_BLOCKS", "0")
    told = line_for(monkeypatch, name, "-c", "a.c")
    assert f"{functions}1" in told and blocks not in told


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("gcc", ("--param=tsan-instrument-func-entry-exit=1", "-fsanitize-coverage=trace-pc",
                 "-fno-reorder-blocks", "-fno-reorder-blocks-and-partition")),
        ("clang", ("-tsan-instrument-func-entry-exit=1", "-fsanitize-coverage-trace-pc",
                   "-fsanitize-coverage-no-prune", "-disable-block-placement")),
    ],
)  # fmt: skip
def test_loops_need_functions_and_blocks_in_their_order(monkeypatch, compilers, name, wanted):
    assert not {*wanted} & {*line_for(monkeypatch, name, "-c", "a.c")}
    told = line_for(monkeypatch, name, "-c", "--loops", "a.c")
    assert {*wanted} <= {*told} and "--loops" not in told
    without = line_for(monkeypatch, name, "-c", "--functions", "--blocks", "a.c")
    assert not {*wanted[2:]} & {*without}
    monkeypatch.setenv("UNSNARL_CC_LOOPS", "1")
    assert {*wanted} <= {*line_for(monkeypatch, name, "-c", "a.c")}
