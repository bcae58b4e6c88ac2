# SPDX-License-Identifier: Apache-2.0
"""A hunt in shards, put together: the same campaign as one machine would have made."""

import shutil
from pathlib import Path

import pytest
from tests.integration.in_process import called, proved

from unsnarl.campaigns.store import Store
from unsnarl.reports.render import json
from unsnarl.runfile import SiteTable, read_run

SHARDS = 8
RUNS = 120
# Both threads load `late` by themselves: who comes first gives its code ids (docs/adr/0026).
PROGRAM = """
import threading

class Box:
    def __init__(self):
        self.first = self.second = 0

def up(box):
    import late_up
    late_up.work(box)

def down(box):
    import late_down
    late_down.work(box)

def main():
    box = Box()
    threads = [threading.Thread(target=one, args=(box,)) for one in (up, down)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert box.first == 2, f"first is {box.first}"

main()
"""
LATE = """
def work(box):
    value = abs(box.first)
    box.second = abs(value)
    box.first = abs(value) + 1
"""
# No shard stops early: which runs it would do without depends on how many it has.
FLAGS = ("--max-runs", RUNS, "--fail", 200, "--pass", 200, "--switch", "free")
COMMAND = ("--", "python", "box.py")


def write_project(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text("")
    (folder / "box.py").write_text(PROGRAM)
    for name in ("late_up.py", "late_down.py"):
        (folder / name).write_text(LATE)
    return folder


def hunt_shard(folder: Path, shard: str, *flags: object) -> None:
    done = called(folder, "hunt", "--shard", shard, *FLAGS, *flags, *COMMAND)
    assert done.returncode == 1, done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Eight shards, each in a folder of its own as artifacts of CI are, and the whole hunt."""
    folder = write_project(tmp_path_factory.mktemp("shards") / "project")
    for at in range(1, SHARDS + 1):
        hunt_shard(folder, f"{at}/{SHARDS}")
        shutil.move(folder / ".unsnarl", folder / f"shard-{at}" / ".unsnarl")
    hunt_shard(folder, "1/1")
    shutil.move(folder / ".unsnarl", folder / "whole")
    return folder


@pytest.fixture
def here(project):
    """The project in which something is merged; its path is the same for each test."""
    yield project
    shutil.rmtree(project / ".unsnarl", ignore_errors=True)


def rows(folder: Path):
    store = Store.open(folder)
    try:
        stored = store.runs()
        files = {one.record.number for one in stored if store.run_file(one.record.number).exists()}
        return [(one.record.number, one.record.label, one.record.signature, one.kept)
                for one in stored], files  # fmt: skip
    finally:
        store.close()


def newest(folder: Path) -> Path:
    return max((folder / ".unsnarl").glob("*/campaign.json")).parent


def ranking(folder: Path):
    """All that is said of the findings, experiments aside."""
    report = json.decode((folder / "report.json").read_bytes())
    return [(failure.signature, failure.findings) for failure in report.failures]


def shards(project: Path) -> list[Path]:
    return [project / f"shard-{at}" for at in range(1, SHARDS + 1)]


def test_eight_shards_merged_give_the_ranking_of_one_campaign_with_the_same_seeds(here):
    done = called(here, "merge", "--no-confirm", *shards(here))
    assert done.returncode == 1, done.stderr
    (whole,) = (here / "whole").glob("2*")
    merged = newest(here)
    assert rows(merged) == rows(whole)
    assert ranking(merged) == ranking(whole)
    assert len(ranking(merged)[0][1]) > 1
    assert "shards-missing" not in done.stdout


def test_merging_in_steps_and_twice_gives_the_same_files(here):
    called(here, "merge", "--no-confirm", *shards(here))
    at_once = newest(here)
    called(here, "merge", "--no-confirm", *shards(here)[5:], *shards(here)[4:6])
    some = newest(here)
    called(here, "merge", "--no-confirm", *shards(here)[:5], some)
    in_steps = newest(here)
    assert in_steps != some != at_once
    assert rows(in_steps) == rows(at_once)
    assert ranking(in_steps) == ranking(at_once)
    for number in rows(at_once)[1]:
        files = [Store.open(one).run_file(number).read_bytes() for one in (at_once, in_steps)]
        assert files[0] == files[1]


def test_what_is_merged_is_proved_as_after_a_hunt(here):
    done = proved(here, "merge", "--confirm", 1, "--jobs", 2, *shards(here))
    assert done.returncode == 1
    assert "CONFIRMED" in done.stdout
    shown = called(here, "show", 1)
    assert "CONFIRMED" in shown.stdout
    assert "late_up.py" in shown.stdout
    assert "late_down.py" in shown.stdout
    # And goes on as any campaign does.
    assert "confirmed" in called(here, "confirm", 1).stdout.lower()


def test_a_shard_that_is_missing_is_named(here):
    done = called(here, "merge", "--no-confirm", *shards(here)[1:-1])
    assert "without the runs of 1/8, 8/8" in " ".join(done.stdout.split())


def test_a_damaged_run_file_costs_that_run_and_is_named(here, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(shards(here)[0], damaged)
    victim = next(damaged.glob(".unsnarl/*/runs/*.run"))
    victim.unlink()
    done = called(here, "merge", "--no-confirm", damaged, *shards(here)[1:])
    # The common runs are in all shards, so that nothing is lost unless the file was its own.
    assert done.returncode == 1
    merged, _ = rows(newest(here))
    assert len(merged) == RUNS


def test_hunts_that_do_not_belong_together_are_not_merged(here):
    hunt_shard(here, "2/8", "--seed", 5)
    other = newest(here)
    refused = called(here, "merge", *shards(here), other)
    assert refused.returncode == 2
    assert "not-mergeable" in refused.stderr
    assert "seed" in refused.stderr


def test_code_that_is_another_here_is_ranked_and_not_tested(here):
    text = (here / "box.py").read_text()
    try:
        (here / "box.py").write_text(text.replace("def main():", "def main():\n    pass"))
        done = called(here, "merge", "--confirm", 1, *shards(here))
    finally:
        (here / "box.py").write_text(text)
    assert done.returncode == 1
    assert "shards-elsewhere" in done.stdout
    assert "SUSPECTED" in done.stdout


def test_code_that_another_machine_loaded_in_another_order_is_rolled_together(
    tmp_path, monkeypatch
):
    here = write_project(tmp_path / "other")
    text = (here / "box.py").read_text()
    either = 'def up(box):\n    if "OTHER" in os.environ:\n        import late_down\n'
    (here / "box.py").write_text("import os\n" + text.replace("def up(box):\n", either))
    hunt_shard(here, "1/2", "--max-runs", 40)
    one = newest(here)
    monkeypatch.setenv("OTHER", "1")
    hunt_shard(here, "2/2", "--max-runs", 40)
    other = newest(here)
    called(here, "merge", "--no-confirm", one, other)
    late = [(folder / "codes.json.late").read_text() for folder in (one, other)]
    assert late[0] != late[1]
    store = Store.open(newest(here))
    table = SiteTable.load(store.codes, store.description.root)
    files = {"0.1": "late_up.py", "0.2": "late_down.py"}
    seen = set()
    for stored in store.runs():
        run = read_run(store.run_file(stored.record.number))
        for thread, site in points_of(run):
            file = table.site(site).file
            assert file, f"nobody knows site {site}"
            if "late" in file and table.site(site).function == "work":
                assert file == files[run.threads[thread].path]
                seen.add(file)
        assert set(run.variables) <= set(run.counts["site"].tolist())
    assert seen == set(files.values())


def points_of(run):
    """Every site that a run file names, with its thread."""
    for rows, ends in (
        (run.edges, ("source", "sink")),
        (run.patterns, ("first", "other")),
        (run.pairs, ("first", "other")),
    ):
        for end in ends:
            sites = (rows[f"{end}_point"] >> 4).tolist()
            yield from zip(rows[f"{end}_thread"].tolist(), sites, strict=True)
    for rows in (run.latest, run.pending):
        yield from zip(rows["thread"].tolist(), (rows["point"] >> 4).tolist(), strict=True)
    for field in ("site", "head"):
        yield from zip(run.counts["thread"].tolist(), run.counts[field].tolist(), strict=True)
    segments = run.segments[run.segments["point"] > 0]
    yield from zip(segments["thread"].tolist(), (segments["point"] >> 4).tolist(), strict=True)
