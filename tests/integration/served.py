# SPDX-License-Identifier: Apache-2.0
"""A project with campaigns, and `unsnarl serve` in it as a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.unit.reports_of_values import finding, report

from unsnarl.campaigns.store import Store
from unsnarl.model.report import Report
from unsnarl.model.run import RunRecord
from unsnarl.workflows.campaign_report import save_report

HOSTILE = "</script><img src=x onerror=alert(1)>\"' \u202eevil <b>"
CONFIRMED = report(finding(), finding(rank=2, id="other-1", status="untested"))


def campaign(project: Path, *command: str, made: Report | None = CONFIRMED) -> Path:
    """The folder of a new campaign, with two runs and a report."""
    store = Store.create(project, command, project, project, options={}, python="3.11")
    for number, label in enumerate(("pass", "fail"), 1):
        store.add(
            RunRecord(number, label, "s", "pos", 1, "gil", 0, 0, 0.1, 3, 3), "hunt", kept=False
        )
    if made is not None:
        save_report(store, made)
    store.close()
    return store.folder


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    address: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        """The port that it chose."""
        return urlsplit(self.address).port or 0

    @property
    def token(self) -> str:
        """The token of its address."""
        return parse_qs(urlsplit(self.address).query)["token"][0]

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> HTTPResponse:
        """The answer to a request; with the cookie unless another one is given."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        given = {"cookie": f"unsnarl-{self.port}={self.token}"} | headers
        connection.request(method, path, body, given)
        return connection.getresponse()

    def text(self, path: str) -> str:
        """A page."""
        answer = self.ask(path)
        assert answer.status == 200, answer.read()
        return answer.read().decode()


@contextmanager
def serving(folder: Path, *options: str, verb: str = "serve") -> Iterator[Server]:
    """A server in a folder, for a while."""
    command = [sys.executable, "-m", "unsnarl", verb, *options]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Server(process.stdout.readline().strip(), process)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
