# SPDX-License-Identifier: Apache-2.0
"""Two parts of a program end the tunnel at once: the web server, and a watchdog."""

from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import pytest
from pyngrok import process
from pyngrok.conf import PyngrokConfig

PATH = "/opt/ngrok"


class Popen:
    """A process that runs until it is killed."""

    pid = 4711

    def __init__(self):
        self.returncode = None

    def poll(self):
        return self.returncode

    def kill(self):
        self.returncode = -9

    def wait(self):
        return self.returncode


@pytest.fixture
def running(monkeypatch):
    monkeypatch.setattr(process, "_current_processes", {})
    ngrok = mock.Mock(proc=Popen(), pyngrok_config=PyngrokConfig(ngrok_path=PATH))
    process._current_processes[PATH] = ngrok
    return ngrok


def test_killed_by_two(running):
    with ThreadPoolExecutor(max_workers=2) as pool:
        ends = [pool.submit(process.kill_process, PATH) for _ in range(2)]
    for end in ends:
        end.result()
    assert running.proc.returncode == -9
    assert not process.is_process_running(PATH)
