# SPDX-License-Identifier: Apache-2.0
"""What a report says about an experiment besides its figures."""

from unsnarl.model.report import Finding, SourceLine
from unsnarl.reports.remarks import forbidden_note

LINES = tuple(SourceLine("pool.py", line, "add") for line in (10, 20, 30))


def note(**fields):
    return forbidden_note(Finding(1, "joined", 1.0, {}, "atomicity", (), (), 2, **fields))


def test_other_windows_are_named():
    also = "In other runs pool.py:10 does the same; forbidden as well."
    assert note(windows=LINES[:1]) == also
    assert "pool.py:10, pool.py:20 or pool.py:30" in note(windows=LINES)


def test_runs_that_were_left_out_are_counted():
    assert note(left_out=2).startswith("Left out: 2 failing runs without this order")
    assert note() == ""


def test_calls_that_were_kept_apart_are_what_was_confirmed():
    lines = (SourceLine("scanner.py", 9, "Scanner.start", ""),)
    assert note(calls="Scanner.scan", windows=lines) == (
        "Confirmed of two calls of Scanner.scan at a time: without this order runs fail by other "
        "state that they share (scanner.py:9)."
    )
