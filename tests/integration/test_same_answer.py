# SPDX-License-Identifier: Apache-2.0
"""The same seed gives the same answer, however many runs are made at once."""

import ctypes
import json
import sys

import pytest
from tests.integration.in_process import called

from unsnarl.execution.addresses import ADDR_NO_RANDOMIZE, ASK, steady_addresses

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
TIMES = ("campaign", "seconds", "timings", "explained")


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


# Objects without a hash of their own are in a set by their addresses.
BY_ADDRESS = """
import threading


class Listener:
    def __init__(self, number):
        self.number = number


listeners = {Listener(number) for number in range(50)}
order = []
thread = threading.Thread(target=lambda: order.extend(one.number for one in listeners))
thread.start()
thread.join()
with open("order.txt", "w") as file:
    print(order, file=file)
"""


def order(folder):
    folder.mkdir()
    (folder / "script.py").write_text(BY_ADDRESS)
    wanted = ("--max-runs", "1", "--pass", "1", "--no-confirm")
    called(folder, "hunt", *wanted, "--", sys.executable, "script.py")
    return (folder / "order.txt").read_text()


def test_objects_that_are_hashed_by_address_keep_their_order_from_process_to_process(tmp_path):
    with steady_addresses():
        if not ctypes.CDLL(None).personality(ASK) & ADDR_NO_RANDOMIZE:
            pytest.skip("this sandbox does not allow it")
    assert len({order(tmp_path / f"program{at}") for at in range(3)}) == 1
