# SPDX-License-Identifier: Apache-2.0
"""A serial run: no thread is interrupted, not even by those whose time has come."""

import pytest
from tests.integration.rule_programs import Program

SOURCE = """
import time

class Board:
    notes = ""
board = Board()

def write(letter):
    for _ in range(5):
        before = board.notes
        board.notes = before + letter
        board.notes += letter
        time.sleep(0.0001)

def look():
    # It polls more often than the others come to write: their time comes while it looks.
    for _ in range(40):
        first = board.notes
        for _ in range(20):
            assert board.notes == first, (first, board.notes)
        time.sleep(0.0001)

go(lambda: write("a"), lambda: write("b"), look)
assert len(board.notes) == 20, board.notes
"""


@pytest.mark.parametrize("switch", ["gil", "free"])
def test_what_a_thread_does_between_two_waits_is_whole(tmp_path, switch):
    program = Program(tmp_path, SOURCE, switch)
    try:
        ends = [program.run(seed=seed, strategy="serial")[1] for seed in range(1, 9)]
        walks = [program.run(seed=seed, strategy="walk")[1] for seed in range(1, 9)]
    finally:
        program.client.close()
    assert not any(run.failures for run in ends)
    assert any(run.failures for run in walks)
