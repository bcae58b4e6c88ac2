# SPDX-License-Identifier: Apache-2.0
"""`unsnarl cc` and `unsnarl c++` in the compiler's place: gcc always, clang where there is one."""

import os
import shutil
import subprocess

import pytest
from tests.integration.compiling import (
    LANGUAGES,
    call,
    counts,
    done,
    fails_when_hunted,
    has_libtsan,
    is_observed,
    symbols,
)

WRONG = "#include <stdio.h>\nint main(void) { int unused; return nothing; }\n"
# The same with the threads and the locks of C++: one locked section is two.
SHOP = """
#include <cassert>
#include <mutex>
#include <thread>
static std::mutex mutex;
static int left = 1, sold;
static bool any() { std::lock_guard<std::mutex> hold(mutex); return left > 0; }
static void take() { std::lock_guard<std::mutex> hold(mutex); left--; sold++; }
static void sell() { if (any()) take(); }
int main() {
    std::thread one(sell), other(sell);
    one.join();
    other.join();
    assert(sold < 2 && "balance == 2");
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3", "-Os", "-Og"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_program_runs_as_always(family, folder, language, level):
    done("unsnarl", language, level, "-Wall", "-pthread", f"counter.{LANGUAGES[language]}")
    counts()
    assert is_observed()


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_word_for_build_systems_that_need_one(family, folder, language):
    done(f"unsnarl-{language}", f"counter.{LANGUAGES[language]}", "-o", "one")
    counts("./one")
    assert is_observed("./one")
    failed = call(f"unsnarl-{language}", "-static", f"counter.{LANGUAGES[language]}")
    assert failed.returncode == 2 and "[program-static]" in failed.stderr


# What the fast path reads: where it is inline, the code of an object names it.
VIEW = "__tsan_view"
CALLS = """
#include <assert.h>
static long twice(long n) { return 2 * n; }
long shared;
int main(void) {
    long (*volatile far)(long) = twice, found;
    __asm__ volatile("mov $21, %%rdi; call *%1; mov %%rax, %0"
                     : "=r"(found) : "r"(far)
                     : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
    shared = found;
    assert(shared == 42);
    return 0;
}
"""
HERS = """
    .text
    .macro call what
    .byte 0x90
    .endm
    .globl hers
hers:
    call anything
    ret
    .section .note.GNU-stack,"",@progbits
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the fast path is inline on x86-64")
@pytest.mark.parametrize(
    ("words", "inline"),
    [
        ([], True),
        (["-fPIC"], True),
        (["-fno-pie"], True),
        (["-fno-plt"], False),
        (["-pipe"], False),
        (["-masm=intel"], False),
        (["-masm=intel", "-masm=att"], True),
    ],
)
def test_the_fast_path_is_inline(folder, words, inline):
    """By gcc; where it cannot be, the calls do the same."""
    done("unsnarl", "cc", "-O2", *words, "-c", "counter.c")
    assert (VIEW in symbols("counter.o")) == inline
    assert {"__tsan_read4", "__tsan_write4"} <= symbols("counter.o")


def test_calls_in_the_users_own_assembly(family, folder):
    """Ours is a macro called `call`."""
    (folder / "calls.c").write_text(CALLS)
    (folder / "hers.s").write_text(HERS)
    done("unsnarl", "cc", "-O1", "-mno-red-zone", "calls.c", "-o", "calls")
    done("./calls")
    done("unsnarl", "cc", "calls.c", "hers.s", "-mno-red-zone", "-o", "both")
    done("./both")


def test_both_sides_of_an_increment_are_told(family, folder):
    """clang would leave the read out."""
    done("unsnarl", "cc", "-O2", "-c", "counter.c")
    assert {"__tsan_read4", "__tsan_write4"} <= symbols("counter.o")


def test_compiled_then_linked_and_hunted(family, folder):
    done("unsnarl", "cc", "-O1", "-c", "bank.c")
    done("unsnarl", "cc", "-O1", "-c", "-o", "plus.o", "add.c")
    done("unsnarl", "cc", "-pthread", "-obank", "bank.o", "plus.o")
    assert fails_when_hunted("./bank")


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_threads_of_cpp_are_hunted(family, folder, level):
    (folder / "shop.cc").write_text(SHOP)
    done("unsnarl", "c++", level, "-std=c++17", "shop.cc", "-o", "shop", "-pthread")
    assert fails_when_hunted("./shop")


def test_the_steps_of_a_compilation(family, folder):
    assert "START" not in done("unsnarl", "cc", "-E", "counter.c")
    done("unsnarl", "cc", "-E", "counter.c", "-o", "counter.i")
    done("unsnarl", "cc", "-c", "counter.i", "-o", "first.o")
    assert "__tsan_write4" in symbols("first.o")
    done("unsnarl", "cc", "-S", "counter.c")
    assert "__tsan_write4" in (folder / "counter.s").read_text()
    done("unsnarl", "cc", "-c", "counter.s")
    done("unsnarl", "cc", "counter.o", "-pthread")
    counts()
    assert is_observed()


def test_code_from_standard_input(family, folder):
    with (folder / "counter.c").open() as code:
        subprocess.run(["unsnarl", "cc", "-x", "c", "-", "-I."], stdin=code, check=True)
    counts()
    assert is_observed()


@pytest.mark.parametrize("option", ["-M", "-MM"])
def test_a_rule_for_make_and_nothing_else(family, folder, option):
    assert "counter.o: counter.c start.h" in done("unsnarl", "cc", "-MM", "counter.c")
    assert "start.h" in done("unsnarl", "cc", option, "counter.c")
    assert not (folder / "a.out").exists()


def test_a_rule_for_make_beside_the_object(family, folder):
    done("unsnarl", "cc", "-MD", "-c", "counter.c")
    assert "start.h" in (folder / "counter.d").read_text()
    done("unsnarl", "cc", "-MMD", "-MF", "deps", "-MT", "goal", "counter.c", "-pthread")
    assert (folder / "deps").read_text() == "goal: counter.c start.h\n"
    counts()


def test_response_files(family, folder):
    (folder / "inner").write_text("-c\n-o 'an object.o'\n")
    (folder / "words").write_text('"counter.c"\n@inner -DUNUSED="a b"')
    done("unsnarl", "cc", "@words")
    assert "uns_rt" not in symbols("an object.o") and "__tsan_write4" in symbols("an object.o")
    (folder / "link").write_text("'an object.o' -o linked -pthread")
    done("unsnarl", "cc", "@link")
    counts("./linked")
    assert is_observed("./linked")


@pytest.mark.parametrize(
    "question",
    [
        ["--version"],
        ["-v"],
        ["-dumpmachine"],
        ["-dumpversion"],
        ["-print-search-dirs"],
        ["-print-file-name=libc.so.6"],
        ["-print-prog-name=ld"],
        [],
        ["-V"],
        ["-Wall", "-O2"],
        ["-pthread", "-Wl,--as-needed"],
    ],
)
def test_what_is_asked_of_the_compiler_itself(family, folder, question):
    answer, plain = call("unsnarl", "cc", *question), call(family, *question)
    assert (answer.returncode, answer.stdout) == (plain.returncode, plain.stdout)
    assert answer.stderr == plain.stderr


def test_help_is_ours_unless_the_compiler_is_called_by_one_word(family, folder):
    ours = done("unsnarl", "cc", "--help")
    assert "--functions" in ours and "UNSNARL_CC_LOOPS" in ours and "gcc --help" in ours
    assert call("unsnarl-cc", "--help").stdout == call(family, "--help").stdout
    answer, plain = call("unsnarl", "cc", "-v", "--help"), call(family, "-v", "--help")
    assert (answer.returncode, answer.stdout) == (plain.returncode, plain.stdout)


@pytest.mark.parametrize("words", [["-c"], ["-S"], ["-E"], ["-fsyntax-only"], []])
def test_wrong_code_is_told_in_the_compilers_words(family, folder, words):
    (folder / "wrong.c").write_text(WRONG)
    words = [*words, "-Wall", "wrong.c"]
    answer, plain = call("unsnarl", "cc", *words), call(family, *words)
    assert (answer.returncode, answer.stderr) == (plain.returncode, plain.stderr)
    assert call("unsnarl", "cc", "-c", "none.c").stderr == call(family, "-c", "none.c").stderr


def test_optimisation_at_link_time(family, folder):
    done("unsnarl", "cc", "-O2", "-flto", "-c", "bank.c", "add.c")
    done("unsnarl", "cc", "-O2", "-flto", "-pthread", "bank.o", "add.o", "-o", "bank")
    assert fails_when_hunted("./bank")


@pytest.mark.parametrize("words", [["add.c"], ["add.o"]])
def test_a_library_has_calls_but_no_runtime(family, folder, words):
    done("unsnarl", "cc", "-fPIC", "-c", "add.c")
    done("unsnarl", "cc", "-shared", "-fPIC", *words, "-o", "libadd.so")
    names = symbols("libadd.so")
    assert "__tsan_read4" in names and "uns_rt" not in names and not has_libtsan("./libadd.so")
    done("unsnarl", "cc", "bank.c", "-L.", "-ladd", "-Wl,-rpath,.", "-o", "bank")
    assert is_observed("./bank")
    assert "symbol lookup" not in call("./bank").stderr


def test_objects_put_together(family, folder):
    done("unsnarl", "cc", "-c", "bank.c", "add.c")
    done("unsnarl", "cc", "-r", "-nostdlib", "bank.o", "add.o", "-o", "both.o")
    assert "uns_rt" not in symbols("both.o")
    done("unsnarl", "cc", "both.o", "-pthread", "-o", "bank")
    assert is_observed("./bank")


def test_a_program_without_any_library(family, folder):
    (folder / "bare.c").write_text("int n;\nvoid _start(void) { for (;;) n++; }\n")
    done("unsnarl", "cc", "-nostdlib", "bare.c", "-o", "bare")
    assert not any(name.startswith("__tsan") for name in symbols("bare"))


@pytest.mark.parametrize(
    ("option", "slug"),
    [
        ("-static", "program-static"),
        ("-static-pie", "program-static"),
        ("-fsanitize=address", "compiler-conflict"),
        ("-fsanitize=undefined,leak", "compiler-conflict"),
        ("-m32", "compiler-conflict"),
    ],
)
def test_what_cannot_be_had_is_said(family, folder, option, slug):
    answer = call("unsnarl", "cc", option, "counter.c")
    assert answer.returncode == 2
    assert answer.stderr.count("error") == 1 and f"[{slug}]" in answer.stderr
    assert not (folder / "a.out").exists()


def test_static_matters_only_where_a_program_is_linked(family, folder):
    done("unsnarl", "cc", "-static", "-c", "add.c")
    done("unsnarl", "cc", "-shared", "-fPIC", "add.c", "-o", "libadd.so")


def test_other_sanitizers_may_stay(family, folder):
    done("unsnarl", "cc", "-fsanitize=undefined", "counter.c")
    counts()
    assert is_observed()


def test_threadsanitizer_is_ours_also_when_named(family, folder):
    done("unsnarl", "cc", "-fsanitize=thread", "-c", "counter.c")
    done("unsnarl", "cc", "-fsanitize=thread", "counter.o")
    counts()
    assert is_observed()


def test_a_file_that_shall_not_be_observed(family, folder):
    done("unsnarl", "cc", "-fno-sanitize=thread", "-c", "add.c")
    assert not any(name.startswith("__tsan") for name in symbols("add.o"))
    done("unsnarl", "cc", "bank.c", "add.o", "-o", "bank")
    assert is_observed("./bank")
    done("unsnarl", "cc", "-fno-sanitize=thread", "counter.c")
    counts()
    assert "uns_rt" not in symbols("a.out")


def test_other_names_of_a_compiler(family, folder):
    path = shutil.which(family)
    (folder / "cc").symlink_to(path)
    (folder / "x86_64-linux-gnu-tool").symlink_to(path)
    launcher = folder / "launcher"
    launcher.write_text('#!/bin/sh\necho "$1" >> launched\nexec "$@"\n')
    launcher.chmod(0o755)
    for command in ("./cc", "./x86_64-linux-gnu-tool", f"./launcher {family} -std=gnu11"):
        done("unsnarl", "cc", "counter.c", UNSNARL_CC=command)
        counts()
        assert is_observed(), command
    assert (folder / "launched").read_text() == f"{family}\n"


def test_a_compiler_behind_a_script(family, folder):
    """Its name says nothing: it is asked."""
    script = folder / "compile"
    script.write_text(f'#!/bin/sh\nexec {family} "$@"\n')
    script.chmod(0o755)
    done("unsnarl", "cc", "counter.c", UNSNARL_CC="./compile")
    counts()
    assert is_observed()


def test_a_compiler_that_is_not_there_is_named(folder):
    answer = call("unsnarl", "cc", "-c", "none.c", UNSNARL_CC="no-such-compiler")
    assert answer.returncode == 2
    assert "no-such-compiler" in answer.stderr
