# SPDX-License-Identifier: Apache-2.0
"""Programs that cannot be hunted, and programs that were built anew: what is said of them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.in_process import called

# Two threads that add to a balance without a lock; fails when one sum is lost.
BANK = """
#include <assert.h>
#include <pthread.h>
static int balance;
static void *deposit(void *argument) {
    balance = balance + 1;
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
TOUCH = "    utimensat(AT_FDCWD, words[0], 0, count - count);\n"
HUNT = (
    "hunt",
    "--fail",
    "5",
    "--pass",
    "5",
    "--seed",
    "3",
    "--no-confirm",
    "--json",
    "answer.json",
)


def unsnarl(folder, *arguments):
    command = [sys.executable, "-m", "unsnarl", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def built(folder, *arguments):
    unsnarl(folder, "cc", "-O1", "-pthread", *arguments).check_returncode()


def refused(folder, program, slug):
    """The one message that `hunt` has for a program; nothing is run, nothing stored."""
    answer = called(folder, "hunt", "--", program)
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert answer.stderr.count("unsnarl: error:") == 1 and f"[{slug}]" in answer.stderr
    return answer.stderr


@pytest.fixture
def bank(tmp_path, shared):
    """The program, built once for all tests; who hunts it builds it here."""

    def make(folder):
        (folder / "bank.c").write_text(BANK)
        built(folder, "bank.c", "-o", "bank")

    return Path(shutil.copytree(shared.folder("bank", make), tmp_path / "bank"))


def patched(folder, at, data):
    """The program with some bytes of its header changed."""
    content = bytearray((folder / "bank").read_bytes())
    content[at : at + len(data)] = data
    (folder / "bank").write_bytes(content)
    return folder


def test_one_that_was_not_built_with_the_wrapper(bank):
    subprocess.run(["gcc", "-pthread", "bank.c", "-o", "plain"], cwd=bank, check=True)
    message = refused(bank, "./plain", "program-without-probe")
    assert "unsnarl cc" in message and "plain" in message


def test_one_without_debug_information(bank):
    built(bank, "-g0", "bank.c", "-o", "mute")
    assert "-g" in refused(bank, "./mute", "no-debug-info")


@pytest.mark.parametrize(
    ("option", "slug"), [("--strip-debug", "no-debug-info"), ("-s", "program-stripped")]
)
def test_one_that_was_stripped(bank, option, slug):
    subprocess.run(["strip", option, "bank"], cwd=bank, check=True)
    refused(bank, "./bank", slug)


@pytest.mark.parametrize("option", ["-static", "-static-pie"])
def test_a_static_one(bank, option):
    subprocess.run(["gcc", option, "-pthread", "bank.c", "-o", "whole"], cwd=bank, check=True)
    assert "-static" in refused(bank, "./whole", "program-static")


def test_one_of_another_machine(bank):
    other = {"x86_64": (183, "aarch64"), "aarch64": (62, "x86_64")}[os.uname().machine]
    message = refused(
        patched(bank, 18, other[0].to_bytes(2, "little")), "./bank", "program-unsupported"
    )
    assert f"built for {other[1]}" in message


def test_one_of_32_bits(bank):
    assert "32-bit" in refused(patched(bank, 4, b"\x01"), "./bank", "program-unsupported")


@pytest.mark.parametrize("size", [4, 5, 30, 63, 64, 500, 9000])
def test_one_that_is_cut_off(bank, size):
    content = (bank / "bank").read_bytes()
    (bank / "bank").write_bytes(content[:size])
    assert "cut off" in refused(bank, "./bank", "program-unsupported")


def test_one_that_lacks_its_last_byte(bank):
    content = (bank / "bank").read_bytes()
    (bank / "bank").write_bytes(content[:-1])
    assert "cut off" in refused(bank, "./bank", "program-unsupported")


def test_an_object_file(bank):
    built(bank, "-c", "bank.c")
    (bank / "bank.o").chmod(0o755)
    assert "an object file" in refused(bank, "./bank.o", "program-unsupported")


def test_a_library(bank):
    built(bank, "-shared", "-fPIC", "bank.c", "-o", "bank.so")
    assert "a library" in refused(bank, "./bank.so", "program-static")


def test_a_folder(bank):
    (bank / "folder").mkdir()
    assert "a directory" in refused(bank, "./folder", "command-not-found")


def test_one_that_may_not_be_executed(bank):
    (bank / "bank").chmod(0o644)
    assert "chmod +x" in refused(bank, "./bank", "command-not-found")
    (bank / "script").write_text(f"#!{sys.executable}\nprint()\n")
    assert "chmod +x" in refused(bank, "./script", "command-not-found")


def hunted(folder):
    """The number of a failing run of the program, built from the source in this folder."""
    built(folder, "bank.c", "-o", "bank")
    answer = unsnarl(folder, *HUNT, "--", "./bank")
    assert answer.returncode == 1, answer.stdout + answer.stderr
    (failure,) = json.loads((folder / "answer.json").read_text())["failures"]
    return failure["run"].lstrip("0")


def test_one_that_was_built_again_below_an_edit_is_replayed(bank):
    """Anchors name functions and lines by their text: the build's addresses do not matter."""
    run = hunted(bank)
    added = "static int unrelated(int n) { return n * 3; }\n"
    (bank / "bank.c").write_text(BANK.replace("static void", added + "\n\nstatic void"))
    built(bank, "-O2", "bank.c", "-o", "bank")
    answer = unsnarl(bank, "replay", run, "--times", "5")
    assert (answer.returncode, "5 of 5" in answer.stdout) == (1, True), answer.stdout
    assert "the program has changed" not in answer.stdout


def test_one_whose_line_is_another_now(bank):
    run = hunted(bank)
    atomic = "__atomic_add_fetch(&balance, 1, __ATOMIC_SEQ_CST);"
    (bank / "bank.c").write_text(BANK.replace("balance = balance + 1;", atomic))
    built(bank, "bank.c", "-o", "bank")
    answer = unsnarl(bank, "replay", run)
    assert answer.returncode == 4
    assert "the program has changed" in answer.stdout and "bank.c" in answer.stdout


def test_one_that_was_mended(bank):
    run = hunted(bank)
    locked = (
        "pthread_mutex_lock(&mutex);\n    balance = balance + 1;\n    pthread_mutex_unlock(&mutex);"
    )
    mutex = "static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;\nstatic int balance;"
    mended = BANK.replace("balance = balance + 1;", locked).replace("static int balance;", mutex)
    (bank / "bank.c").write_text(mended)
    built(bank, "bank.c", "-o", "bank")
    assert unsnarl(bank, "replay", run).returncode == 4
    verified = unsnarl(bank, "verify", "--max-runs", "50")
    assert verified.returncode == 0, verified.stdout


def test_experiments_need_the_build_of_the_campaign(bank):
    hunted(bank)
    assert unsnarl(bank, "show", "1").returncode == 0
    (bank / "bank.c").write_text(BANK.replace("balance == 2", "balance > 1"))
    built(bank, "-O2", "bank.c", "-o", "bank")
    for verb in ("confirm", "minimise"):
        answer = unsnarl(bank, verb, "1")
        assert answer.returncode == 2
        assert "[code-changed]" in answer.stderr and "unsnarl verify" in answer.stderr
    assert unsnarl(bank, "show", "1").returncode == 0


def test_a_campaign_goes_on_only_with_its_own_build(bank):
    hunted(bank)
    assert unsnarl(bank, "hunt", "--resume").returncode == 1
    built(bank, "-O2", "-DANOTHER", "bank.c", "-o", "bank")
    answer = unsnarl(bank, "hunt", "--resume")
    assert answer.returncode == 2 and "[code-changed]" in answer.stderr
    assert unsnarl(bank, "show", "1").returncode == 0


def test_one_that_is_built_again_while_it_is_hunted(bank):
    """A program that touches its own file looks like one that was linked anew."""
    touching = BANK.replace("int main(void) {", "int main(int count, char **words) {\n" + TOUCH)
    (bank / "bank.c").write_text("#include <sys/stat.h>\n#include <fcntl.h>\n" + touching)
    built(bank, "bank.c", "-o", "bank")
    message = refused(bank, "./bank", "program-refused")
    assert "was built again" in message


def test_one_that_is_gone_since_the_campaign(bank):
    run = hunted(bank)
    (bank / "bank").unlink()
    answer = unsnarl(bank, "replay", run)
    assert answer.returncode == 2 and "[command-not-found]" in answer.stderr
