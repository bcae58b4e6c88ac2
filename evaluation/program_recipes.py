# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian that use threads, and how each is built, tested and given work.

Nothing in a source is changed: Debian's own patches are applied, and the compiler is named in the
way that the package's build offers.
"""

from __future__ import annotations

import dataclasses
import shutil


@dataclasses.dataclass(frozen=True)
class Build:
    """A compiler, in both languages."""

    name: str
    cc: str
    cxx: str
    plain: str  # the plain build that it is compared with


PLAIN = Build("plain gcc", "gcc", "g++", "plain gcc")
OURS = Build("unsnarl", "unsnarl cc", "unsnarl c++", "plain gcc")
BUILDS = (
    PLAIN,
    OURS,
    Build("gcc TSan", "gcc -g -fsanitize=thread", "g++ -g -fsanitize=thread", "plain gcc"),
    Build("plain clang", "clang", "clang++", "plain clang"),
    Build(
        "clang TSan", "clang -g -fsanitize=thread", "clang++ -g -fsanitize=thread", "plain clang"
    ),
)


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A source package.

    Attributes:
        steps: Commands that build it; {cc} and {cxx} are the compiler's, in quotes.
        program: The program, below the source's folder.
        check: The command of its test suite; empty if it has none.
        pack, unpack: Arguments from standard input to standard output; {n} is the threads.
    """

    name: str
    steps: tuple[str, ...]
    program: str
    check: str
    pack: str
    unpack: str


# What follows a change of timestamps by patches: Debian rebuilds configure, too.
AUTORECONF = "autoreconf -fi"
CONFIGURE = "CC={cc} CXX={cxx} ./configure"
# Its gnulib is too old for this libc, and Debian brings a newer one from another package.
OLD_GNULIB = "-D_IO_ftrylockfile -D_IO_IN_BACKUP=0x100 -DGNULIB_XALLOC_DIE=1"

RECIPES = (
    Recipe("pigz", ("make CC={cc}",), "pigz", "make CC={cc} test", "-p {n} -c", "-d -p {n} -c"),
    Recipe("pbzip2", ("make CXX={cxx}",), "pbzip2", "", "-p{n} -c", "-d -p{n} -c"),
    Recipe(
        "lbzip2",
        (AUTORECONF, f"{CONFIGURE} CPPFLAGS='{OLD_GNULIB}'", "make"),
        "src/lbzip2",
        "make check",
        "-n {n} -c",
        "-d -n {n} -c",
    ),
    Recipe(
        "pixz",
        (AUTORECONF, f"{CONFIGURE} --without-manpage", "make"),
        "src/pixz",
        # cppcheck-src.sh looks at the source, not at the program
        "make -C test check TESTS='compress-file-permissions.sh single-file-round-trip.sh"
        " xz-compatibility-c-option.sh'",
        "-1 -p {n}",
        "-d -p {n}",
    ),
    # Without a shared library, so that all of it is in the program; blocks, so that threads share.
    Recipe(
        "xz-utils",
        (f"{CONFIGURE} --disable-shared --disable-nls --disable-doc", "make"),
        "src/xz/xz",
        "make check",
        "-1 -T {n} --block-size=1MiB -c",
        "-d -T {n} -c",
    ),
)


def builds() -> list[Build]:
    """Those whose compilers are on this machine."""
    return [one for one in BUILDS if shutil.which(one.cc.split()[0])]
