# SPDX-License-Identifier: Apache-2.0
"""From the command to the proof, in processes of their own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.in_process import proved
from tests.integration.interpreters import PYTHON

ZOO = Path(__file__).parents[2] / "zoo" / "python"
HUNT = ("hunt", "--fail", "15", "--pass", "15", "--seed", "5", "--json", "answer.json", "--")


def unsnarl(folder, *arguments):
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        [sys.executable, "-m", "unsnarl", *arguments],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def hunted(tmp_path_factory, bug, script):
    folder = tmp_path_factory.mktemp("proof") / bug
    shutil.copytree(ZOO / bug, folder, ignore=shutil.ignore_patterns(".unsnarl", "__pycache__"))
    done = unsnarl(folder, *HUNT, "python", script)
    assert done.returncode == 1, done.stderr
    return folder, json.loads((folder / "answer.json").read_text()), done.stdout


@pytest.fixture(scope="module")
def weblech(tmp_path_factory):
    return hunted(tmp_path_factory, "weblech", "weblech.py")


@pytest.fixture(scope="module")
def abba(tmp_path_factory):
    return hunted(tmp_path_factory, "abba", "abba.py")


@pytest.mark.core
def test_the_whole_proof_is_in_the_answer(weblech):
    _, report, _ = weblech
    (failure,) = report["failures"]
    finding = failure["findings"][0]
    assert finding["status"] == "confirmed" and finding["p_value"] < 0.001
    assert finding["forced"]["fail"] > 0 == finding["forbidden"]["fail"]
    assert [(p["line"], p["op"]) for p in finding["explanation"]] == [
        (49, "enter"),
        (31, "read"),
        (35, "read"),
        (37, "write"),
        (50, "enter"),
        (35, "read"),
        (51, "fail"),
    ]
    assert finding["orders"] == [[2, 4], [4, 6]]
    assert finding["fix"]["lock"] == "Queue.lock" and finding["fix"]["fail"] == 0
    replay = failure["replay"]
    assert replay["constraints"] == 2 and replay["reproduced"] == replay["tries"] >= 100
    assert set(report["timings"]) >= {"hunt", "rank", "confirm", "minimise", "fix"}


def test_the_nearest_passing_run_differs_in_one_of_the_orders(weblech):
    nearest = weblech[1]["failures"][0]["findings"][0]["nearest"]
    assert nearest["moved"] in ([2, 4], [4, 6])


def test_a_deadlock_is_proved_like_any_other(abba):
    _, report, text = abba
    failure = report["failures"][0]
    finding = failure["findings"][0]
    assert (failure["kind"], finding["kind"], finding["status"]) == (
        "deadlock",
        "deadlock",
        "confirmed",
    )
    assert [p["op"] for p in finding["explanation"]] == ["acquire", "acquire", "wait", "wait"]
    assert finding["fix"]["deadlocks"] == finding["fix"]["fail"] == 0
    assert "waits for" in text


def test_an_arm_ends_where_its_rest_cannot_change_the_verdict(weblech):
    folder, report, _ = weblech
    finding = report["failures"][0]["findings"][0]
    # Of twenty: the others could not change the verdict (docs/adr/0036).
    assert finding["forced"]["fail"] == finding["forced"]["runs"] < 20
    assert finding["forbidden"]["runs"] > 0 < finding["control"]["fail"]
    assert finding["p_value"] < 1e-6
    assert not list(folder.glob(".unsnarl/*/trials/*"))


def test_show_says_what_the_experiments_said(weblech):
    done = unsnarl(weblech[0], "show", "1")
    assert done.returncode == 0 and "weblech.py" in done.stdout, done.stderr
    assert done.stdout.count("CONFIRMED") == 1


def test_one_finding_can_be_tested_again(weblech):
    folder, _, _ = weblech
    done = unsnarl(folder, "confirm", "1")
    assert done.returncode == 0 and "CONFIRMED" in done.stdout, done.stderr


def test_one_finding_can_be_minimised_again(weblech):
    folder, _, _ = weblech
    done = unsnarl(folder, "minimise", "--json")
    assert done.returncode == 0, done.stderr
    (failure,) = json.loads(done.stdout)["failures"]
    assert failure["findings"][0]["orders"] and failure["findings"][0]["status"] == "untested"


def test_a_finding_is_named_by_its_id(weblech):
    folder, report, text = weblech
    (failure,) = report["failures"]
    first, second = (finding["id"] for finding in failure["findings"][:2])
    assert first in text and f"unsnarl show {second}" in text
    done = unsnarl(folder, "confirm", second, "--json")
    (tested,) = json.loads(done.stdout)["failures"][0]["findings"]
    assert tested["id"] == second and tested["status"] != "untested", done.stderr
    done = unsnarl(folder, "replay", first)
    assert done.returncode == 1 and "failed as recorded, 1 of 1" in done.stdout, done.stderr
    done = unsnarl(folder, "replay", "length-0000")
    assert done.returncode == 2 and "[no-run]" in done.stderr


def test_an_id_survives_another_hunt_of_code_that_has_moved(weblech, tmp_path):
    folder, report, _ = weblech
    source = "# A comment.\n\n\n" + (folder / "weblech.py").read_text()
    (tmp_path / "weblech.py").write_text(source)
    wanted = (*HUNT[:-1], "--seed", "11", "--confirm", "1")
    done = proved(tmp_path, *wanted, "--", PYTHON, "weblech.py")
    assert done.returncode == 1, done.stderr
    again = json.loads((tmp_path / "answer.json").read_text())
    ids = [one["failures"][0]["findings"][0]["id"] for one in (report, again)]
    assert ids[0] == ids[1]


def test_experiments_are_about_the_code_that_was_hunted(weblech):
    folder, _, _ = weblech
    source = folder / "weblech.py"
    before = source.read_text()
    source.write_text("import os  # noqa: F401\n" + before)
    try:
        done = unsnarl(folder, "confirm")
    finally:
        source.write_text(before)
    assert done.returncode == 2 and "[code-changed]" in done.stderr
