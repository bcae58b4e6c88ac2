# SPDX-License-Identifier: Apache-2.0
from concurrent.futures import ThreadPoolExecutor

from scoreboard import Scoreboard


def umpire(board):
    board.home("try")
    board.away("goal")


def test_points_are_those_called():
    board = Scoreboard()
    with ThreadPoolExecutor(max_workers=2) as umpires:
        for one in [umpires.submit(umpire, board) for _ in range(2)]:
            one.result()
    assert board.is_right()
