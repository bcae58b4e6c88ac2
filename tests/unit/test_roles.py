# SPDX-License-Identifier: Apache-2.0
"""Orders of one run, said of every thread that could have been the one."""

from types import SimpleNamespace

from unsnarl.model.constraint import Actor, Constraint
from unsnarl.model.event import Event
from unsnarl.placement.roles import by_roles, equal_paths


def run_of(**kinds):
    threads = [SimpleNamespace(path=f"0.{name[1:]}", kind=kind) for name, kind in kinds.items()]
    return SimpleNamespace(threads=threads)


def order(before, after):
    early, late = Event(1, before, 17, 1, 0), Event(2, after, 33, 1, 0)
    return Constraint(early, late, late)


def test_threads_without_a_kind_are_like_no_other():
    run = run_of(t1=0, t2=0, t3=7, t4=7)
    assert equal_paths(run, "0.1") == ["0.1"]
    assert equal_paths(run, "0.4") == ["0.3", "0.4"]
    assert equal_paths(run, "0.9") == ["0.9"]


def test_an_order_of_single_threads_has_no_roles():
    assert by_roles([order("0.1", "0.2")], run_of(t1=5, t2=6, t3=7, t4=7)) == []


def test_two_that_have_no_equals_but_each_other_are_named():
    assert by_roles([order("0.1", "0.2")], run_of(t1=5, t2=5)) == []


def test_one_of_several_equal_threads_stands_for_all_of_them():
    orders = by_roles([order("0.2", "0.4"), order("0.4", "0.2")], run_of(t1=5, t2=5, t3=5, t4=6))
    clerk, auditor = Actor("0.1", equal=True), Actor("0.4")
    assert [one.actors for one in orders] == [(clerk, auditor), (auditor, clerk)]
    rule = orders[1].rule
    assert (rule.hold.path, rule.hold.equal, rule.hold.role) == ("0.1", True, 0)
    assert (rule.until.path, rule.until.equal) == ("0.4", False)


def test_two_equal_threads_of_one_order_have_roles():
    (one,) = by_roles([order("0.3", "0.2")], run_of(t1=5, t2=5, t3=5))
    assert one.actors == (Actor("0.1", equal=True, role=1), Actor("0.1", equal=True, role=2))
