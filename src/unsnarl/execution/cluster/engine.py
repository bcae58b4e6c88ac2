# SPDX-License-Identifier: Apache-2.0
"""The engine of a cluster: runs plans on the workers of dask.distributed, many at once.

It is used as the local engine is. A worker that dies loses nothing: dask gives its runs to another
one, and a run that is made twice is the same run. Late code has the ids that the first run to load
it anywhere has given it; a result that came with others is not used, and its run is repeated.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import queue
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from unsnarl.errors import ToolError, UnsnarlError, UsageError
from unsnarl.execution import functions
from unsnarl.execution.cluster import worker
from unsnarl.execution.cluster.messages import Order, Reply, Setup
from unsnarl.execution.disk import storing
from unsnarl.execution.server import Done, Ready
from unsnarl.execution.target import Target
from unsnarl.model.plan import Plan
from unsnarl.runfile import CODES_FILE
from unsnarl.runfile.codes import LATE_SUFFIX

LOCAL = "local"
CONNECT_SECONDS = 10.0
# Runs for each thread of a worker: the next one is there when one ends.
AHEAD = 2
# A run whose workers died so often, one after the other, kills them itself.
MOST_DEATHS = 5
# How often the number of workers is looked at.
LOOK_SECONDS = 1.0


class ClusterEngine:
    """Runs plans on a cluster and hands back how they ended.

    Attributes:
        target: What is run.
        codes: The file of its sites.
        ready: What was instrumented.
        deaths: How often a fork server or a worker died.
    """

    def __init__(
        self,
        target: Target,
        folder: Path,
        jobs: int,
        include: tuple[str, ...] = (),
        *,
        address: str,
        force_python: bool = False,
    ) -> None:
        if functions.function_of(target.args) is not None:
            raise UsageError(
                "cluster-unsupported",
                "a function of this process cannot be run on other machines",
                "hunt a script, a module, a program or pytest",
            )
        self.target = target
        self.codes = folder / CODES_FILE
        self.ready = Ready()
        self.deaths = 0
        stdin = target.stdin.read_bytes() if target.stdin else None
        self._key = uuid.uuid4().hex
        setup = Setup(self._key, target.command, str(target.cwd), include, force_python, stdin)
        self._setup = msgspec.msgpack.encode(setup)
        self._address, self._jobs = address, jobs
        self._stack = contextlib.ExitStack()
        self._client: Any = None
        self._late_codes = b""
        self._digest = b""
        self._flying: dict[int, tuple[Plan, Any]] = {}
        self._ended: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self._failed: dict[int, int] = {}
        self._capacity, self._looked = jobs, 0.0

    def __enter__(self) -> ClusterEngine:
        try:
            self._client = self._connected()
            self._stack.callback(self._end_hosts)
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(Exception):
            self._client.cancel([future for _, future in self._flying.values()], force=True)
        self._flying.clear()
        self._stack.close()

    @property
    def vacant(self) -> int:
        """How many more runs may be sent now."""
        now = time.monotonic()
        if now >= self._looked + LOOK_SECONDS:
            self._looked = now
            threads = sum(self._client.nthreads().values())
            self._capacity = AHEAD * max(1, threads)
        return self._capacity - len(self._flying)

    def submit(self, plan: Plan) -> None:
        """Send one run; how it ended comes out of `wait`."""
        order = Order(msgspec.json.encode(plan), self._late_codes)
        future = self._client.submit(
            worker.run,
            self._setup,
            [msgspec.msgpack.encode(order)],
            pure=False,
            # Those that were planned first: later plans wait for them.
            priority=-plan.number,
        )
        self._flying[plan.number] = (plan, future)
        future.add_done_callback(lambda one: self._ended.put((plan.number, one)))

    def cancel(self, numbers: Iterable[int]) -> None:
        """Nobody wants to know how these end: those that have not begun are not made."""
        gone = [self._flying.pop(number)[1] for number in numbers if number in self._flying]
        if gone:
            self._client.cancel(gone)

    def wait(self, seconds: float) -> list[Done]:
        """The runs that ended, waiting at most `seconds` for the first."""
        if not self._flying:
            return []
        ended = self._some_ended(seconds)
        done = [self._taken(*one) for one in ended]
        return [one for one in done if one is not None]

    def _some_ended(self, seconds: float) -> list[tuple[int, Any]]:
        found: list[tuple[int, Any]] = []
        with contextlib.suppress(queue.Empty):
            found.append(self._ended.get(timeout=max(0.0, seconds)))
            while True:
                found.append(self._ended.get_nowait())
        # One that was dropped, or sent once more, is nobody's.
        return [
            (number, one)
            for number, one in found
            if number in self._flying and self._flying[number][1] is one
        ]

    def _taken(self, number: int, future: Any) -> Done | None:
        plan, _ = self._flying.pop(number)
        try:
            (data,) = future.result()
        except Exception as error:
            self._repeat(plan, error)
            return None
        reply = msgspec.msgpack.decode(data, type=Reply)
        if not self._checked(reply, f"worker of run {number}"):
            self.submit(plan)
            return None
        assert reply.done is not None
        self._store(plan, reply)
        self._failed.pop(number, None)
        self.deaths += reply.deaths
        return reply.done

    def _repeat(self, plan: Plan, error: Exception) -> None:
        """Dask gave up on a run: the workers that had it died, or lost it."""
        deaths = self._failed[plan.number] = self._failed.get(plan.number, 0) + 1
        self.deaths += 1
        if deaths >= MOST_DEATHS:
            raise ToolError(
                "cluster-failed", f"no worker of {self._address} could make a run: {error}"
            ) from None
        self.submit(plan)

    def _checked(self, reply: Reply, who: str) -> bool:
        """Whether a reply counts sites as we do; it may have found more late code than we knew."""
        if reply.refusal is not None:
            refused = reply.refusal
            raise UnsnarlError(refused.slug, refused.message, refused.hint, refused.exit_code)
        if reply.codes != self._digest:
            raise UsageError(
                "cluster-differs",
                f"the {who} has other code than the first one",
                "all workers need the same project, in the same folder, and the same Python",
            )
        if reply.late.startswith(self._late_codes):
            self._learn(reply.late)
        return self._late_codes.startswith(reply.late)

    def _learn(self, late: bytes) -> None:
        if late == self._late_codes:
            return
        self._late_codes = late
        with storing(self.codes.parent):
            self.codes.with_name(self.codes.name + LATE_SUFFIX).write_bytes(late)

    def _store(self, plan: Plan, reply: Reply) -> None:
        with storing(Path(plan.file).parent):
            for path, content in ((plan.file, reply.file), (plan.output, reply.output)):
                if content is not None:
                    # Renamed when it is whole, as the target's process does.
                    temporary = Path(path + ".part")
                    temporary.write_bytes(content)
                    temporary.replace(path)

    def _begin(self) -> None:
        late = self.codes.with_name(self.codes.name + LATE_SUFFIX)
        self._late_codes = late.read_bytes() if late.exists() else b""
        begun = self._client.submit(worker.begin, self._setup, pure=False)
        reply = msgspec.msgpack.decode(begun.result(), type=Reply)
        if reply.refusal is not None:
            refused = reply.refusal
            raise UnsnarlError(refused.slug, refused.message, refused.hint, refused.exit_code)
        assert reply.ready is not None
        self.ready = reply.ready
        self._digest = hashlib.sha256(reply.codes).digest()
        with storing(self.codes.parent):
            self.codes.write_bytes(reply.codes)
        if not self._late_codes.startswith(reply.late):
            self._learn(reply.late)

    def _end_hosts(self) -> None:
        with contextlib.suppress(Exception):
            self._client.run(worker.end, self._key, on_error="ignore")

    def _connected(self) -> Any:
        try:
            import distributed  # noqa: PLC0415  an extra, and slow to load
        except ImportError as error:
            raise UsageError(
                "cluster-missing",
                f"--cluster needs dask.distributed ({error})",
                "pip install 'unsnarl[cluster]'",
            ) from None
        # A worker that ends says so in a page of text; what matters of it is in our warnings.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        address: Any = self._address
        if address == LOCAL:
            address = self._stack.enter_context(_local_cluster(distributed, self._jobs))
        try:
            client = distributed.Client(
                address, timeout=CONNECT_SECONDS, set_as_default=False, direct_to_workers=True
            )
        except OSError as error:
            raise ToolError(
                "cluster-failed",
                f"cannot reach the cluster at {self._address}: {error}",
                "start one: dask scheduler, and dask worker on every machine",
            ) from None
        return self._stack.enter_context(client)


def _local_cluster(distributed: Any, jobs: int) -> Any:
    make: Callable[..., Any] = distributed.LocalCluster
    return make(
        n_workers=jobs,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        host="127.0.0.1",
        silence_logs=logging.CRITICAL,
    )
