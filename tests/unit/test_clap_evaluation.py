# SPDX-License-Identifier: Apache-2.0
"""Figures 11 and 12: levels that are made of one record, and what the pages say of them."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.recording import PLAIN, Times, way_name
from evaluation import clap, clap_page, recording
from evaluation.clap_page import Size
from evaluation.orders import Spent

from unsnarl.model.event import Op
from unsnarl.model.record import LOG, VALUE, Record, Recorded, ThreadLog

EVENTS = (Op.BEGIN, Op.ENTER, Op.BLOCK, Op.ACQUIRE, Op.BLOCK, Op.EXIT, Op.END)


def record() -> Record:
    """Seven events, and a value before each of them and behind the last."""
    events = np.array([(at, 16 | op, 1, 0) for at, op in enumerate(EVENTS, 1)], LOG)
    values = np.array([(8, at, 16, at, 1, 1, 0) for at in range(len(EVENTS) + 1)], VALUE)
    log = ThreadLog(1, "0.1", events, values, np.zeros(0, bool))
    return Record(Recorded("funcloop", values=True), (log,))


@pytest.mark.parametrize(
    ("level", "left", "positions"),
    [
        ("FUNC", (Op.BEGIN, Op.ENTER, Op.ACQUIRE, Op.EXIT, Op.END), [0, 1, 2, 2, 3, 3, 4, 5]),
        ("LOOP", (Op.BEGIN, Op.BLOCK, Op.ACQUIRE, Op.BLOCK, Op.END), [0, 1, 1, 2, 3, 4, 4, 5]),
        ("FUNCLOOP", EVENTS, [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_a_level_has_its_own_stamps_only(level, left, positions):
    (log,) = clap.at_level(record(), level).threads
    assert tuple(Op(point & 15) for point in log.events["point"].tolist()) == left
    assert log.values["position"].tolist() == positions
    assert log.values["value"].tolist() == list(range(len(EVENTS) + 1))


def test_what_the_clocks_save_is_told_of_the_slowest_and_the_fastest_level():
    def took(seconds: float) -> Spent:
        return Spent(False, seconds)

    levels = {"FUNC": took(0.9), "LOOP": took(0.2), "FUNCLOOP": took(0.1)}
    size = Size("racey", 500, took(0.5), took(1.0), levels, took(0.01), took(0.02))
    row = clap_page._figure([size]).splitlines()[-1]
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        "racey", "500", "500.0", "2x", "1.8x", "0.4x", "0.2x", "10 to 90 %", "0.02x", "0.04x"
    ]  # fmt: skip


def test_figure_12_is_in_parts_of_clap_without_clocks():
    ways = {"sync": 2.0, "func": 2.2, "loop": 2.5, "funcloop": 3.0}
    cell = {way_name(level, "clocks"): seconds for level, seconds in ways.items()}
    times = Times({(kernel, 2): {PLAIN: 0.5, **cell} for kernel in recording.KERNELS})
    head, rows = recording._head_12(), list(recording._figure_12(times))
    assert head[2:] == ("CLAP-tc FUNC", "CLAP-tc LOOP", "CLAP-tc FUNCLOOP")
    assert rows[0] == (recording.KERNELS[0], 4.0, 1.1, 1.25, 1.5)
