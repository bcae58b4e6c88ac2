# SPDX-License-Identifier: Apache-2.0
"""`unsnarl serve`: what it answers, to whom, and what it does not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from html import escape
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.integration.in_process import called
from tests.integration.served import HOSTILE, campaign, serving
from tests.unit.reports_of_values import report

from unsnarl.workflows.hunt import hunt
from unsnarl.workflows.progress import RunProgress
from unsnarl.workflows.progress_file import FILE, ProgressFile, progress_of

PROGRESS = RunProgress(7, 3, 4, 0, 0, 0.3, "confirming", 5)
LISTEN = "0A"
PROGRAM = """
import threading
threads = [threading.Thread(target=print) for _ in range(2)]
for one in threads: one.start()
for one in threads: one.join()
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "spider.py").write_text("\n" * 40)
    return folder


@pytest.fixture(scope="module")
def folders(project):
    """Campaigns by name."""
    return {
        "confirmed": campaign(project, "pytest", "tests/test_queue.py"),
        "clean": campaign(project, "python", "clean.py", made=report(failures=())),
        "killed": campaign(project, "python", "killed.py", made=None),
        "hostile": campaign(project, "python", HOSTILE),
    }


@pytest.fixture(scope="module")
def server(project, folders):
    with serving(project) as one:
        yield one


def test_the_list_has_every_campaign(server, folders):
    text = server.text("/")
    rows = {name: row for name in folders for row in text.splitlines() if folders[name].name in row}
    assert ">confirmed<" in rows["confirmed"] and "pytest tests/test_queue.py" in rows["confirmed"]
    assert ">nothing failed<" in rows["clean"]
    assert ">no report<" in rows["killed"]
    for row in rows.values():
        assert '<span data-live="runs">2</span>' in row
        assert '<span data-live="failing">1</span>' in row
    assert rows["confirmed"].endswith("<td>2</td></tr>")


def test_a_campaign_has_its_report_in_a_frame_that_can_do_nothing(server, folders):
    name = folders["confirmed"].name
    text = server.text(f"/campaign/{name}")
    assert f'src="/campaign/{name}/report" sandbox="allow-scripts"' in text
    answer = server.ask(f"/campaign/{name}/report")
    document = answer.read().decode()
    assert "check-then-act" in document and 'id="page"' in document
    assert answer.headers["content-security-policy"].startswith("sandbox allow-scripts;")


def test_a_report_that_is_missing_is_not_made(server, folders):
    name = folders["killed"].name
    before = sorted(folders["killed"].iterdir())
    assert "unsnarl rank" in server.text(f"/campaign/{name}")
    assert server.ask(f"/campaign/{name}/report").status == 404
    assert sorted(folders["killed"].iterdir()) == before


@pytest.mark.parametrize("name", ["nothing", "..", "%2e%2e", "..%2f..", "2026"])
def test_only_whole_names_of_campaigns_are_taken(server, name):
    for path in (f"/campaign/{name}", f"/campaign/{name}/report"):
        assert server.ask(path).status == 404


def test_hostile_text_is_text(server, folders):
    for path in ("/", f"/campaign/{folders['hostile'].name}"):
        text = server.text(path)
        assert "<img" not in text and "<b>" not in text and "</script><" not in text
        assert escape("<img src=x onerror=alert(1)>") in text


@pytest.mark.parametrize("path", ["/", "/events", "/serve.js", "/campaign/x", "/no-such-page"])
def test_without_the_token_nothing_is_answered(server, path):
    wrong = f"unsnarl-{server.port}={'x' * len(server.token)}"
    assert server.ask(path, cookie="").status == 403
    assert server.ask(path, cookie=wrong).status == 403
    assert server.ask(f"{path}?token=wrong").status == 403
    assert server.ask(f"{path}?token={quote('ö')}", cookie="").status == 403


def test_the_token_of_the_address_becomes_a_cookie(server):
    answer = server.ask(f"/?token={server.token}", cookie="")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert "HttpOnly" in answer.headers["set-cookie"]
    answer = server.ask(f"//elsewhere.org/?token={server.token}", cookie="")
    assert answer.headers["location"].startswith("/elsewhere.org")


@pytest.mark.parametrize("host", ["elsewhere.org", "127.0.0.1", "127.0.0.1.elsewhere.org:{}", ""])
def test_other_names_are_refused_whatever_they_know(server, host):
    answer = server.ask(f"/?token={server.token}", host=host.format(server.port))
    assert answer.status in (400, 421) and "set-cookie" not in answer.headers


def test_localhost_is_this_machine_too(server):
    assert server.ask("/", host=f"localhost:{server.port}").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(server, method):
    assert server.ask("/", method).status == 405


@pytest.mark.parametrize("path", ["/", "/serve.js", "/no-such-page"])
def test_every_answer_has_the_policy(server, path):
    headers = server.ask(path).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_it_listens_on_the_loopback_interface_only(server):
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    mine = [row[1] for row in rows if row[1].endswith(f":{server.port:04X}") and row[3] == LISTEN]
    assert mine == [f"0100007F:{server.port:04X}"]


def test_events_follow_the_hunt(server, folders):
    file = ProgressFile(folders["killed"])
    file.take(PROGRESS)
    with server.ask(f"/events?campaign={folders['killed'].name}") as stream:
        first = next_state(stream)
        assert first["running"] == [{"name": folders["killed"].name, "progress": vars(PROGRESS)}]
        file.end()
        second = next_state(stream)
    assert second["running"] == [] and second["revision"] != first["revision"]


def test_a_real_hunt_is_watched_to_its_end(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    options = ("--no-confirm", "--max-runs", "1000000")  # until it is interrupted
    command = [sys.executable, "-m", "unsnarl", "hunt", *options, "--", "python", "program.py"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with serving(tmp_path) as server, server.ask("/events") as stream:
        with subprocess.Popen(command, cwd=tmp_path, **quiet) as process:
            while not (seen := next_state(stream)["running"]) or not seen[0]["progress"]["runs"]:
                pass
            process.send_signal(signal.SIGINT)
            while next_state(stream)["running"]:
                pass
            assert process.wait(60) == 130
        assert seen[0]["progress"]["runs"] == seen[0]["progress"]["passing"]
        assert ">nothing failed<" in server.text("/")


def next_state(stream):
    while True:
        line = stream.readline().decode()
        if line.startswith("data: "):
            return json.loads(line.removeprefix("data: "))


def test_a_hunt_shows_how_far_it_is_until_its_end(tmp_path, monkeypatch):
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    seen = []

    def look(_):
        (folder,) = (tmp_path / ".unsnarl").glob("2*")
        seen.append(progress_of(folder))

    hunt(("python", "program.py"), {"max-runs": 3, "jobs": 1}, on_progress=look)
    assert seen and None not in seen
    assert not list(tmp_path.rglob(FILE))


def test_what_a_killed_hunt_has_left_is_not_believed(tmp_path):
    code = (
        "import os; from pathlib import Path\n"
        "from unsnarl.workflows.progress_file import IMPORTING, ProgressFile\n"
        "ProgressFile(Path()).take(IMPORTING); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    assert (tmp_path / FILE).exists() and progress_of(tmp_path) is None
    for text in (b"", b"{}", b'{"pid": 1, "began": -1, "progress": 3}'):
        (tmp_path / FILE).write_bytes(text)
        assert progress_of(tmp_path) is None


def test_progress_is_written_a_few_times_a_second(tmp_path):
    file = ProgressFile(tmp_path)
    file.take(PROGRESS)
    file.take(replace(PROGRESS, runs=8))
    assert progress_of(tmp_path) == PROGRESS


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_it_ends_when_it_is_asked_to_also_while_somebody_watches(tmp_path, number, code):
    with serving(tmp_path) as server:
        assert "No campaigns here yet" in server.text("/")
        stream = server.ask("/events")
        next_state(stream)
        server.process.send_signal(number)
        assert server.process.wait(60) == code


def test_a_port_that_is_taken_is_named(server, tmp_path):
    answer = called(tmp_path, "serve", "--port", server.port)
    assert answer.returncode == 2
    assert f"--port {server.port}" in answer.stderr and "[bad-argument]" in answer.stderr


def test_without_the_extra_it_says_what_to_install(tmp_path):
    (tmp_path / "starlette.py").write_text("raise ModuleNotFoundError(name='starlette')")
    answer = subprocess.run(
        [sys.executable, "-m", "unsnarl", "serve"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 3
    assert answer.stderr.splitlines() == [
        "unsnarl: error: starlette and uvicorn are not installed [serve-missing]",
        "  pip install 'unsnarl[serve]'",
    ]
