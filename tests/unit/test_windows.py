# SPDX-License-Identifier: Apache-2.0
"""Other accesses that come into the region of a finding."""

from tests.unit.test_experiments import timeline

from unsnarl.experiments.rules import forbidding, with_others
from unsnarl.experiments.windows import other_window
from unsnarl.model.event import Op
from unsnarl.placement.line_points import LinePoints

CELL, ELSEWHERE = 1, 2


def line(site, op, role, code=(0, 0)):
    point = (site << 4 | op,)
    return LinePoints(point, point, role, code)


# for x in items (10), items.remove (20), next x (10)
LINES = [line(10, Op.READ, 1), line(20, Op.WRITE, 2), line(10, Op.READ, 1)]


def found(*events, lines=LINES):
    return [(event.path, event.site) for event in other_window(timeline(*events), lines)]


def test_another_line_that_changes_the_same_comes_between():
    events = (1, Op.READ, 10, CELL), (2, Op.WRITE, 30, CELL), (1, Op.READ, 10, CELL)
    (first, _), (_, between), (last, _) = found(*events)
    assert first == last
    assert between == 30


def test_what_is_on_the_lines_was_forbidden():
    assert not found((1, Op.READ, 10, CELL), (2, Op.WRITE, 20, CELL), (1, Op.READ, 10, CELL))


def test_other_variables_and_reads_do_no_harm():
    for other in ((2, Op.WRITE, 30, ELSEWHERE), (2, Op.READ, 30, CELL)):
        assert not found((1, Op.READ, 10, CELL), other, (1, Op.READ, 10, CELL))


def test_accesses_of_other_cells_in_between_do_not_hide_it():
    """An iteration of two containers reads both on one line."""
    events = (
        (1, Op.READ, 10, CELL),
        (2, Op.WRITE, 30, CELL),
        (1, Op.READ, 10, ELSEWHERE),
        (1, Op.READ, 10, CELL),
    )
    assert [site for _, site in found(*events)] == [10, 30, 10]


def test_another_line_of_the_same_function_begins_the_region():
    begins = [line(10, Op.READ, 1, (9, 15)), LINES[1], line(40, Op.READ, 1, (40, 50))]
    events = (1, Op.WRITE, 12, CELL), (2, Op.WRITE, 20, CELL), (1, Op.READ, 40, CELL)
    assert [site for _, site in found(*events, lines=begins)] == [12, 20, 40]
    assert not found((1, Op.WRITE, 60, CELL), *events[1:], lines=begins)


def test_all_windows_share_one_lock():
    other = [line(10, Op.READ, 1), line(30, Op.WRITE, 2), line(10, Op.READ, 1)]
    rules = with_others(forbidding(LINES), [other])
    assert [rule.when.points for rule in rules] == [(160,), (20 << 4 | 1,), (30 << 4 | 1,)]
    assert {rule.exclusive for rule in rules} == {1}
