# SPDX-License-Identifier: Apache-2.0
"""`unsnarl reproduce --with clap`: orders solved from logged values, and from branches alone."""

from __future__ import annotations

import json
import random
import re
import sys
import textwrap

import pytest
from tests.integration.in_process import called
from tests.integration.recorded_bugs import ZOO, c_bug, python_bug, record, unsnarl
from tests.smt_text import evaluate

from unsnarl.campaigns.store import Store
from unsnarl.model.event import Op
from unsnarl.model.plan import Plan
from unsnarl.replay.target_process import start_target
from unsnarl.reproduce.clap.following import Follower
from unsnarl.reproduce.clap.histories import of_record
from unsnarl.runfile import read_run

VALUES = ("--level", "access", "--values")
FUNCLOOP = ("--level", "funcloop", "--values")
LOOP = ("--level", "loop", "--values")
BRANCHES = ("--level", "sync", "--branches")
ALONE = Plan(strategy="replay", seed=0, anchors=[])


def solve(folder, word, *options):
    """The answer, and the exit code."""
    # A coarse record leaves many orders open, now and then more than the usual 100.
    many = ("--tries", "1000")
    done = called(folder, "reproduce", "--with", "clap", "--json", *many, *options, "--", word)
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done.returncode


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
        (python_bug, "bufwriter", BRANCHES),  # which object was read decides
        (python_bug, "binlog", BRANCHES),  # ... or a text
        (python_bug, "doublecheck", BRANCHES),  # ... or whether a key is there, by no branch
        (python_bug, "strlen", BRANCHES),  # ... or an index, by no branch
    ],
)
def test_recorded_failures_are_solved_back(tmp_path, make, name, how):
    word = record(tmp_path, make(tmp_path, name), *how)
    answer, code = solve(tmp_path, word, "--no-explain")
    assert (code, answer["reproduced"], answer["ending"]) == (1, True, "reproduced"), answer
    assert answer["replays"] == {"failed": 20, "runs": 20}
    assert answer["form"] == ("values" if "--values" in how else "branches")
    word = f"{answer['campaign']}/{answer['run']}"
    done = called(tmp_path, "replay", "--times", "20", "--json", "--", word)
    told = json.loads(done.stdout)
    assert (told["failed"], told["signature"]) == (20, answer["record"]["signature"])


def test_what_was_solved_is_explained_like_a_hunted_failure(tmp_path):
    word = record(tmp_path, python_bug(tmp_path, "weblech"), *BRANCHES)
    answer, code = solve(tmp_path, word)
    assert (code, answer["reproduced"]) == (1, True), answer
    (failure,) = answer["report"]["failures"]
    assert failure["findings"][0]["status"] == "confirmed"
    assert failure["replay"]["constraints"] >= 1


def test_a_path_that_cannot_be_followed_is_told(tmp_path):
    """What decides is in no record: a file that was there, and is no more."""
    (tmp_path / "flag.py").write_text(FLAG)
    flag = tmp_path / "flag"
    flag.touch()
    word = record(tmp_path, [sys.executable, "flag.py"], *BRANCHES)
    flag.unlink()
    done = unsnarl(tmp_path, "reproduce", "--with", "clap", "--", word)
    assert done.returncode == 4, done.stderr
    assert "not reproduced in 0 tries" in done.stdout
    assert "thread 0.1 cannot be followed beyond flag.py:6 (look)" in done.stdout
    answer, _ = solve(tmp_path, word)
    assert (answer["ending"], answer["solver"]) == ("not-followed", None)
    assert answer["left"] | {"site": 0} == {"path": "0.1", "site": 0, "branch": 0, "reason": "bool"}


FLAG = """\
import os, threading
seen = [0]

def look():
    seen[0] += 1
    if os.path.exists("flag"):
        raise ValueError("it is there")

thread = threading.Thread(target=look)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("method", ["pres", "clap"])
def test_every_field_of_the_answer_is_documented(tmp_path, method):
    word = record(tmp_path, python_bug(tmp_path, "weblech"), *BRANCHES)
    done = unsnarl(tmp_path, "reproduce", "--with", method, "--no-explain", "--json", "--", word)
    page = (ZOO.parent / "docs" / "reproduce.md").read_text(encoding="utf-8")
    common, by_pres, by_clap = page.split("\nWith ")
    tables = common + (by_pres if method == "pres" else by_clap)
    fields = re.findall(r"^\| `(\w+)` \|", tables, re.MULTILINE)
    assert sorted(json.loads(done.stdout)) == sorted(fields)


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
        done = called(tmp_path, "reproduce", "--with", "clap", "--no-explain", "--tries", "3",
                      "--", word)  # fmt: skip
        assert done.returncode in (1, 2, 3, 4), (done.returncode, done.stderr)
        assert "Traceback" not in done.stderr, done.stderr


def follow(folder, word):
    """The record, and a run of each thread alone along its branches."""
    campaign, _, number = word.partition("/")
    store = Store.open(folder / ".unsnarl" / campaign)
    record_ = read_run(store.run_file(int(number))).record
    with start_target(store, branches=True) as process:
        follower = Follower(record_, process.trials, process.codes.parent, 1)
        along = next(follower.along([ALONE]), None)
    store.close()
    assert along is not None, follower.left
    passed = {path: thread.branches for path, thread in along.followed.threads.items()}
    assert passed == {one.path: len(one.branches) for one in record_.threads if one.path in passed}
    assert sum(passed.values()) == sum(len(one.branches) for one in record_.threads)
    return record_, along


ODD = {
    "empty objects": """
        class Box:
            def __init__(self): self.asked = 0
            def __bool__(self): self.asked += 1; return False
            def __len__(self): raise TypeError("not asked")
        box = Box()
        chosen = box or state
        assert chosen is state and box.asked == 1
        """,
    "numbers of many digits": """
        huge = state["n"] + 10**6000
        state["huge"] = huge
        if state["huge"] > state["n"] and huge % 7 != 9:
            state["n"] = state["n"] % 10**5000
        """,
    "sums of sums": """
        total = state["n"]
        for _ in range(200):
            total = total + total
        if total > state["n"] or total == 0:
            state["n"] = total
        """,
    "exceptions": """
        try:
            if 1 // state["n"] or state["none"]:
                state["n"] += 1
        except (ZeroDivisionError, KeyError):
            state["n"] -= 1
        finally:
            if state["n"] != 5: state["n"] = 5
        """,
    "generators": """
        def numbers():
            for each in range(3):
                if each < state["n"]: yield each
        if any(each > 0 for each in numbers()) and [x for x in numbers() if x]:
            state["n"] += sum(numbers())
        """,
    "truths": """
        flag = state["flag"]
        if str(flag) == "True" and f"{flag}" == "True" and not (flag ^ True):
            state["flag"] = not flag
        if 0 <= state["n"] < 9 < 10:
            state["n"] **= 2
        state["n"] //= -2; state["n"] <<= 1; state["n"] |= 1; state["n"] -= 1
        """,
}


@pytest.mark.parametrize("name", ODD)
def test_odd_programs_are_followed_to_their_ends(tmp_path, name):
    (tmp_path / "odd.py").write_text(
        HEAD + textwrap.indent(textwrap.dedent(ODD[name]), "    ") + TAIL
    )
    command = [sys.executable, "odd.py"]
    word = record(tmp_path, command, *BRANCHES, fails=False)
    _, along = follow(tmp_path, word)
    assert along.trial.label == "pass", along.trial.signature


HEAD = """\
import threading
state = {"n": 2, "flag": True}
lock = threading.Lock()

def work():
    with lock:
        step()

def step():
"""
TAIL = """
threads = [threading.Thread(target=work) for _ in range(2)]
threads.append(threading.Thread(target=int))  # does nothing
for each in threads:
    each.start()
for each in threads:
    each.join()
"""


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
    record_, along = follow(tmp_path, word)
    values = read_values(record_)
    checked = 0
    for path, thread in along.followed.threads.items():
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
