# SPDX-License-Identifier: Apache-2.0
"""The outcome: was the order established, and did the test fail?"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from unsnarl.reproducers.machinery.child import child
from unsnarl.reproducers.machinery.events import (
    BUG,
    FILE,
    FIXED,
    LIMIT,
    NOT_ESTABLISHED,
    HeldEvent,
)
from unsnarl.reproducers.machinery.values import FAIL_IF, FAILURE, OK_EXIT, OPTIONS, ORDERS, STDIN

# ---- what came of it ------------------------------------------------------------------------


def run_child():
    """Run the test in a process of its own: status (None for too long), output, report."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "report.json")
        variables = {**os.environ, FILE: file, "PYTHONHASHSEED": "0"}
        command = [sys.executable, *OPTIONS, os.path.abspath(__file__)]
        with open(os.path.join(folder, "output"), "w+", errors="replace") as output:
            process = subprocess.Popen(
                command, env=variables, stdin=subprocess.PIPE, stdout=output, stderr=output
            )
            try:
                process.communicate(STDIN.encode(), timeout=LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
            status = process.wait() if process.poll() is not None else None
            output.seek(0)
            text = output.read()
        try:
            with open(file, encoding="utf-8") as stream:
                return status, text, json.load(stream)
        except (OSError, ValueError):
            return status, text, {"states": [], "gone": [], "avoided": [], "failures": []}


def judge(status, output, report):
    """The exit status of the reproducer, and why."""
    failures, states = report["failures"], report["states"]
    in_words = failures[0] if failures else f"exit status {status}"
    if FAIL_IF and re.search(FAIL_IF, output):
        failures = failures or [in_words := f"the output has {FAIL_IF!r}"]
    every = bool(states) and all(one == "kept" for one in states)
    if failures or status not in OK_EXIT:
        recorded = FAILURE in f"{failures} {output} exit status {status}"
        if recorded or every:
            return BUG, f"the failure is there: {in_words}"
        return NOT_ESTABLISHED, f"the test ended in another way: {in_words}"
    return passed(states, report, every)


def passed(states, report, every):
    """The same for a test that passed."""
    if every:
        return FIXED, "every order was kept and the test passed: it does no harm any more"
    if report["gone"]:
        return NOT_ESTABLISHED, "the test passed, but code that the orders are about is gone"
    if "given up" in states:
        return FIXED, "the orders can no longer come about, and the test passed"
    if "kept" in states or report["avoided"]:
        return FIXED, "the program goes another way under these orders, and the test passed"
    return NOT_ESTABLISHED, "the test passed, but no order could be tried"


def main():
    """Run the test once under the orders, and say what came of it."""
    status, output, report = run_child()
    code, why = judge(status, output, report)
    print(output[-4000:].rstrip())
    print("-" * 80)
    for order, state in zip(ORDERS, report["states"], strict=False):
        early, late = (HeldEvent(one) for one in order[:2])
        print(f"{state}: {early}\n    before {late}")
    for word in ("gone", "avoided"):
        for event in report[word]:
            print(f"{word}: {event}")
    word = {BUG: "BUG", FIXED: "FIXED", NOT_ESTABLISHED: "NOT ESTABLISHED"}[code]
    print(f"{word}: {why}")
    return code


def test_interleaving():
    """For pytest: fails while the bug is there."""
    code = main()
    if code == NOT_ESTABLISHED:
        raise unittest.SkipTest("the interleaving could not be established")
    assert code == FIXED, "the bug is there"


if __name__ == "__main__":
    sys.exit(child() if FILE in os.environ else main())
