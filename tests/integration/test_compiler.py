# SPDX-License-Identifier: Apache-2.0
"""`unsnarl cc` and `unsnarl c++` in the compiler's place: gcc always, clang where there is one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Both compilers of a kind, by the environment that chooses them.
FAMILIES = {
    name: {"UNSNARL_CC": cc, "UNSNARL_CXX": cxx}
    for name, cc, cxx in (("gcc", "gcc", "g++"), ("clang", "clang", "clang++"))
    if name == "gcc" or (shutil.which(cc) and shutil.which(cxx))
}
# By the subcommand, how its code ends.
LANGUAGES = {"cc": "c", "c++": "cpp"}
SCRIPTS = Path(sys.executable).parent

COUNTER = """
#include <pthread.h>
#include <stdio.h>
#include "start.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void *work(void *argument) {
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&mutex);
        count++;
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    printf("%d\\n", START + count);
    return 7;
}
"""
WRONG = "#include <stdio.h>\nint main(void) { int unused; return nothing; }\n"
# Two threads that add to a balance without a lock; fails when one sum is lost.
BANK = """
#include <assert.h>
#include <pthread.h>
int balance;
void add(int);
static void *deposit(void *argument) {
    add(1);
    return argument;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, deposit, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(balance == 2);
    return 0;
}
"""
ADD = "extern int balance;\nvoid add(int n) { balance = balance + n; }\n"


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


@pytest.fixture(params=FAMILIES)
def family(request, monkeypatch):
    for name, value in FAMILIES[request.param].items():
        monkeypatch.setenv(name, value)
    return request.param


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "start.h").write_text("#define START 10\n")
    for suffix in LANGUAGES.values():
        (tmp_path / f"counter.{suffix}").write_text(COUNTER)
    (tmp_path / "bank.c").write_text(BANK)
    (tmp_path / "add.c").write_text(ADD)
    return tmp_path


def call(*words, **environment):
    """The words as a command, in the current folder."""
    env = os.environ | environment
    return subprocess.run(words, capture_output=True, text=True, check=False, env=env)


def done(*words, **environment):
    """A command that must succeed, without a word of complaint."""
    answer = call(*words, **environment)
    assert (answer.returncode, answer.stderr) == (0, ""), answer
    return answer.stdout


def counts(program="./a.out"):
    """The counter runs as it would without us."""
    answer = call(program)
    assert (answer.returncode, answer.stdout, answer.stderr) == (7, "16\n", "")


def symbols(path):
    return {row.split()[-1] for row in done("nm", path).splitlines()}


def is_observed(program="./a.out"):
    """The probe is in it, and the code calls it."""
    names = symbols(program)
    return "uns_rt" in names and "__tsan_write4" in names and not _libtsan(program)


def _libtsan(program):
    return "libtsan" in done("ldd", program)


def fails_when_hunted(program):
    wanted = ("--fail", "3", "--pass", "3", "--no-confirm", "--json", "-")
    answer = call("unsnarl", "hunt", *wanted, "--", program)
    assert answer.returncode == 1, answer.stderr
    return "balance == 2" in answer.stdout


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
        ["--help"],
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
    assert "__tsan_read4" in names and "uns_rt" not in names and not _libtsan("./libadd.so")
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


def test_a_makefile(family, folder):
    (folder / "Makefile").write_text(
        "CFLAGS = -O2 -MMD\nLDLIBS = -lpthread\nbank: bank.o add.o\n-include bank.d add.d\n"
    )
    call("make", "CC=unsnarl cc").check_returncode()
    assert (folder / "add.d").exists()
    assert fails_when_hunted("./bank")


CONFIGURE = r"""#!/bin/sh
# What configure scripts do: ask, try, look at what comes out.
set -e
: "${CC:=cc}"
$CC --version >/dev/null
echo 'int main(void) { return 0; }' > conftest.c
$CC conftest.c
test -x a.out && ./a.out
$CC -c conftest.c && test -f conftest.o
echo 'int main(void) { return no_such_thing(); }' > missing.c
if $CC -Werror=implicit-function-declaration missing.c 2>/dev/null; then exit 1; fi
echo '#include <pthread.h>
int main(void) { return pthread_self() == 0; }' > conftest.c
$CC $CFLAGS conftest.c -lpthread -o conftest && ./conftest
if $CC -V >/dev/null 2>&1; then exit 1; fi
printf 'bank: bank.c add.c\n\t%s -O2 $^ -o $@ -pthread\n' "$CC" > Makefile
"""


def test_a_configure_script(family, folder):
    script = folder / "configure"
    script.write_text(CONFIGURE)
    script.chmod(0o755)
    answer = call("./configure", CC="unsnarl cc", CFLAGS="-O2")
    assert answer.returncode == 0, answer.stderr
    call("make").check_returncode()
    assert fails_when_hunted("./bank")


CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(bank C CXX)
set(CMAKE_C_FLAGS -O2)
find_package(Threads REQUIRED)
add_library(add STATIC add.c)
add_executable(bank bank.c)
target_link_libraries(bank add Threads::Threads)
add_executable(counter counter.cpp)
target_link_libraries(counter Threads::Threads)
"""


@pytest.mark.parametrize("how", ["variable", "environment"])
def test_cmake_with_the_wrapper_as_its_compiler(family, folder, how):
    (folder / "CMakeLists.txt").write_text(CMAKE)
    named = ("-DCMAKE_C_COMPILER=unsnarl-cc", "-DCMAKE_CXX_COMPILER=unsnarl-c++")
    environment = {"CC": "unsnarl cc", "CXX": "unsnarl c++"} if how == "environment" else {}
    call("cmake", "-B", "out", *(() if environment else named), **environment).check_returncode()
    call("cmake", "--build", "out").check_returncode()
    counts("out/counter")
    assert is_observed("out/counter") and fails_when_hunted("out/bank")


PACKAGE = """
cmake_minimum_required(VERSION 3.20)
project(bank C)
set(CMAKE_C_FLAGS -O2)
find_package(unsnarl 0.1 REQUIRED)
add_library(add SHARED add.c)
add_executable(bank bank.c)
target_link_libraries(add PRIVATE unsnarl::probe)
target_link_libraries(bank PRIVATE add unsnarl::probe)
add_executable(same bank.c add.c)
target_link_libraries(same PRIVATE unsnarl::probe)
"""


def test_the_cmake_package(family, folder):
    """A target that asks for the probe has it; the compiler is the plain one."""
    where = done("unsnarl", "doctor", "--folder", "cmake").strip()
    (folder / "CMakeLists.txt").write_text(PACKAGE)
    call("cmake", "-B", "out", f"-Dunsnarl_DIR={where}", CC=family).check_returncode()
    call("cmake", "--build", "out").check_returncode()
    assert is_observed("out/bank") and "uns_rt" not in symbols("out/libadd.so")
    assert "__tsan_write4" in symbols("out/libadd.so")
    assert fails_when_hunted("out/same")


def test_the_packages_may_be_moved(folder):
    where = Path(done("unsnarl", "doctor", "--folder", "cmake").strip()).parent
    shutil.copytree(where / "cc", folder / "moved" / "cc")
    for kind in ("cmake", "pkgconfig"):
        shutil.copytree(where / kind, folder / "moved" / kind)
        for file in (folder / "moved" / kind).iterdir():
            assert str(where) not in file.read_text()
    ask = ("pkg-config", "--cflags", "--libs", "unsnarl")
    flags = done(*ask, PKG_CONFIG_PATH=str(folder / "moved" / "pkgconfig"))
    assert str(where) not in flags
    done("gcc", "counter.c", "-pthread", *flags.split())
    counts()
    assert is_observed()


def test_pkg_config(family, folder):
    where = done("unsnarl", "doctor", "--folder", "pkgconfig").strip()
    package = "unsnarl" if family == "gcc" else f"unsnarl-{family}"
    ask = ("pkg-config", "--cflags", "--libs", package)
    flags = done(*ask, PKG_CONFIG_PATH=where).split()
    done(family, "-O2", "bank.c", "add.c", "-pthread", *flags, "-o", "bank")
    assert is_observed("./bank") and fails_when_hunted("./bank")


def test_a_compiler_that_is_not_there_is_named(folder):
    answer = call("unsnarl", "cc", "-c", "none.c", UNSNARL_CC="no-such-compiler")
    assert answer.returncode == 2
    assert "no-such-compiler" in answer.stderr
