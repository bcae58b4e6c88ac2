# SPDX-License-Identifier: Apache-2.0
from collections import Counter

from unsnarl.campaigns.rotation import Profile, Rotation, components

PROFILE = Profile(
    steps=120,
    shared=frozenset({3, 9, 20}),
    counts={"0": {1: 5}, "0.1": {3: 4, 9: 2, 20: 1}, "0.2": {3: 1, 21: 7}},
    edges=((3, 9), (9, 3), (20, 21), (50, 51)),
    contested=frozenset({9, 20}),
)


def taught(seed: int = 0, runs: int = 3, passed: bool = True) -> Rotation:
    rotation = Rotation(seed)
    for _ in range(runs):
        rotation.learn(PROFILE, passed)
    return rotation


def test_the_first_runs_take_turns():
    rotation = Rotation(0)
    assert {rotation.plan(n)["strategy"] for n in range(3)} == {"pos", "walk", "pct"}
    plan = rotation.plan(1)
    assert plan["sites"] is None and plan["interest"] is None and plan["counts"] is None


def test_failing_profiles_do_not_start_surw():
    rotation = taught(passed=False)
    assert "surw" not in {rotation.plan(n)["strategy"] for n in range(100)}
    assert rotation.plan(1)["sites"] == [3, 9, 20]


def test_about_sixty_percent_surw_once_a_run_passed():
    rotation = taught()
    strategies = Counter(rotation.plan(n)["strategy"] for n in range(2000))
    assert 0.56 < strategies["surw"] / 2000 < 0.64
    assert min(strategies[name] for name in ("pos", "pct", "walk")) > 200


def test_plans_repeat_for_the_same_seed_and_differ_for_others():
    one, same, other = taught(1), taught(1), taught(2)
    plans = [one.plan(n) for n in range(50)]
    assert plans == [same.plan(n) for n in range(50)]
    assert plans != [other.plan(n) for n in range(50)]


def test_sites_are_sent_after_three_runs():
    assert taught(runs=2).plan(1)["sites"] is None
    assert taught(runs=3).plan(1)["sites"] == [3, 9, 20]


def test_sites_grow():
    rotation = taught()
    rotation.learn(Profile(10, frozenset({40}), {}, (), frozenset()), False)
    assert rotation.plan(1)["sites"] == [3, 9, 20, 40]


def test_surw_gets_one_contested_cluster_and_its_counts():
    rotation = taught()
    plans = [rotation.plan(n) for n in range(200)]
    found = {
        tuple(plan["interest"]): plan["counts"] for plan in plans if plan["strategy"] == "surw"
    }
    assert found == {(3, 9): {"0.1": 6, "0.2": 1}, (20, 21): {"0.1": 1, "0.2": 7}}


def test_a_program_without_edges_is_not_given_to_surw():
    rotation = Rotation(0)
    rotation.learn(Profile(5, frozenset(), {"0": {}}, (), frozenset()), True)
    assert "surw" not in {rotation.plan(n)["strategy"] for n in range(100)}


def test_length_and_depth():
    plans = [taught().plan(n) for n in range(50)]
    assert {plan["length"] for plan in plans} == {120}
    assert {plan["depth"] for plan in plans} == {2, 3, 4}


def test_components():
    assert components({(1, 2), (2, 3), (7, 8), (5, 5)}) == [[1, 2, 3], [5], [7, 8]]
    assert components(set()) == []
