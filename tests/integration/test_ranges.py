# SPDX-License-Identifier: Apache-2.0
"""What C programs clear, copy or free at once conflicts with each of its parts."""

import shutil

import pytest
from tests.integration.native_programs import PROGRAMS, build, run

from unsnarl.model.event import site_of
from unsnarl.probes.binaries import sites

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")


def test_the_second_int_of_a_range_conflicts(tmp_path):
    made = build(tmp_path, "ranges.c", "-g")
    texts = (PROGRAMS / "ranges.c").read_text().splitlines()
    text_of = {
        code["base"] + offset: texts[line - 1].strip()
        for code in sites.Program(made).codes()["codes"]
        for offset, _, _, line, *_ in code["sites"]
    }
    done = run(made, "walk", 1, switch="free")
    edges = [
        {text_of.get(site_of(int(edge[end]))) for end in ("source_point", "sink_point")}
        for edge in done.file.edges
    ]
    assert {"memset(cells, 0, sizeof cells);", "seen = cells[1];"} in edges
