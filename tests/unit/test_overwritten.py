# SPDX-License-Identifier: Apache-2.0
"""A write that comes too early because it overwrites what the other thread was to see."""

from tests.unit.test_experiments import timeline
from tests.unit.test_stops import line

from unsnarl.experiments.overwritten import overwritten
from unsnarl.experiments.rules import forbidding
from unsnarl.model.event import Op

HERE, OTHER = 100, 200
COUNTS_IN, OPENS, LOOKS = 10, 20, 30
ORDER = [line(COUNTS_IN, Op.WRITE, 1), line(LOOKS, Op.READ, 2)]
COUNTED = (1, Op.WRITE, COUNTS_IN, HERE)
OPENED = (1, Op.WRITE, OPENS, HERE)
LOOKED = (2, Op.READ, LOOKS, HERE)


def sites(*events, lines=ORDER):
    return [one.site for one in overwritten(timeline(*events), lines)]


def test_what_the_same_thread_wrote_before_was_not_seen():
    between = (1, Op.WRITE, 40, OTHER), (1, Op.READ, COUNTS_IN, HERE)
    assert sites(COUNTED, OPENED, *between, COUNTED, LOOKED) == [OPENS, COUNTS_IN, LOOKS]


def test_what_somebody_has_come_to_since_is_not_overwritten_unseen():
    assert not sites(COUNTED, OPENED, LOOKED, COUNTED, LOOKED)
    assert not sites(COUNTED, OPENED, (0, Op.WRITE, 40, HERE), COUNTED, LOOKED)


def test_a_first_write_overwrites_nothing():
    assert not sites(COUNTED, LOOKED)
    assert not sites((1, Op.WRITE, OPENS, OTHER), COUNTED, COUNTED, LOOKED)


def test_only_a_write_before_a_read_is_such_an_order():
    wrote = [line(COUNTS_IN, Op.WRITE, 1), line(LOOKS, Op.WRITE, 2)]
    assert not sites(OPENED, COUNTED, (2, Op.WRITE, LOOKS, HERE), lines=wrote)


def test_it_is_forbidden_from_the_overwritten_write_on():
    lines = [line(OPENS, Op.WRITE, 1), *ORDER]
    (rule,) = forbidding(lines)
    assert rule.when.points == lines[0].points
    assert (rule.hold.points, rule.hold.who) == (lines[1].holds, "self")
    assert (rule.until.points, rule.until.who) == (lines[2].points, "others")
