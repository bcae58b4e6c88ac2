# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
from pathlib import Path

import pytest

from unsnarl.probes.server.folders import TemporaryFolders


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/somewhere")
    monkeypatch.setattr(tempfile, "tempdir", "/somewhere")
    return TemporaryFolders(str(tmp_path))


def test_runs_at_the_same_time_have_folders_of_their_own(folders, tmp_path):
    first, second = folders.take(), folders.take()
    assert first != second
    folders.enter(first)
    assert tempfile.gettempdir() == os.environ["TMPDIR"] != "/somewhere"
    assert Path(os.environ["TMPDIR"]).parent == tmp_path


def test_a_folder_is_empty_for_the_next_run_and_has_the_same_name(folders):
    slot = folders.take()
    folders.enter(slot)
    path = Path(os.environ["TMPDIR"])
    (path / "pytest-of-me" / "pytest-0").mkdir(parents=True)
    folders.give_back(slot)
    folders.enter(folders.take())
    assert os.environ["TMPDIR"] == str(path) and [*path.iterdir()] == []


def test_what_a_server_that_died_left_goes(folders, tmp_path):
    folders.enter(folders.take())
    (tmp_path / "00" / "left").write_text("")
    TemporaryFolders(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_the_target_has_chosen_stays(folders, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/chosen")
    folders.enter(folders.take())
    assert tempfile.gettempdir() == "/chosen"


def test_the_folder_is_there_before_the_run_is_forked(folders, tmp_path):
    slot = folders.take()
    assert [one.name for one in tmp_path.iterdir()] == [f"{slot:02d}"]
    (tmp_path / f"{slot:02d}").rmdir()  # so may a run
    folders.give_back(slot)
    assert folders.take() == slot and [*tmp_path.iterdir()] != []
