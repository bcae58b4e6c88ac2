# SPDX-License-Identifier: Apache-2.0
import random

from unsnarl.campaigns.profile import Profile
from unsnarl.campaigns.read_sources import ReadSources
from unsnarl.model.event import Op, point_of
from unsnarl.model.plan import Rule

READ, OTHER_READ = point_of(10, Op.READ), point_of(11, Op.READ)
WRITE, LATER_WRITE = point_of(20, Op.WRITE), point_of(21, Op.WRITE)
TAKE, TAKE_TOO, GIVE = point_of(30, Op.ACQUIRE), point_of(31, Op.ACQUIRE), point_of(32, Op.RELEASE)


def profile(*cells: tuple[int, ...], sources: set[tuple[int, int]] | None = None) -> Profile:
    return Profile(
        steps=50,
        shared=frozenset(),
        counts={"0.1": {20: 1, 21: 1, 30: 1}, "0.2": {10: 1, 31: 1}},
        edges=(),
        contested=frozenset(),
        heads={10: 9, 20: 19},
        cells=frozenset(cells),
        sources=frozenset(sources or ()),
    )


def drawn(sources: ReadSources, runs: int, switch: str = "free") -> list[Rule]:
    draw = random.Random(1)
    return [rule for _ in range(runs) for rule in sources.rules(draw, switch, 300)]


def test_nothing_to_force_where_nothing_was_shared():
    sources = ReadSources()
    sources.learn(profile())
    assert not sources


def test_what_was_not_seen_comes_first():
    sources = ReadSources()
    sources.learn(profile((READ, WRITE), sources={(WRITE, READ)}))
    # The read has taken the write; before the write it was never seen: the writer is held.
    (rule, *_) = drawn(sources, 1)
    assert rule.hold.points == (WRITE,) and rule.until.points == (READ,)
    assert rule.when is None and rule.limit == 300


def test_the_reader_waits_for_the_write_and_other_writers_for_the_reader():
    sources = ReadSources()
    sources.learn(profile((READ, WRITE, LATER_WRITE)))
    rules = drawn(sources, 20)
    waits = [rule for rule in rules if rule.hold.points == (READ,)]
    assert {rule.until.points for rule in waits} == {(WRITE,), (LATER_WRITE,)}
    keeps = [rule for rule in rules if rule.once]
    assert {rule.when.points for rule in keeps} == {(WRITE,), (LATER_WRITE,)}
    assert all(rule.hold.points == (WRITE, LATER_WRITE) for rule in keeps)
    assert all(rule.until.points == (READ,) for rule in keeps)


def test_every_source_is_tried_before_one_is_tried_twice():
    sources = ReadSources()
    sources.learn(profile((READ, OTHER_READ, WRITE, LATER_WRITE)))
    held_until = {(rule.hold.points, rule.until.points) for rule in drawn(sources, 6)}
    reads = {(READ,), (OTHER_READ,)}
    assert reads <= {until for _, until in held_until}
    assert reads <= {hold for hold, _ in held_until}


def test_a_lock_is_taken_first_by_another_one():
    sources = ReadSources()
    sources.learn(profile((TAKE, TAKE_TOO, GIVE)))
    firsts = {
        (rule.hold.points, rule.until.points) for rule in drawn(sources, 30) if rule.when is None
    }
    assert ((TAKE,), (TAKE_TOO,)) in firsts and ((TAKE_TOO,), (TAKE,)) in firsts


def test_under_the_lock_threads_are_held_at_the_switch_point_before_the_access():
    sources = ReadSources()
    sources.learn(profile((READ, WRITE)))
    held = {point for rule in drawn(sources, 20, "gil") for point in rule.hold.points}
    assert {point_of(9, Op.READ), point_of(19, Op.WRITE), READ, WRITE} <= held


def test_the_same_draws_give_the_same_rules():
    one, same = ReadSources(), ReadSources()
    for sources in (one, same):
        sources.learn(profile((READ, WRITE), (TAKE, TAKE_TOO)))
    assert drawn(one, 20) == drawn(same, 20)
