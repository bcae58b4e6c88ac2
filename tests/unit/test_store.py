# SPDX-License-Identifier: Apache-2.0
import json
import sqlite3

import pytest

from unsnarl.campaigns import store as stores
from unsnarl.campaigns.store import Store
from unsnarl.errors import ToolError, UsageError
from unsnarl.model.run import Failure, Frame, RunRecord

COMMAND = ("python", "a.py")


def new(tmp_path, command=COMMAND) -> Store:
    return Store.create(
        tmp_path, command, tmp_path, tmp_path, options={"fail": 25}, python="3.11.7"
    )


def record(number, label="pass", signature="", failure=None) -> RunRecord:
    return RunRecord(number, label, signature, "pos", 5, "gil", 0, 0, 0.01, 3, 3, failure)


def write_run(store, number, data=None):
    whole = b"UNSNARL\x1a" + bytes(8) + (32).to_bytes(8, "little") + bytes(8)
    store.run_file(number).write_bytes(whole if data is None else data)
    store.output_file(number).write_text("out")


def test_the_folder_describes_the_campaign_and_is_ignored_by_git(tmp_path):
    store = new(tmp_path)
    described = json.loads((store.folder / "campaign.json").read_text())
    assert described["command"] == list(COMMAND)
    assert described["python"] == "3.11.7" and described["options"] == {"fail": 25}
    assert described["platform"] and described["created"] and described["unsnarl"]
    assert (tmp_path / ".unsnarl" / ".gitignore").read_text() == "*\n"
    assert store.folder.parent == tmp_path / ".unsnarl"
    assert stores.command_hash(COMMAND) in store.name


def test_two_campaigns_within_a_second_get_two_folders(tmp_path):
    assert new(tmp_path).folder != new(tmp_path).folder


def test_runs_survive_reopening(tmp_path):
    store = new(tmp_path)
    failure = Failure("exception", "KeyError", "x", "0.1", (Frame("a.py", 3, "f"),))
    first, second = record(1), record(2, "fail", "KeyError in a.py:f", failure)
    store.add(first, "hunt", False)
    store.add(second, "support", True)
    found = Store.open(store.folder).runs()
    assert [(s.record, s.phase, s.kept) for s in found] == [
        (first, "hunt", False),
        (second, "support", True),
    ]


def test_files_of_runs_that_are_not_kept_go(tmp_path):
    store = new(tmp_path)
    for number in (1, 2, 3):
        write_run(store, number)
    store.add(record(1), "hunt", False)
    store.add(record(2), "hunt", True)
    store.add(record(3, "fail", "x"), "hunt", True)
    left = sorted(path.name for path in (store.folder / "runs").iterdir())
    assert left == ["000002.run", "000003.out", "000003.run"]
    store.forget(2)
    assert not store.run_file(2).exists()
    assert [stored.kept for stored in store.runs()] == [False, False, True]


def test_recovery_drops_what_was_in_progress_and_names_what_is_damaged(tmp_path):
    store = new(tmp_path)
    for number in (1, 2, 4):
        write_run(store, number)
    (store.folder / "runs" / "000005.run.tmp").write_bytes(b"half")
    for number in (1, 2, 3):
        store.add(record(number), "hunt", True)
    write_run(store, 2, b"UNSNARL\x1a" + bytes(10))
    reopened = Store.open(store.folder)
    damaged = reopened.recover()
    assert damaged == [str(store.run_file(2)), str(store.run_file(3))]
    assert [stored.kept for stored in reopened.runs()] == [True, False, False]
    assert not store.run_file(4).exists()
    assert not (store.folder / "runs" / "000005.run.tmp").exists()
    assert reopened.recover() == []


def test_a_store_with_the_old_table_of_findings_still_opens(tmp_path):
    store = new(tmp_path)
    store.add(record(1), "hunt", False)
    store.close()
    with sqlite3.connect(store.folder / "campaign.sqlite") as database:
        database.execute("CREATE TABLE findings (method TEXT, rank INTEGER, finding TEXT)")
        database.execute("INSERT INTO findings VALUES ('recon', 1, '{}')")
    reopened = Store.open(store.folder)
    reopened.add(record(2), "hunt", False)
    assert [stored.record.number for stored in reopened.runs()] == [1, 2]


def test_campaigns_are_found_by_name_beginning_command_and_age(tmp_path):
    first, second = new(tmp_path), new(tmp_path, ("pytest",))
    inner = tmp_path / "src"
    inner.mkdir()
    assert stores.find(inner) == max(first.folder, second.folder)
    assert stores.find(inner, first.name) == first.folder
    assert stores.find(inner, str(first.folder)) == first.folder
    assert stores.find(tmp_path, command=("pytest",)) == second.folder
    assert stores.find(tmp_path, first.name[:-2]) == first.folder


def test_a_missing_campaign_is_a_usage_error(tmp_path):
    for arguments in ((tmp_path,), (tmp_path, "x"), (tmp_path, "", ("ls",))):
        with pytest.raises(UsageError) as caught:
            stores.find(*arguments)
        assert caught.value.slug == "no-campaign"


def test_a_damaged_database_is_reported(tmp_path):
    store = new(tmp_path)
    store.close()
    (store.folder / "campaign.sqlite").write_bytes(b"this is not a database" * 100)
    with pytest.raises(ToolError) as caught:
        Store.open(store.folder)
    assert caught.value.slug == "campaign-damaged"


def test_a_newer_schema_is_refused(tmp_path):
    store = new(tmp_path)
    store.close()
    with sqlite3.connect(store.folder / "campaign.sqlite") as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(ToolError, match="schema 99"):
        Store.open(store.folder)


def test_a_damaged_description_is_reported(tmp_path):
    store = new(tmp_path)
    (store.folder / "campaign.json").write_text("{")
    with pytest.raises(ToolError, match=r"campaign\.json"):
        Store.open(store.folder)


@pytest.mark.parametrize(
    ("limit", "slug"),
    [("max_page_count = 1", "disk-full"), ("query_only = 1", "not-writable")],
)
def test_errors_of_sqlite_become_one_message(tmp_path, limit, slug):
    store = new(tmp_path)
    store._database.execute(f"PRAGMA {limit}")
    failure = Failure("exception", text="x" * 100_000)  # more than one page
    with pytest.raises(ToolError) as caught:
        store.add(record(1, "fail", "boom", failure), "hunt", False)
    assert (caught.value.slug, caught.value.exit_code) == (slug, 3)


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / ".unsnarl").write_text("a file")
    with pytest.raises(ToolError) as caught:
        new(tmp_path)
    assert caught.value.slug == "not-writable"


def test_a_campaign_moves_with_its_folder(tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    (before / "sub").mkdir(parents=True)
    (before / "sub" / "a.py").write_text("")
    command = (str(before / "sub" / "a.py"), str(before / "gone.py"), "/elsewhere")
    made = Store.create(
        before / "sub", command, before / "sub", before, options={}, python="3.11.7"
    )
    made.close()
    before.rename(after)
    found = Store.open(after / "sub" / ".unsnarl" / made.name).description
    assert (found.cwd, found.root) == (str(after / "sub"), str(after))
    # A word that leads nowhere in the new folder is left as it was typed.
    assert found.command == (str(after / "sub" / "a.py"), command[1], "/elsewhere")


def test_the_newest_campaign_is_a_hunt_that_ran(tmp_path):
    hunted = new(tmp_path)
    hunted.add(record(1), "hunt", False)
    never_ran = new(tmp_path)
    verification = Store.create(
        tmp_path, COMMAND, tmp_path, tmp_path, options={}, python="3.11.7", verifies=hunted.name
    )
    verification.add(record(1), "hunt", False)
    assert stores.find(tmp_path) == hunted.folder
    for one in (never_ran, verification):
        assert stores.find(tmp_path, one.name) == one.folder


def test_if_nothing_else_is_there_the_newest_is_what_there_is(tmp_path):
    only = new(tmp_path)
    assert stores.find(tmp_path) == only.folder
