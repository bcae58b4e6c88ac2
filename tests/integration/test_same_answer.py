# SPDX-License-Identifier: Apache-2.0
"""The same seed gives the same answer, however many runs are made at once."""

import json
import sys

import pytest
from tests.integration.in_process import called

SCRIPT = """
import threading


class Account:
    def __init__(self):
        self.balance = 0
        self.log = []


account = Account()


def deposit(amount):
    before = account.balance
    account.log.append(amount)
    account.balance = before + amount


threads = [threading.Thread(target=deposit, args=(n,)) for n in (1, 2, 4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert account.balance == sum(account.log), account.balance
"""
# What says when and how fast, and in which campaign.
TIMES = ("campaign", "seconds", "timings")


def answer(folder, jobs):
    folder.mkdir()
    (folder / "script.py").write_text(SCRIPT)
    command = ("--", sys.executable, "script.py")
    wanted = ("--fail", "8", "--pass", "8", "--confirm", "1", "--seed", "3")
    # Enough time for all: what is cut off would depend on the machine.
    done = called(folder, "hunt", *wanted, "--time", "900", f"--jobs={jobs}", "--json", *command)
    return {key: value for key, value in json.loads(done.stdout).items() if key not in TIMES}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return answer(tmp_path_factory.mktemp("one") / "program", 1)


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_same_seed_gives_the_same_answer(tmp_path, alone, jobs):
    assert alone["failures"][0]["findings"][0]["status"] == "confirmed"
    assert answer(tmp_path / "program", jobs) == alone
