# SPDX-License-Identifier: Apache-2.0
"""`unsnarl collect`: batches of one per second, and what is lost when it is killed under load."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.integration.collected import (
    ANOMALIES,
    acknowledged_under_kills,
    batch,
    collecting,
    missing_in,
    postgresql,
    token,
)

from benchmarks.figures import Figure, median
from unsnarl.model.anomaly import encoded

BAR = 1000.0
CONNECTIONS = 32
PREPARED = 2000  # batches of a round
FUNCTIONS, INSTANCES = 200, 500
KILLS = 50
TICKS = os.sysconf("SC_CLK_TCK")


def figures(quick: bool) -> Iterator[Figure]:
    """Batches per second and processor seconds, for both stores; batches lost."""
    rounds = 3 if quick else 7
    with tempfile.TemporaryDirectory() as folder:
        yield from _throughput("SQLite", Path(folder), "", rounds)
        with postgresql() as url:
            yield from _throughput("PostgreSQL", Path(folder), url, rounds)
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/store.sqlite"
        kills = 5 if quick else KILLS
        numbers = acknowledged_under_kills(Path(folder), store, kills)
        lost = float(len(missing_in(store, numbers)))
        details = {"kills": kills, "acknowledged": len(numbers)}
        name = f"collect: lost of {len(numbers)} in {kills} kills"
        yield Figure(name, lost, lost, lost, unit="batches", bar=0, details=details)


def _throughput(name: str, folder: Path, store: str, rounds: int) -> Iterator[Figure]:
    bar = BAR if name == "SQLite" else None
    options = ("--store", store) if store else ()
    with collecting(folder, *options) as server, ProcessPoolExecutor(1) as pool:
        secret = token(folder, "send")
        pid = server.process.pid
        rates, costs = [], []
        for number in range(rounds + 1):
            before = _processor_seconds(pid)
            took = pool.submit(sent, server.port, secret, number).result(600)
            spent = _processor_seconds(pid) - before
            if number:  # the first one loads modules
                rates.append(PREPARED / took)
                costs.append(spent / PREPARED * 1000)
        yield median(f"collect: {name}, accepted", rates, unit="/s", bar=bar, at_least=True)
        # Two cores, one of them the clients': what is below this second is left.
        yield median(f"collect: {name}, processor time of 1000", costs, unit="s", bar=bar and 1.0)


def sent(port: int, secret: str, number: int) -> float:
    """Seconds for a round of batches over connections that stay open; all are acknowledged."""
    requests = _requests(port, secret, number)
    return asyncio.run(_all_sent(port, requests))


def _requests(port: int, secret: str, number: int) -> list[bytes]:
    chance = random.Random(number)
    made = []
    for _ in range(PREPARED):
        one = batch(
            chance.randrange(INSTANCES),
            chance.randrange(1, 1000),
            function=f"Cart.work_{chance.randrange(FUNCTIONS)}",
            score=chance.random(),
        )
        body = encoded(one)
        head = (
            f"POST {ANOMALIES} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Authorization: Bearer {secret}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        made.append(head.encode() + body)
    return made


async def _all_sent(port: int, requests: Sequence[bytes]) -> float:
    begin = time.monotonic()
    shares = [requests[at::CONNECTIONS] for at in range(CONNECTIONS)]
    await asyncio.gather(*(_share_sent(port, share) for share in shares))
    return time.monotonic() - begin


async def _share_sent(port: int, requests: Sequence[bytes]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for request in requests:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 202"):
            sys.exit(f"refused: {head!r}")
        length = head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
        await reader.readexactly(int(length))
    writer.close()


def _processor_seconds(pid: int) -> float:
    """Of all threads of a process, so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
