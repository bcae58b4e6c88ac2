# SPDX-License-Identifier: Apache-2.0
"""Notices of a condition that come before the wait for them."""

import shutil

import pytest
from tests.integration.native_programs import build, run

SEEDS = range(60)


@pytest.fixture(scope="module")
def bell(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("there is no gcc")
    return build(tmp_path_factory.mktemp("bell"), "bell.c", "-g")


def test_a_notice_may_come_between_the_look_and_the_wait(bell):
    """Nothing is touched between the two: the wait itself is a switch point."""
    done = [run(bell, "walk", seed, switch="free") for seed in SEEDS]
    stuck = [one for one in done if one.file.failures]
    assert {one.file.failures[0].kind for one in stuck} == {"deadlock"}
    assert 0 < len(stuck) < len(done)


def test_it_may_not_where_the_flag_is_set_under_the_mutex(bell):
    for seed in SEEDS:
        assert run(bell, "walk", seed, "holds", switch="free").output == "ok\n", seed
