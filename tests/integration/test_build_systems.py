# SPDX-License-Identifier: Apache-2.0
"""The wrapper in make, configure scripts and CMake; the CMake package and the pkg-config files."""

import shutil
from pathlib import Path

import pytest
from tests.integration.compiling import call, counts, done, fails_when_hunted, is_observed, symbols

needs_cmake = pytest.mark.skipif(not shutil.which("cmake"), reason="there is no cmake")
needs_pkg_config = pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config")


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


@needs_cmake
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


@needs_cmake
def test_the_cmake_package(family, folder):
    """A target that asks for the probe has it; the compiler is the plain one."""
    where = done("unsnarl", "doctor", "--folder", "cmake").strip()
    (folder / "CMakeLists.txt").write_text(PACKAGE)
    call("cmake", "-B", "out", f"-Dunsnarl_DIR={where}", CC=family).check_returncode()
    call("cmake", "--build", "out").check_returncode()
    assert is_observed("out/bank") and "uns_rt" not in symbols("out/libadd.so")
    assert "__tsan_write4" in symbols("out/libadd.so")
    assert fails_when_hunted("out/same")


@needs_pkg_config
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


@needs_pkg_config
def test_pkg_config(family, folder):
    where = done("unsnarl", "doctor", "--folder", "pkgconfig").strip()
    package = "unsnarl" if family == "gcc" else f"unsnarl-{family}"
    ask = ("pkg-config", "--cflags", "--libs", package)
    flags = done(*ask, PKG_CONFIG_PATH=where).split()
    done(family, "-O2", "bank.c", "add.c", "-pthread", *flags, "-o", "bank")
    assert is_observed("./bank") and fails_when_hunted("./bank")
