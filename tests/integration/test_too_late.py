# SPDX-License-Identifier: Apache-2.0
"""The access that came too late to happen, because the failure ended the process first."""

import json
import shutil
import sys

import pytest
from tests.integration.test_native import HUNT, built, unsnarl

from unsnarl.runfile import read_run

C = """
#include <assert.h>
#include <pthread.h>
static int a, b;
static void *set(void *arg) {
    a = 1;
    b = -1;
    return arg;
}
static void *check(void *arg) {
    int x = a;
    int y = b;
    assert(!(x == 1 && y == 0));
    return arg;
}
int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, set, 0);
    pthread_create(&other, 0, check, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
"""
PYTHON = """
import os, threading
class Box:
    def __init__(self):
        self.a = self.b = 0
box = Box()
def setter():
    box.a = 1
    box.b = -1
def main():
    thread = threading.Thread(target=setter, daemon=True)
    thread.start()
    x = box.a
    y = box.b
    if x == 1 and y == 0:
        {end}
    thread.join()
main()
"""


def found(folder, *command):
    """What a hunt says first, without experiments."""
    done = unsnarl(folder, *HUNT[:-1], "--no-confirm", "--switch", "free", "--", *command)
    assert done.returncode == 1, done.stderr
    return json.loads((folder / "answer.json").read_text())["failures"][0]["findings"][0]


def steps(finding):
    return [(point["text"], point["due"]) for point in finding["points"] if point["op"] != "fail"]


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
def test_both_variables_of_a_c_program_are_named_and_cci_counts_other_threads(tmp_path):
    (tmp_path / "p.c").write_text(C)
    finding = found(built(tmp_path, "p.c", "-o", "p"), "./p")
    assert set(finding["variables"]) == {"a", "b"}
    assert steps(finding) == [
        ("a = 1;", False),
        ("int x = a;", False),
        ("int y = b;", False),
        ("b = -1;", True),
    ]
    runs = [read_run(path) for path in tmp_path.glob(".unsnarl/*/runs/*.run")]
    assert sum(int(run.counts["remote"].sum()) for run in runs) > 0


@pytest.mark.parametrize("end", ["os._exit(3)", "raise ValueError", "os.abort()"])
def test_both_variables_of_a_python_program_are_named(tmp_path, end):
    (tmp_path / "p.py").write_text(PYTHON.format(end=end))
    finding = found(tmp_path, sys.executable, "p.py")
    assert {"Box.a", "Box.b"} <= set(finding["variables"])
    assert ("box.b = -1", True) in steps(finding)
