# SPDX-License-Identifier: Apache-2.0
"""Where threads are held for an order once the code takes locks around its accesses."""

from tests.unit.traces import run_of

from unsnarl.model.event import Op
from unsnarl.model.plan import Match, Rule
from unsnarl.placement.timeline import Timeline
from unsnarl.replay.constraints import Enforced
from unsnarl.replay.lifted import lifted

LOCK, FLAG = 1, 2
SET, CLEAR = 21, 31
# The first thread sets a flag under a lock, and then the second one clears it under the same.
RUN = [
    (1, Op.ACQUIRE, 20, LOCK),
    (1, Op.WRITE, SET, FLAG),
    (1, Op.RELEASE, 22, LOCK),
    (2, Op.ACQUIRE, 30, LOCK),
    (2, Op.WRITE, CLEAR, FLAG),
    (2, Op.RELEASE, 32, LOCK),
]


def seen(*events):
    return Timeline(run_of(*events))


def match(path, site, op=Op.WRITE):
    return Match((site << 4 | op,), path, 1)


# The failure needs it the other way round.
CLEARED = match("0.2", CLEAR)
ASKED = Enforced((Rule(hold=match("0.1", SET), until=CLEARED),), (match("0.1", SET),), ())


def test_who_is_to_wait_does_so_before_its_lock():
    (rule,) = lifted(ASKED, seen(*RUN))
    assert rule == Rule(hold=match("0.1", 20, Op.ACQUIRE), until=CLEARED)


def test_without_a_lock_nothing_changes():
    assert lifted(ASKED, seen(RUN[1], RUN[4])) == ()


def test_an_order_that_came_about_stays_as_it_was():
    assert lifted(ASKED, seen(*RUN[3:], *RUN[:3])) == ()


def test_a_run_that_lacks_an_event_shows_nothing():
    assert lifted(ASKED, seen(*RUN[:3])) == ()
