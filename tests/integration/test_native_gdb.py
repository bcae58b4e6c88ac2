# SPDX-License-Identifier: Apache-2.0
"""`unsnarl replay --gdb`: a C program, stopped at one moment of its failing run."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from tests.integration.test_mixed import shop
from tests.integration.test_native import HUNT, built, specimen, unsnarl

needs_gdb = pytest.mark.skipif(not shutil.which("gdb"), reason="there is no gdb")
pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")

DEADLOCK = r"""
#include <pthread.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static long moved;

static void *forth(void *arg) {
    pthread_mutex_lock(&one);
    pthread_mutex_lock(&other);
    moved++;
    pthread_mutex_unlock(&other);
    pthread_mutex_unlock(&one);
    return arg;
}

static void *back(void *arg) {
    pthread_mutex_lock(&other);
    pthread_mutex_lock(&one);
    moved--;
    pthread_mutex_unlock(&one);
    pthread_mutex_unlock(&other);
    return arg;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, forth, NULL);
    pthread_create(&threads[1], NULL, back, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
"""


def hunted(folder, program):
    unsnarl(folder, *HUNT, f"./{program}")
    (failure,) = json.loads((folder / "answer.json").read_text())["failures"]
    return failure


def debugged(folder, run, commands, *options):
    done = subprocess.run(
        [sys.executable, "-m", "unsnarl", "replay", run.lstrip("0"), *options],
        cwd=folder,
        input="\n".join(commands) + "\n",
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"HOME": str(folder), "COLUMNS": "200"},
    )
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def apachelog(tmp_path_factory):
    """The folder in which it was hunted, and its failure."""
    folder = specimen(tmp_path_factory.mktemp("gdb"), "apachelog")
    return folder, hunted(folder, "apachelog")


@needs_gdb
def test_gdb_stops_before_an_access_with_the_others_held(apachelog):
    folder, failure = apachelog
    steps = failure["findings"][0]["explanation"]
    at = next(i for i, one in enumerate(steps) if one["op"] in ("read", "write"))
    point = steps[at]
    commands = ["bt 2", "info threads", "print access_log", "continue", "continue", "continue"]
    code, out = debugged(folder, failure["run"], commands, "--gdb", "--break", str(at + 1))
    assert f"thread {point['thread']} is about to {point['op']} in {point['function']}" in out
    frame = re.search(r"\(gdb\) #0 .*", out, re.DOTALL)
    assert frame, out
    assert re.search(rf"#0 .*{point['function']} .*\s.*{point['file']}:{point['line']}", out), out
    others = re.findall(r"^  \d+ +Thread .*\"apachelog\" +(?:0x\w+ in )?(\w+) \(", out, re.M)
    assert others and set(others) <= {"syscall", "clone3"}, out  # at the gate, or not yet begun
    assert "failed as recorded" in out
    assert code == 1


@needs_gdb
def test_gdb_stops_in_a_library(tmp_path):
    folder = shop(tmp_path)
    built(folder, "main.c", "-o", "main", "-L.", "-lshop", "-Wl,-rpath,$ORIGIN")
    failure = hunted(folder, "main")
    code, out = debugged(folder, failure["run"], ["bt", "continue", "continue"], "--break", "1")
    assert "about to read in take, shop.c:4" in out
    assert re.search(r"#0 .*take \(.*shop\.c:[45]\s+#1 .* buy \(", out), out
    assert code == 1, out


@needs_gdb
def test_gdb_stops_when_the_deadlock_is_there(tmp_path):
    (tmp_path / "stuck.c").write_text(DEADLOCK)
    built(tmp_path, "stuck.c", "-o", "stuck")
    failure = hunted(tmp_path, "stuck")
    code, out = debugged(tmp_path, failure["run"], ["continue"], "--gdb")
    assert "no thread can go on" in out
    assert re.search(r"#\d+ .*(forth|back) \(.*stuck\.c:(9|18)", out), out
    assert code == 1, out
    _, out = debugged(tmp_path, failure["run"], ["continue"], "--break", "1")
    assert re.search(r"thread 0\.[12] is about to acquire in (forth|back)", out), out


@needs_gdb
def test_a_run_that_is_left_is_not_called_reproduced(apachelog):
    folder, failure = apachelog
    code, out = debugged(folder, failure["run"], ["quit"], "--gdb")
    assert out.rstrip().endswith("the run was left")
    assert code == 4


def test_the_wrong_debugger_is_refused_and_a_missing_one_is_named(apachelog, tmp_path):
    folder, failure = apachelog
    done = unsnarl(folder, "replay", failure["run"].lstrip("0"), "--pdb")
    assert done.returncode == 2
    assert "wrong-debugger" in done.stderr
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("nm", "objdump", "addr2line", "readelf"):
        (tools / name).symlink_to(shutil.which(name))
    done = unsnarl(folder, "replay", failure["run"].lstrip("0"), "--gdb", PATH=str(tools))
    assert done.returncode == 3
    assert "gdb is needed" in done.stderr
