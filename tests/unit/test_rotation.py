# SPDX-License-Identifier: Apache-2.0
from collections import Counter

from unsnarl.campaigns.narrowing import LEAST_WIDE_SHARE, WIDE_SHARE, Narrowing
from unsnarl.campaigns.profile import Profile
from unsnarl.campaigns.rotation import STRATEGIES, Rotation, components
from unsnarl.campaigns.shares import TURN_EVERY, TURNS, Shares

PROFILE = Profile(
    steps=120,
    shared=frozenset({3, 9, 20}),
    counts={"0": {1: 5}, "0.1": {3: 4, 9: 2, 20: 1}, "0.2": {3: 1, 21: 7}},
    edges=((3, 9), (9, 3), (20, 21), (50, 51)),
    contested=frozenset({9, 20}),
    cells=frozenset({(3 << 4, 9 << 4 | 1)}),
)


def taught(seed: int = 0, runs: int = 3, passed: bool = True) -> Rotation:
    rotation = Rotation(seed)
    for _ in range(runs):
        rotation.learn(PROFILE, passed=passed, wide=False)
    return rotation


def test_the_first_runs_take_turns():
    rotation = Rotation(0)
    assert [rotation.plan(n).strategy for n in (1, 2, 3, 4)] == ["walk", "pos", "pct", "walk"]
    plan = rotation.plan(1)
    assert plan.sites is None and plan.interest is None and plan.counts is None


def test_failing_profiles_do_not_start_surw():
    rotation = taught(passed=False)
    assert "surw" not in {rotation.plan(n).strategy for n in range(100)}


def fruitless(runs: int) -> list[str]:
    """The strategies of so many runs, none of which fails."""
    rotation, made = taught(), []
    for number in range(1, runs + 1):
        made.append(rotation.plan(number).strategy)
        rotation.count(made[-1], failed=False)
    return made


def test_the_most_promising_strategy_has_two_of_the_first_three_runs_each():
    # So a search is at most half as long again as with that strategy alone.
    first = fruitless(6)
    assert first[1:3] == first[4:6] == ["rff", "rff"]


def test_every_strategy_has_its_turn_whatever_came_of_its_runs():
    shares = Shares()
    for _ in range(100):
        shares.count("pct", failed=True)
        shares.count("walk", failed=False)
    turns = [shares.next(1 + TURN_EVERY * turn, STRATEGIES) for turn in range(1, len(TURNS) + 1)]
    assert sorted(turns) == sorted(STRATEGIES)


def test_strategies_that_find_nothing_give_way_to_others():
    made = fruitless(150)
    assert all(made.count(name) >= 150 / 15 - 1 for name in STRATEGIES)
    assert made.count("rff") < 150 / 2


def test_a_strategy_whose_runs_fail_gets_two_runs_of_three():
    rotation = taught()
    for _ in range(40):
        for name in STRATEGIES:
            rotation.count(name, failed=name == "pct")
    strategies = Counter(rotation.plan(n).strategy for n in range(1, 3001))
    assert strategies["pct"] >= 2000
    assert all(strategies[name] >= 999 // len(TURNS) for name in STRATEGIES)


def test_strategies_whose_runs_pass_get_more_where_passing_runs_are_missing():
    rotation = taught()
    for _ in range(20):
        for name in STRATEGIES:
            rotation.count(name, failed=name != "walk")
    plans = Counter(rotation.plan(n, want_passing=True).strategy for n in range(1000))
    # All have some: failing runs of one must not be compared with passing runs of another.
    assert all(100 < plans[name] < plans["walk"] / 2 for name in STRATEGIES if name != "walk")


def test_one_strategy_alone():
    rotation = Rotation(0, ("rff",))
    assert rotation.plan(1).strategy in ("pos", "walk", "pct")  # it knows no sources yet
    rotation.learn(PROFILE, passed=True)
    assert {rotation.plan(n).strategy for n in range(50)} == {"rff"}


def test_a_serial_run_has_no_rules():
    plans = [taught().serial_plan(n) for n in range(20)]
    assert all((p.strategy, p.rules) == ("serial", ()) for p in plans)


def test_where_only_serial_runs_pass_they_are_made_for_passing_ones():
    rotation = taught()
    for _ in range(10):
        rotation.count("walk", failed=True)
        rotation.count("pos", failed=True)
    plans = [rotation.plan(n, want_passing=True) for n in range(50)]
    assert "serial" not in {plan.strategy for plan in plans}
    rotation.count("serial", failed=False)
    plans = [rotation.plan(n, want_passing=True) for n in range(50)]
    assert "serial" in {plan.strategy for plan in plans}
    assert "serial" not in {rotation.plan(n).strategy for n in range(50)}


def test_plans_repeat_for_the_same_seed_and_differ_for_others():
    one, same, other = taught(1), taught(1), taught(2)
    plans = [one.plan(n) for n in range(50)]
    assert plans == [same.plan(n) for n in range(50)]
    assert plans != [other.plan(n) for n in range(50)]


def test_half_of_the_runs_are_narrowed_after_three_runs():
    assert all(taught(runs=2).plan(n).sites is None for n in range(100))
    rotation = taught(runs=3)
    sites = [rotation.plan(n).sites for n in range(1000)]
    assert [3, 9, 20] in sites and 420 < sites.count(None) < 580


def test_runs_that_switch_anywhere_use_what_earlier_ones_showed():
    # On a cached attribute, 38 % of such runs of SURW failed, and 8 % of narrowed ones.
    rotation = taught()
    wide = [plan for plan in (rotation.plan(n) for n in range(300)) if plan.sites is None]
    assert {plan.strategy for plan in wide} == set(STRATEGIES)
    assert any(plan.rules for plan in wide) and any(plan.interest for plan in wide)


def test_sites_grow_with_every_run():
    rotation = taught(runs=50)
    rotation.learn(Profile(10, frozenset({40}), {}, (), frozenset()), passed=False)
    assert [3, 9, 20, 40] in [rotation.plan(n).sites for n in range(20)]


def test_runs_that_switch_anywhere_get_less_where_they_are_long_and_never_nothing():
    short, long, longest = Narrowing(), Narrowing(), Narrowing()
    for points, steps in ((short, 100), (long, 20_000), (longest, 10_000_000)):
        points.learn((), 100, wide=False)
        points.learn((), steps, wide=True)
    assert short.wide_share() == WIDE_SHARE
    assert LEAST_WIDE_SHARE < long.wide_share() < WIDE_SHARE
    assert longest.wide_share() == LEAST_WIDE_SHARE
    assert (longest.length(wide=True), longest.length(wide=False)) == (10_000_000, 100)


def test_surw_gets_one_contested_cluster_and_its_counts():
    rotation = taught()
    plans = [rotation.plan(n) for n in range(200)]
    found = {tuple(plan.interest): plan.counts for plan in plans if plan.strategy == "surw"}
    assert found == {(3, 9): {"0.1": 6, "0.2": 1}, (20, 21): {"0.1": 1, "0.2": 7}}


def test_a_program_without_edges_is_not_given_to_surw():
    rotation = Rotation(0)
    rotation.learn(Profile(5, frozenset(), {"0": {}}, (), frozenset()), passed=True)
    assert "surw" not in {rotation.plan(n).strategy for n in range(100)}


def test_length_and_depth():
    plans = [taught().plan(n) for n in range(50)]
    assert {plan.length for plan in plans} == {120}
    assert {plan.depth for plan in plans} == {2, 3, 4}


def test_components():
    assert components({(1, 2), (2, 3), (7, 8), (5, 5)}) == [[1, 2, 3], [5], [7, 8]]
    assert components(set()) == []
