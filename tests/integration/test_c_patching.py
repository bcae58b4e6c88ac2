# SPDX-License-Identifier: Apache-2.0
"""A hunt of a C program shows a patch; applied and built again, nothing fails any more."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.in_process import called

from unsnarl.patches.native.rebuild import Rebuild, RebuildError
from unsnarl.probes.native import build_record

MAIN = """
#include <assert.h>
#include <pthread.h>
#include "stock.h"
static void *buy(void *arg) {
    take(2);
    return arg;
}
int main(void) {
    pthread_t buyers[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&buyers[i], 0, buy, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(buyers[i], 0);
    assert(left >= 0);
    return 0;
}
"""
HEADER = """
extern int left;
int take(int count);
"""
STOCK = """
#include "stock.h"
int left = START;
int take(int count) {
    if (left < count)
        return 0;
    left -= count;
    return 1;
}
"""


def cc(folder: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "unsnarl", "cc", *words], cwd=folder, check=True)


def built(folder: Path) -> Path:
    """A program of two objects in a folder of its own, with a header found by -I."""
    (folder / "src").mkdir()
    (folder / "include").mkdir()
    (folder / "out").mkdir()
    for name, text in {
        "src/main.c": MAIN,
        "src/stock.c": STOCK,
        "include/stock.h": HEADER,
        "out/flags": "-DSTART=3 -O0",
    }.items():
        (folder / name).write_text(text)
    build(folder)
    return folder / "out" / "shop"


def build(folder: Path) -> None:
    out = folder / "out"
    for name in ("main", "stock"):
        cc(out, "@flags", "-I../include", "-MMD", "-c", f"../src/{name}.c", "-o", f"{name}.o")
    cc(out, "main.o", "stock.o", "-o", "shop", "-pthread")


WANTED = ("--seed", "1", "--fail", "10", "--pass", "10", "--confirm", "1")


def test_from_the_hunt_to_a_green_hunt(tmp_path: Path) -> None:
    built(tmp_path)
    command = ("--", "out/shop")
    hunted = called(tmp_path, "hunt", *WANTED, "--json", "report.json", *command)
    assert hunted.returncode == 1, hunted.stderr
    shown = called(tmp_path, "fix", "-o", "a.patch")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert (tmp_path / "src/stock.c").read_text() == STOCK
    assert "+    pthread_mutex_lock(&left_lock);" in (tmp_path / "a.patch").read_text()
    applied = called(tmp_path, "fix", "--apply")
    assert "written: " in applied.stdout
    assert "build the program again" in applied.stdout
    build(tmp_path)
    done = called(tmp_path, "hunt", "--seed", "1", "--max-runs", "200", *command)
    assert done.returncode == 0, done.stdout


def test_a_rebuilt_program_has_the_patched_text_and_the_old_names(tmp_path: Path) -> None:
    program = built(tmp_path)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    header = tmp_path / "include/stock.h"
    # Both units include it; no line of it is left in the objects of before.
    patched = b"#define left other_left\n" + HEADER.encode()
    made = Rebuild(program).with_files({header: patched}, scratch)
    names = subprocess.run(["nm", made], capture_output=True, text=True, check=True).stdout
    assert "other_left" in names
    lines = subprocess.run(
        ["objdump", "--dwarf=decodedline", made], capture_output=True, text=True, check=True
    ).stdout
    assert "stock.c" in lines
    places = subprocess.run(
        ["addr2line", "-e", made, _address(names, "take")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    file, _, line = places.strip().rpartition(":")
    assert (Path(file).resolve(), line) == (tmp_path / "src/stock.c", "4")
    assert (tmp_path / "src/stock.c").read_text() == STOCK
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == sorted(
        ["flags", "main.o", "main.d", "stock.o", "stock.d", "shop"]
    )


def _address(names: str, wanted: str) -> str:
    return next(line.split()[0] for line in names.splitlines() if line.endswith(f" T {wanted}"))


def test_a_program_says_how_it_was_built(tmp_path: Path) -> None:
    steps = build_record.read(built(tmp_path))
    assert [one.step for one in steps].count("compile") == 2
    (link,) = [one for one in steps if one.step == "program"]
    assert link.words == ("main.o", "stock.o", "-o", "shop", "-pthread")
    assert all(one.folder == str(tmp_path / "out") for one in steps)
    # Response files are gone by the time of a rebuild.
    assert all("-DSTART=3" in one.words for one in steps if one.step == "compile")


@pytest.mark.parametrize("why", ["nothing is recorded", "a source is gone", "a source is newer"])
def test_what_cannot_be_built_again_is_said_in_words(
    tmp_path: Path, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "nothing is recorded":
        monkeypatch.setenv(build_record.VARIABLE, "0")
    program = built(tmp_path)
    stock = tmp_path / "src/stock.c"
    if why == "a source is gone":
        stock.unlink()
    elif why == "a source is newer":
        stock.touch()
    with pytest.raises(RebuildError) as raised:
        Rebuild(program).check([stock])
    if why != "nothing is recorded":
        with pytest.raises(RebuildError, match=r"stock\.c"):
            Rebuild(program).with_files({stock: STOCK.encode()}, tmp_path)
    words = {"nothing": "does not say", "gone": "is gone", "newer": "was changed"}
    assert any(word in why and text in raised.value.message for word, text in words.items())


def test_objects_are_enough_for_what_is_not_patched(tmp_path: Path) -> None:
    program = built(tmp_path)
    stock = {tmp_path / "src/stock.c": STOCK.encode()}
    (tmp_path / "scratch").mkdir()
    (tmp_path / "out/main.o").unlink()  # made again
    Rebuild(program).with_files(stock, tmp_path / "scratch")
    build(tmp_path)
    (tmp_path / "src/main.c").unlink()
    Rebuild(program).with_files(stock, tmp_path / "scratch")


def test_a_patch_that_does_not_compile_is_none(tmp_path: Path) -> None:
    program = built(tmp_path)
    with pytest.raises(RebuildError, match="does not compile"):
        Rebuild(program).with_files({tmp_path / "src/stock.c": b"int take("}, tmp_path / "out")
