# SPDX-License-Identifier: Apache-2.0
"""Fixtures of modules and sessions: made once before the runs are forked, if that is safe."""

from __future__ import annotations

import pytest
from tests.integration.server_client import Client

TEST = """
import os, random, sqlite3, subprocess, sys, tempfile, threading, pytest

HERE = []

@pytest.fixture(scope="{scope}")
def wide(request):
    {setup}
    pid = os.getpid()
    yield pid
    HERE.append(pid)
    {teardown}

@pytest.fixture(scope="module")
def other(wide):
    return wide

def test_it(wide, other, tmp_path):
    assert wide == other
    print("made in the run:", wide == os.getpid())
    lock = getattr(sys, "held", None)
    if lock is not None:
        seen = []
        thread = threading.Thread(target=lambda: seen.append(lock.acquire(timeout=0.5)))
        thread.start(); thread.join()
        print("the lock was free:", seen)
"""


def made_in_the_run(folder, scope="module", setup="pass", teardown="pass"):
    """What a few runs say."""
    (folder / "test_fixtures.py").write_text(
        TEST.format(scope=scope, setup=setup, teardown=teardown)
    )
    client = Client(folder, "pytest", "-q", "-s", "test_fixtures.py")
    try:
        assert "ready" in client.first, client.first
        for number in range(2):
            assert client.run(seed=number)["status"] == 0, client.output()
            output = client.output()
            assert "1 passed" in output
        return "made in the run: True" in output, output
    finally:
        client.close()


@pytest.mark.parametrize("scope", ["module", "session"])
def test_a_fixture_that_only_computes_is_made_once(tmp_path, scope):
    assert not made_in_the_run(tmp_path, scope, "open(__file__).close()")[0]


def test_a_fixture_of_one_test_is_made_in_every_run(tmp_path):
    text = TEST.replace('(scope="module")', "")
    (tmp_path / "conftest.py").write_text("")
    (tmp_path / "test_own.py").write_text(text.format(scope="function", setup="", teardown=""))
    client = Client(tmp_path, "pytest", "-q", "-s", "test_own.py")
    try:
        client.run(seed=1)
        assert "made in the run: True" in client.output()
    finally:
        client.close()


@pytest.mark.parametrize(
    ("setup", "teardown"),
    [
        ("t = threading.Thread(target=threading.Event().wait, daemon=True); t.start()", "pass"),
        ("folder = tempfile.mkdtemp()", "os.rmdir(folder)"),
        ("path = request.getfixturevalue('tmp_path_factory').mktemp('x')", "path.rmdir()"),
        ("connection = sqlite3.connect(':memory:')", "connection.close()"),
        ("stream = open(__file__)", "stream.close()"),
        ("open('file', 'w').close()", "pass"),
        ("subprocess.run(['true'])", "pass"),
    ],
    ids=["thread", "folder", "tmp_path", "connection", "open file", "file", "process"],
)  # fmt: skip
def test_a_fixture_that_does_more_is_made_in_every_run(tmp_path, setup, teardown):
    assert made_in_the_run(tmp_path, "session", setup, teardown)[0]


def test_random_numbers_of_a_fixture_are_those_of_every_process(tmp_path):
    setup = "request.config.number = random.random()"
    text = TEST + "    print('number', request_number)\n"
    text = text.replace("tmp_path):", "pytestconfig):\n    request_number = pytestconfig.number")
    found = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "test_random.py").write_text(
            text.format(scope="module", setup=setup, teardown="pass")
        )
        client = Client(folder, "pytest", "-q", "-s", "test_random.py")
        try:
            client.run(seed=1)
            found += [row for row in client.output().splitlines() if row.startswith("number")]
        finally:
            client.close()
    assert len(found) == 2 and found[0] == found[1]


def test_a_lock_that_a_fixture_holds_is_held_in_the_runs(tmp_path):
    setup = "sys.held = threading.Lock(); sys.held.acquire()"
    in_the_run, output = made_in_the_run(tmp_path, "session", setup, "sys.held.release()")
    assert not in_the_run
    assert "the lock was free: [False]" in output
