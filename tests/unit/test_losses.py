# SPDX-License-Identifier: Apache-2.0
"""What the tables of runs had no room for is counted, and said."""

from types import SimpleNamespace

import pytest
from tests.unit.runfile_writer import records, run_file, section, thread

from unsnarl.campaigns.outcome import _about_losses
from unsnarl.campaigns.tally import Tally
from unsnarl.errors import messages_page
from unsnarl.runfile.layout import COUNTERS, Section
from unsnarl.runfile.reader import parse_run


def run_that_lost(name):
    data = b"".join((7 * (one == name)).to_bytes(8, "little") for one in COUNTERS)
    threads = records(Section.THREADS, [thread(0, "0")])
    return parse_run(run_file([threads, section(Section.COUNTERS, data, 8)]))


@pytest.mark.parametrize(
    "name", ["cells_evicted", "edges_dropped", "patterns_dropped", "trace_dropped"]
)
def test_what_was_dropped_is_said_with_the_number_of_runs(name):
    tally = Tally(1, 1, 0)
    for lost in (name, "", name):
        tally.count_losses(run_that_lost(lost))
    ((slug, text),) = _about_losses(SimpleNamespace(tally=tally, damaged=[]), 0)
    assert slug == name.replace("_", "-")
    assert text.endswith("in 2 runs")
    assert f"### {slug}\n" in messages_page()
