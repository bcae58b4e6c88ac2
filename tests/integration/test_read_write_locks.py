# SPDX-License-Identifier: Apache-2.0
"""What is done under a read-write lock by who holds it alone, and by who shares it."""

import shutil

import pytest
from tests.integration.native_programs import build, run

from unsnarl.model.event import Op
from unsnarl.placement.timeline import Timeline


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("there is no gcc")
    return build(tmp_path_factory.mktemp("readwrite"), "readwrite.c", "-g")


def accesses(timeline):
    return [one for one in timeline.events if one.is_access and one.path != "0"]


def test_who_has_it_is_held_before_it_has_it(made):
    """Held inside, it would keep out whom it is to wait for."""
    timeline = Timeline(run(made, "walk", 1, trace=True, switch="free").file)
    inside = [one for one in accesses(timeline) if timeline.around(one)]
    # `number++` of both, and what both read under the shared lock.
    assert [one.op for one in inside].count(Op.WRITE) == 2
    assert len({one.site for one in inside}) == 3
    for one in inside:
        (taken,) = timeline.around(one)
        before = timeline.hold(taken)
        assert (before.path, before.point) == (one.path, taken.point)


@pytest.mark.parametrize("strategy", ["walk", "pos", "pct"])
def test_who_waited_for_it_holds_it_as_well(made, strategy):
    for seed in range(10):
        done = run(made, strategy, seed, switch="free", trace=True)
        assert done.output == "2\n"
        timeline = Timeline(done.file)
        inside = [one for one in accesses(timeline) if timeline.around(one)]
        assert len(inside) == 6
