# SPDX-License-Identifier: Apache-2.0
"""What the rotation learns from a run."""

from __future__ import annotations

from tests.unit.fake_server import run_file

from unsnarl.campaigns.profile import profile_of
from unsnarl.campaigns.read_sources import ReadSources
from unsnarl.model.event import PRIVATE_SITES, Op, point_of
from unsnarl.runfile.reader import parse_run


def edges(*sites: int) -> list[tuple[int, int]]:
    """A write at each of the sites that another thread reads there."""
    return [(point_of(site, Op.WRITE), point_of(site, Op.READ)) for site in sites]


def test_no_plan_can_name_what_only_one_run_knows():
    run = parse_run(run_file([], edges=edges(3, PRIVATE_SITES + 9)))
    profile = profile_of(run)
    assert profile.edges == ((3, 3),)
    assert {point >> 4 for cell in profile.cells for point in cell} == {3}
    assert profile.sources == frozenset(edges(3))
    sources = ReadSources()
    sources.learn(profile)
    assert sources
