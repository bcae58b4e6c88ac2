# SPDX-License-Identifier: Apache-2.0
"""A thread that goes on too early is told by the look that let it, between two changes."""

import json
from textwrap import dedent

from tests.integration.in_process import proved
from tests.integration.interpreters import PYTHON

STORE = """
    import threading

    lock = threading.Lock()
    waiting, sending, sent = ["letter"], set(), []

    def post():
        with lock:
            letter = waiting.pop()
        with lock:
            sending.add(letter)
        sent.append(letter)
        with lock:
            sending.remove(letter)

    def is_done():
        with lock:
            return not waiting and not sending

    def close():
        if is_done():
            assert sent == ["letter"], sent

    threads = [threading.Thread(target=one) for one in (post, close)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_the_look_between_two_changes_comes_first(tmp_path):
    (tmp_path / "store.py").write_text(dedent(STORE))
    proved(tmp_path, "hunt", "--max-runs", 60, "--json", "answer.json", "--", PYTHON, "store.py")
    report = json.loads((tmp_path / "answer.json").read_text())
    finding = report["failures"][0]["findings"][0]
    assert finding["status"] == "confirmed"
    texts = [step["text"].strip() for step in finding["points"]]
    assert texts[:3] == [
        "letter = waiting.pop()",
        "return not waiting and not sending",
        "sending.add(letter)",
    ]
