# SPDX-License-Identifier: Apache-2.0
"""Threads that meet where only one should be: the check that let both in comes first."""

import json
from unittest import mock

from tests.integration.in_process import proved
from tests.integration.interpreters import PYTHON

from unsnarl.experiments.prove import Prover

POOL = """
import sys
import threading


class Pool:
    def __init__(self):
        self.started = False
        self.calls = 0
        self.workers = []

    def name(self, number):
        return f"{self.calls}.{number}"

    def schedule(self):
        if not self.started:
            self.start()

    def start(self):
        missing = 2 - len(self.workers)
        names = [self.name(number) for number in range(20)]
        self.workers.extend(names[:missing])
        self.started = True


pool = Pool()
threads = [threading.Thread(target=pool.schedule) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(len(pool.workers) > 2)
"""
# What is read before the conflict and written after it, and keeps nobody out.
COUNTED = POOL.replace(
    """        if not self.started:
            self.start()
""",
    """        calls = self.calls
        self.start()
        self.calls = calls + 1
""",
)


def lines_of(answer, interner):
    return [interner.point(line.point).site.line for line in answer.lines]


def first_finding(folder, program):
    """Of a hunt in whose ranking the conflict about the workers comes first."""
    (folder / "pool.py").write_text(program)
    found = {line.split()[0]: at for at, line in enumerate(program.splitlines(), 1) if line.strip()}
    counted, added = found["missing"], found["self.workers.extend(names[:missing])"]
    prove = Prover.prove

    def from_the_conflict(self, compared, answers, interner, others=()):
        wanted = [counted, added, added]
        answers = sorted(answers, key=lambda one: lines_of(one, interner) != wanted)
        assert lines_of(answers[0], interner) == wanted
        return prove(self, compared, answers, interner, others)

    words = ("--fail", "15", "--pass", "10", "--seed", "3", "--json=answer.json")
    with mock.patch.object(Prover, "prove", from_the_conflict):
        done = proved(folder, "hunt", *words, "--", PYTHON, "pool.py")
    assert done.returncode == 1, done.stderr
    (failure,) = json.loads((folder / "answer.json").read_text())["failures"]
    return failure["findings"][0]


def test_the_check_before_the_conflict_comes_first(tmp_path):
    finding = first_finding(tmp_path, POOL)
    assert finding["status"] == "confirmed", finding["why"]
    assert finding["shape"] == "check-then-act"
    assert {one["variable"] for one in finding["points"]} == {"Pool.started"}


def test_what_keeps_nobody_out_is_no_guard(tmp_path):
    finding = first_finding(tmp_path, COUNTED)
    assert finding["status"] == "confirmed", finding["why"]
    assert {one["variable"] for one in finding["points"]} == {"Pool.workers"}
