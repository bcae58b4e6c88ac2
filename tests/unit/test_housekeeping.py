# SPDX-License-Identifier: Apache-2.0
"""Stored campaigns are listed and removed; settings say where they come from."""

from __future__ import annotations

import json
import os
import time

import pytest

from unsnarl.campaigns.store import Store
from unsnarl.cli.list import size_text
from unsnarl.cli.main import run
from unsnarl.config import Settings
from unsnarl.model.run import RunRecord
from unsnarl.workflows import doctor
from unsnarl.workflows.housekeeping import tidied, tidy


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Three campaigns, the oldest the largest; the newest has a failing run."""
    monkeypatch.chdir(tmp_path)
    for number, size in enumerate((3000, 100, 10)):
        store = Store.create(
            tmp_path, ("python", f"{number}.py"), tmp_path, tmp_path, options={}, python=""
        )
        store.folder.rename(tmp_path / ".unsnarl" / f"2026010{number}-120000-aaaa")
        store.close()
        folder = tmp_path / ".unsnarl" / f"2026010{number}-120000-aaaa"
        (folder / "blob").write_bytes(b"x" * size * 1000)
    store = Store.open(folder)
    store.add(RunRecord(0, "fail", "Boom", "pos", 1, "gil", 1, 0, 0.1, 2, 2, None), "hunt", False)
    store.close()
    return tmp_path


def names(capsys) -> list[str]:
    assert run(["list", "--json"]) == 0
    return [one["name"][:8] for one in json.loads(capsys.readouterr().out)["campaigns"]]


def test_campaigns_are_listed_newest_first_with_their_failures(project, capsys):
    assert run(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("20260102-120000-aaaa") and "1 of 1     failing" in lines[0]
    assert lines[0].endswith("python 2.py") and lines[2].endswith("python 0.py")
    assert lines[3].startswith("3 in all, 3.")


def test_a_damaged_campaign_is_listed_as_such(project, capsys):
    (project / ".unsnarl" / "20260101-120000-aaaa" / "campaign.json").write_text("{")
    run(["list"])
    assert "damaged: cannot read" in capsys.readouterr().out.splitlines()[1]


def test_campaigns_are_removed_by_name_and_the_others_stay(project, capsys):
    assert run(["rm", "20260101"]) == 0
    assert "removed 20260101-120000-aaaa" in capsys.readouterr().out
    assert names(capsys) == ["20260102", "20260100"]


def test_the_oldest_go_until_the_rest_fits(project, capsys):
    run(["rm", "--limit", "1"])
    capsys.readouterr()
    assert names(capsys) == ["20260102", "20260101"]


def test_the_newest_stays_whatever_the_limit(project, capsys):
    run(["rm", "--limit", "0"])
    capsys.readouterr()
    assert names(capsys) == ["20260102"]


def test_campaigns_are_removed_by_age(project, capsys):
    old = project / ".unsnarl" / "20260100-120000-aaaa" / "campaign.json"
    os.utime(old, (0, 0))
    run(["rm", "--older", "10"])
    capsys.readouterr()
    assert names(capsys) == ["20260102", "20260101"]


@pytest.mark.parametrize("arguments", [[], ["2026"], ["20250101"]])
def test_what_is_not_clear_removes_nothing(project, capsys, arguments):
    assert run(["rm", *arguments]) == 2
    capsys.readouterr()
    assert len(names(capsys)) == 3


def test_what_is_in_use_stays(project, capsys):
    store = Store.open(project / ".unsnarl" / "20260100-120000-aaaa")
    assert run(["rm", "--all", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["in_use"] == ["20260100-120000-aaaa"] and len(answer["names"]) == 2
    store.close()
    assert run(["rm", "--all"]) == 0
    assert "removed 20260100-120000-aaaa" in capsys.readouterr().out
    assert names(capsys) == []


def age(project, days):
    for folder in (project / ".unsnarl").glob("2*"):
        os.utime(folder / "campaign.json", (time.time() - days * 86400,) * 2)


@pytest.mark.parametrize(
    ("settings", "days", "left"),
    [
        (Settings(keep_days=30, keep_mb=0), 31, ["20260102"]),
        (Settings(keep_days=30, keep_mb=0), 29, ["20260102", "20260101", "20260100"]),
        (Settings(keep_days=0, keep_mb=1), 99, ["20260102", "20260101"]),
        (Settings(keep_days=0, keep_mb=0), 99, ["20260102", "20260101", "20260100"]),
    ],
)
def test_a_hunt_begins_by_removing_what_is_old_or_too_much(project, capsys, settings, days, left):
    age(project, days)
    removed = tidy(project, settings)
    assert names(capsys) == left and len(removed.names) == 3 - len(left)
    text = tidied(removed, settings).message
    assert f"{settings.keep_days} days" in text and text.startswith(str(len(removed.names)))


def test_bad_news_come_with_what_to_do(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "MACHINES", ())
    assert run(["doctor", "--fix-hints"]) == 3
    assert "-> use Linux" in capsys.readouterr().out
    run(["doctor"])
    assert "-> " not in (text := capsys.readouterr().out) and "--fix-hints" in text


def test_settings_say_where_they_come_from(project, capsys, monkeypatch):
    (project / "pyproject.toml").write_text("[tool.unsnarl]\nfail = 7\nseed = 3\n")
    monkeypatch.setenv("UNSNARL_SEED", "4")
    assert run(["config", "--json"]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)["settings"]}
    assert (found["fail"]["value"], found["fail"]["source"]) == (7, "pyproject.toml")
    assert (found["seed"]["value"], found["seed"]["source"]) == (4, "UNSNARL_SEED")
    assert found["pass"]["source"] == "default"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(shell, capsys):
    assert run(["completion", shell]) == 0
    assert "_UNSNARL_COMPLETE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2.5e6, "2.5 MB"), (3e9, "3.0 GB")],
)
def test_sizes_are_written_for_people(size, text):
    assert size_text(size) == text
