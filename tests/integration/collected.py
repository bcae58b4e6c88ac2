# SPDX-License-Identifier: Apache-2.0
"""Batches of anomalies, `unsnarl collect` as a process of its own, and a PostgreSQL server."""

from __future__ import annotations

import os
import pwd
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path

from tests.integration.served import Server, serving

from unsnarl.collect.databases import open_database
from unsnarl.model.anomaly import (
    FORMAT,
    Anomaly,
    AnomalyBatch,
    AnomalyContext,
    AnomalyPoint,
    WatchedProgram,
    anomaly_id,
    encoded,
)

ANOMALIES = "/v1/anomalies"
SENDERS, EACH = 4, 10_000  # batches are numbered, and are at most so many for each
TOKENS = Path(".unsnarl", "collector", "tokens")


def points(function: str = "Cart.add", variable: str = "Cart.total") -> tuple[AnomalyPoint, ...]:
    """Two accesses of two threads."""
    text = f"{variable.replace('Cart', 'self')} = new"
    return (
        AnomalyPoint("shop.py", 12, function, "write", 1, "source", variable, text),
        AnomalyPoint("shop.py", 20, "Cart.pay", "read", 2, "sink", variable, "return self.total"),
    )


def batch(
    instance: int = 1,
    count: int = 3,
    *,
    function: str = "Cart.add",
    program: str = "shop",
    version: str = "1.2",
    score: float = 0.5,
    seen: float = 0.0,
    number: int | None = None,
) -> AnomalyBatch:
    """A batch of one, with an id that no other one has."""
    seen = seen or time.time()
    where = points(function)
    context = AnomalyContext("remote write, local read", "local read", count)
    id = anomaly_id(program, where)
    one = Anomaly(id, score, count, seen - 100, seen, where, (context,), edge=True)
    chosen = random.SystemRandom().getrandbits(64) if number is None else number
    watched = WatchedProgram(program, version, "CPython 3.11.9")
    return AnomalyBatch(FORMAT, f"{chosen:016x}", f"{instance:016x}", watched, seen, (one,))


def token(folder: Path, kind: str) -> str:
    """To send or to read."""
    return (folder / TOKENS / kind).read_text().strip()


@contextmanager
def collecting(folder: Path, *options: str) -> Iterator[Server]:
    """A collector in a folder, for a while."""
    with serving(folder, *options, verb="collect") as server:
        yield server


def send(server: Server, folder: Path, data: AnomalyBatch | bytes, **headers: str) -> HTTPResponse:
    """The answer to a batch."""
    body = data if isinstance(data, bytes) else encoded(data)
    given = {"content-type": "application/json", "cookie": ""}
    given |= {"authorization": f"Bearer {token(folder, 'send')}"} | headers
    return server.ask(ANOMALIES, "POST", body, **given)


@contextmanager
def postgresql() -> Iterator[str]:
    """The URL of a server of Debian's that only this process uses: it has no port."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    folder = tempfile.mkdtemp(prefix="unsnarl-pg-")  # its path must be short: it has the socket
    user = "postgres" if os.getuid() == 0 else None  # it refuses to run as root
    if user:
        os.chown(folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
    quiet = {"cwd": folder, "user": user, "stdout": subprocess.DEVNULL}
    data = f"{folder}/data"
    make = [programs / "initdb", "-D", data, "-U", "unsnarl", "-A", "trust", "-E", "UTF8"]
    control = [programs / "pg_ctl", "-D", data, "-w"]
    try:
        subprocess.run([*make, "--no-locale", "--no-sync"], check=True, **quiet)
        options = f"-c listen_addresses= -k {folder}"
        log = f"{folder}/log"
        subprocess.run(
            [*control, "-t", "300", "-l", log, "-o", options, "start"], check=True, **quiet
        )
        try:
            yield f"postgresql:///postgres?host={folder}&user=unsnarl"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=True, **quiet)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Sender:
    """Sends batches of one over one connection until the server has gone."""

    def __init__(self, port: int, secret: str, numbers: Sequence[int]) -> None:
        self.acknowledged: list[int] = []
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
        self._numbers = numbers
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            for number in self._numbers:
                body = encoded(batch(number, number=number))
                self._connection.request("POST", ANOMALIES, body, self._headers)
                answer = self._connection.getresponse()
                answer.read()
                assert answer.status == 202, answer.status
                self.acknowledged.append(number)
        except (OSError, HTTPException):
            pass  # it was killed


def acknowledged_under_kills(folder: Path, store: str, kills: int, seed: int = 1) -> list[int]:
    """The numbers of all batches that were acknowledged by collectors that were then killed."""
    chance = random.Random(seed)
    done: list[int] = []
    for at in range(kills):
        with collecting(folder, "--store", store) as server:
            secret = token(folder, "send")
            ranges = [
                range(begin, begin + 10_000)
                for begin in range(at * 40_000, at * 40_000 + 40_000, 10_000)
            ]
            senders = [Sender(server.port, secret, numbers) for numbers in ranges]
            for one in senders:
                one.thread.start()
            wanted = chance.randrange(1, 300)
            while sum(len(one.acknowledged) for one in senders) < wanted:
                assert any(one.thread.is_alive() for one in senders)
                time.sleep(chance.uniform(0.0005, 0.005))
            server.process.send_signal(signal.SIGKILL)
            for one in senders:
                one.thread.join()
                done += one.acknowledged
    return done


def missing_in(store: str, numbers: Sequence[int]) -> set[int]:
    """Which of the acknowledged batches are not there, whole."""
    with closing(open_database(store)) as database:
        batches = {int(id, 16) for (id,) in database.rows("SELECT id FROM batches")}
        sightings = database.rows("SELECT instance FROM sightings WHERE times = 3")
        seen = {int(instance, 16) for (instance,) in sightings}
        sums = database.rows("SELECT times, instances FROM anomalies")
        # Not half of a batch either, nor one that was counted and is not there.
        assert sums == [(3 * len(batches), len(batches))]
    return set(numbers) - (batches & seen)
