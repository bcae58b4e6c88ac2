# SPDX-License-Identifier: Apache-2.0
"""`unsnarl simulate-hw`: from a campaign's traces to ranked code points."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.integration.in_process import called
from tests.integration.interpreters import PYTHON

from unsnarl.campaigns.tally import KEPT_PASSING

BANK = Path(__file__).parents[2] / "zoo" / "python" / "bank" / "bank.py"


@pytest.fixture(scope="module")
def hunted(tmp_path_factory):
    """A hunt of two tellers who lose a deposit, with traces."""
    folder = tmp_path_factory.mktemp("bank")
    shutil.copy(BANK, folder / "bank.py")
    words = ("--accesses", "--no-confirm", "--fail", "8", "--pass", "8", "--seed", "1")
    done = called(folder, "hunt", *words, "--", PYTHON, "bank.py")
    assert done.returncode == 1, done.stderr
    return folder


def simulated(folder, *words):
    done = called(folder, "simulate-hw", "--json=-", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(folder, *words):
    done = called(folder, "simulate-hw", *words)
    assert done.returncode == 2, done.stdout
    return done.stderr


def campaign_of(folder):
    (found,) = (path.parent for path in (folder / ".unsnarl").glob("*/campaign.json"))
    return found


def test_what_only_failing_runs_have_is_ranked(hunted):
    answer = simulated(hunted)
    assert answer["labelled"]
    assert answer["runs"]["failing"] == 8
    assert 8 <= answer["runs"]["passing"] <= 8 * KEPT_PASSING
    assert answer["machine"]["cores"] == 16
    first = answer["points"][0]
    assert (first["rank"], first["file"]) == (1, "bank.py")
    assert all(one["file"] for one in answer["points"])  # memory is no code point
    counts = answer["counts"]
    assert counts["accesses"] == counts["reads"] + counts["writes"] > 0
    large, small = answer["graph"]["with_context"], answer["graph"]["without_context"]
    assert large["edges"] > small["edges"] > 0


def test_without_contexts_this_bug_is_not_found(hunted):
    """Bugaboo, table 2: no edge is only in failing runs."""
    assert simulated(hunted, "--context", "0")["points"] == []


def test_as_text(hunted):
    done = called(hunted, "simulate-hw", "--top", "1")
    lines = done.stdout.splitlines()
    passing = simulated(hunted)["runs"]["passing"]
    assert lines[0].startswith(f"8 failing and {passing} passing runs of ")
    assert lines[0].endswith("16 cores, L1 of 32 KB, 8 ways, lines of 64 bytes")
    assert "code points by what only failing runs have:" in lines
    assert "bank.py:" in lines[lines.index("code points by what only failing runs have:") + 1]


def test_one_core_has_nobody_to_communicate_with(hunted):
    counts = simulated(hunted, "--cores", "1")["counts"]
    assert counts["read_replies"] == counts["invalidate_replies"] == 0


def test_some_traces_or_runs(hunted):
    folder = campaign_of(hunted)
    traces = sorted((folder / "runs").glob("*.trace"))[:2]
    by_file = simulated(hunted, *(str(path.relative_to(hunted)) for path in traces))
    by_run = simulated(hunted, *(f"{folder.name}/{int(path.stem)}" for path in traces))
    assert by_file == by_run
    assert sum(by_file["runs"].values()) == 2
    whole = simulated(hunted, folder.name)
    assert whole["counts"]["accesses"] > by_file["counts"]["accesses"]


def test_a_full_table_loses_entries_and_says_so(hunted):
    done = called(hunted, "simulate-hw", "--entries", "2", "--trap", "50")
    assert "entries came during traps and are lost" in done.stdout


def test_a_recorded_run_is_ranked_by_what_is_rare(tmp_path):
    shutil.copy(BANK, tmp_path / "bank.py")
    words = ("record", "--level", "access", "--all", "--", PYTHON, "bank.py")
    assert called(tmp_path, *words).returncode in (0, 1)
    answer = simulated(tmp_path)
    assert not answer["labelled"]
    assert answer["points"]
    # Nobody but the trace has counted: the value is contexts by executions.
    assert all(one["value"] > 0 for one in answer["points"])


class TestRefusals:
    def test_a_run_without_a_trace(self, tmp_path):
        shutil.copy(BANK, tmp_path / "bank.py")
        done = called(
            tmp_path, "hunt", "--no-confirm", "--fail", "1", "--pass", "1", "--", PYTHON, "bank.py"
        )
        assert done.returncode == 1, done.stderr
        assert "[no-trace]" in refused(tmp_path)
        assert "[no-trace]" in refused(tmp_path, "1")

    def test_what_is_not_there(self, hunted):
        assert "[no-trace]" in refused(hunted, "none.trace")
        assert "[no-trace]" in refused(hunted, "987654")
        assert "[no-campaign]" in refused(hunted, "nonsense")

    def test_an_answer_that_would_overwrite_a_trace(self, hunted):
        trace = next(campaign_of(hunted).glob("runs/*.trace"))
        before = trace.read_bytes()
        assert "would overwrite" in refused(hunted, "--json", str(trace))
        assert trace.read_bytes() == before

    def test_machines_that_cannot_be(self, hunted):
        assert "[bad-argument]" in refused(hunted, "--line", "48")
        assert "[bad-argument]" in refused(hunted, "--cores", "65")

    def test_several_campaigns(self, hunted, tmp_path):
        one = campaign_of(hunted)
        other = tmp_path / ".unsnarl" / one.name
        shutil.copytree(one, other)
        words = [str(next((path / "runs").glob("*.trace"))) for path in (one, other)]
        assert "several campaigns" in refused(hunted, *words)

    def test_a_damaged_trace_costs_its_run_only(self, hunted, tmp_path):
        shutil.copytree(hunted, tmp_path / "copy")
        traces = sorted(campaign_of(tmp_path / "copy").glob("runs/*.trace"))
        traces[0].write_bytes(b"nonsense")
        done = called(tmp_path / "copy", "simulate-hw")
        assert done.returncode == 0, done.stderr
        assert "[damaged-runs]" in done.stderr
        for path in traces:
            path.write_bytes(b"nonsense")
        assert "[damaged-run-file]" in refused(tmp_path / "copy")
