# SPDX-License-Identifier: Apache-2.0
"""`unsnarl reproduce --with clap`: orders solved from logged values, and from branches alone."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.native_programs import build
from tests.smt_text import evaluate

from unsnarl.campaigns.store import Store
from unsnarl.model.site import Op
from unsnarl.reproduce.again import again
from unsnarl.reproduce.clap.following import Follower
from unsnarl.reproduce.clap.histories import of_record
from unsnarl.runfile import read_run

ZOO = Path(__file__).parents[2] / "zoo"
VALUES = ("--level", "access", "--values")
FUNCLOOP = ("--level", "funcloop", "--values")
LOOP = ("--level", "loop", "--values")
BRANCHES = ("--level", "sync", "--branches")
ALONE = {"strategy": "replay", "anchors": []}


def unsnarl(folder, *words):
    command = [sys.executable, "-m", "unsnarl", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def record(folder, command, *options, fails=True):
    """Record until it fails, or once; gives how RECORD is called."""
    often = ["--noise", "--until-fail", "500"] if fails else []
    done = unsnarl(folder, "record", *often, "--json", *options, "--", *command)
    assert done.returncode == (1 if fails else 0), done.stdout + done.stderr
    answer = json.loads(done.stdout)
    return f"{answer['campaign']}/{answer['record']['run']}"


def solve(folder, word, *options):
    """The answer, and the exit code."""
    done = unsnarl(folder, "reproduce", "--with", "clap", "--json", *options, "--", word)
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done.returncode


def c_bug(folder, name):
    return [str(build(folder, str(ZOO / "c" / name / f"{name}.c"), "--loops"))]


def python_bug(folder, name):
    shutil.copy(ZOO / "python" / name / f"{name}.py", folder)
    return [sys.executable, f"{name}.py"]


@pytest.mark.parametrize(
    ("make", "name", "how"),
    [
        (c_bug, "bank", VALUES),
        (c_bug, "racey", VALUES),
        (python_bug, "idinit", VALUES),
        (python_bug, "abba", VALUES),
        (c_bug, "bank", LOOP),
        (c_bug, "racey", FUNCLOOP),
        (c_bug, "bank", ("--level", "func", "--values")),
        (python_bug, "idinit", LOOP),
        (python_bug, "weblech", FUNCLOOP),
        (python_bug, "weblech", ("--level", "funcloop", "--branches")),
        (python_bug, "raytracer", BRANCHES),
        (python_bug, "weblech", BRANCHES),
        (python_bug, "aget", BRANCHES),
        (python_bug, "multiorder", BRANCHES),
        (python_bug, "idinit", BRANCHES),
    ],
)
def test_recorded_failures_are_solved_back(tmp_path, make, name, how):
    word = record(tmp_path, make(tmp_path, name), *how)
    answer, code = solve(tmp_path, word, "--no-explain")
    assert (code, answer["reproduced"], answer["ending"]) == (1, True, "reproduced"), answer
    assert answer["replays"] == {"failed": 20, "runs": 20}
    assert answer["form"] == ("values" if "--values" in how else "branches")
    word = f"{answer['campaign']}/{answer['run']}"
    done = unsnarl(tmp_path, "replay", "--times", "20", "--json", "--", word)
    told = json.loads(done.stdout)
    assert (told["failed"], told["signature"]) == (20, answer["record"]["signature"])


def test_what_was_solved_is_explained_like_a_hunted_failure(tmp_path):
    word = record(tmp_path, python_bug(tmp_path, "weblech"), *BRANCHES)
    answer, code = solve(tmp_path, word)
    assert (code, answer["reproduced"]) == (1, True), answer
    (failure,) = answer["report"]["failures"]
    assert failure["findings"][0]["status"] == "confirmed"
    assert failure["replay"]["constraints"] >= 1


def test_branches_that_no_integer_decides_are_told(tmp_path):
    (tmp_path / "words.py").write_text(WORDS)
    word = record(tmp_path, [sys.executable, "words.py"], *BRANCHES)
    done = unsnarl(tmp_path, "reproduce", "--with", "clap", "--", word)
    assert done.returncode in (1, 4), done.stderr
    said = {1: ("reproduced in",), 4: ("words.py:", "not reproduced")}[done.returncode]
    assert any(text in done.stdout for text in said), done.stdout
    assert "Traceback" not in done.stdout + done.stderr


WORDS = """\
import random, sys, threading
seen = []

def look():
    seen.append("x" if random.random() < 2 else "")

thread = threading.Thread(target=look)
thread.start()
thread.join()
word = "".join(seen) + str(threading.active_count())
if word.endswith("1"):
    sys.exit("it ends so")
"""


@pytest.mark.parametrize("how", [("--level", "access"), ("--level", "funcloop")])
def test_records_without_values_are_refused(tmp_path, how):
    word = record(tmp_path, python_bug(tmp_path, "weblech"), *how)
    done = unsnarl(tmp_path, "reproduce", "--with", "clap", "--", word)
    assert done.returncode == 2
    assert "record-lacks-values" in done.stderr
    assert "--level access --values" in done.stderr


@pytest.mark.parametrize("how", [VALUES, BRANCHES], ids=["values", "branches"])
def test_damaged_records_are_told(tmp_path, how):
    word = record(tmp_path, python_bug(tmp_path, "weblech"), *how)
    campaign, _, number = word.partition("/")
    path = tmp_path / ".unsnarl" / campaign / "runs" / f"{int(number):06d}.run"
    whole = path.read_bytes()
    draw = random.Random(1)
    for _ in range(12):
        data = bytearray(whole)
        if draw.random() < 0.3:
            data = data[: draw.randrange(len(data))]
        else:
            for _ in range(draw.randint(1, 30)):
                data[draw.randrange(len(data))] = draw.randrange(256)
        path.write_bytes(data)
        done = unsnarl(tmp_path, "reproduce", "--with", "clap", "--no-explain", "--tries", "3",
                       "--", word)  # fmt: skip
        assert done.returncode in (1, 2, 3, 4), (done.returncode, done.stderr)
        assert "Traceback" not in done.stderr, done.stderr


def program(seed):
    """Two threads and some shared integers: sums, tests, locks."""
    draw = random.Random(seed)

    def statement(depth):
        name, other = draw.choice("abc"), draw.choice("abc")
        kind = draw.randrange(4 if depth else 2)
        if kind == 0:
            return [f"{name} = {other} + {draw.randint(1, 3)}"]
        if kind == 1:
            return [f"{name} = {name} - {other} * {draw.randint(1, 2)}"]
        head = f"if {name} > {other} - {draw.randint(0, 3)}:" if kind == 2 else "with lock:"
        return [head, *("    " + line for _ in range(2) for line in statement(depth - 1))]

    def body():
        return "".join(f"    {line}\n" for _ in range(5) for line in statement(2))

    functions = "".join(f"def {name}():\n    global a, b, c\n{body()}\n" for name in ("one", "two"))
    return (
        f"import threading\nlock = threading.RLock()\na, b, c = 1, 2, 3\n\n{functions}"
        "threads = [threading.Thread(target=each) for each in (one, two)]\n"
        "for each in threads:\n    each.start()\nfor each in threads:\n    each.join()\n"
        "if a > b or not c:\n    a = b\n"
    )


@pytest.mark.parametrize("seed", range(6))
def test_conditions_of_followed_threads_hold_for_recorded_values(tmp_path, seed):
    (tmp_path / "program.py").write_text(program(seed))
    word = record(tmp_path, [sys.executable, "program.py"], *VALUES, "--branches", "--noise",
                  fails=False)  # fmt: skip
    campaign, _, number = word.partition("/")
    store = Store.open(tmp_path / ".unsnarl" / campaign)
    run = store.run_file(int(number))
    record_ = read_run(run).record
    with again(store, branches=True) as process:
        follower = Follower(record_, process.trials, process.codes.parent, 1)
        along = next(follower.along([ALONE]), None)
    store.close()
    assert along is not None, follower.left
    values = read_values(record_)
    checked = 0
    for path, thread in along.story.threads.items():
        recorded_branches = next(one for one in record_.threads if one.path == path).branches
        assert thread.branches == len(recorded_branches)
        for _, condition in thread.conditions:
            assert evaluate(condition, values[path]), condition
            checked += 1
    assert checked


def read_values(record_):
    """What was read, by thread and symbol."""
    found = {}
    for history in of_record(record_, None):
        symbols = found[history.path] = {}
        accesses = [one for one in history.events if one.op in (Op.READ, Op.WRITE, Op.CALL)]
        name = history.path.replace(".", "_")
        for place, access in enumerate(accesses):
            if access.op == Op.READ and access.touched and access.touched[0].value is not None:
                symbols[f"r{place}_{name}"] = signed(access.touched[0].value)
    return found


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value
