# SPDX-License-Identifier: Apache-2.0
"""The engine of a cluster: runs plans on the workers of dask.distributed, many at once.

It is used as the local engine is. A worker that dies loses nothing: dask gives its runs to another
one, and a run that is made twice is the same run. Late code has the ids that the first run to load
it anywhere has given it; a result that came with others is not used, and its run is repeated.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import logging
import queue
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from unsnarl.errors import ToolError, UnsnarlError, UsageError
from unsnarl.execution import functions
from unsnarl.execution.cluster import worker
from unsnarl.execution.cluster.messages import HostOrder, HostReply, Setup
from unsnarl.execution.disk import storing
from unsnarl.execution.server import Done, Ready
from unsnarl.execution.target import Target
from unsnarl.model.plan import Plan
from unsnarl.runfile import CODES_FILE
from unsnarl.runfile.codes import LATE_SUFFIX

# Runs that one task makes, one after the other.
Lot = tuple[Plan, ...]

LOCAL = "local"
CONNECT_SECONDS = 10.0
# Batches for each thread of a worker: the next one is there when one ends.
AHEAD = 2
# What a lot should take, and how many runs it has at most. A task of dask costs 20 ms of CPU time
# in all of its processes together: that of two short runs (`python -m benchmarks cluster`).
TASK_SECONDS, MOST_AT_ONCE = 1.0, 32
# Of the runs before, for how long one usually takes.
WEIGHT = 8
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
        self._flying: dict[int, Plan] = {}
        self._unsent: list[Plan] = []
        self._lots: dict[int, tuple[Lot, Any]] = {}
        self._numbers = itertools.count()
        self._ended: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._failed: dict[int, int] = {}
        self._usual = TASK_SECONDS
        self._threads, self._looked = jobs, 0.0

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
            self._client.cancel([future for _, future in self._lots.values()], force=True)
        self._flying.clear()
        self._stack.close()

    @property
    def vacant(self) -> int:
        """How many more runs may be sent now."""
        now = time.monotonic()
        if now >= self._looked + LOOK_SECONDS:
            self._looked = now
            self._threads = max(1, sum(self._client.nthreads().values()))
        return AHEAD * self._threads * self._lot_size - len(self._flying)

    def submit(self, plan: Plan) -> None:
        """Send one run; how it ended comes out of `wait`."""
        self._flying[plan.number] = plan
        self._unsent.append(plan)

    def cancel(self, numbers: Iterable[int]) -> None:
        """Nobody wants to know how these end: those that have not begun are not made."""
        for number in numbers:
            self._flying.pop(number, None)
        self._unsent = [plan for plan in self._unsent if plan.number in self._flying]
        unwanted = [at for at, (lot, _) in self._lots.items() if not self._wanted(lot)]
        if unwanted:
            self._client.cancel([self._lots.pop(at)[1] for at in unwanted])

    def wait(self, seconds: float) -> list[Done]:
        """The runs that ended, waiting at most `seconds` for the first."""
        self._send()
        if not self._flying:
            return []
        done: list[Done] = []
        for at in self._ended_lots(seconds):
            done += self._taken(*self._lots.pop(at))
        self._send()
        return done

    def _wanted(self, lot: Lot) -> list[Plan]:
        return [plan for plan in lot if self._flying.get(plan.number) is plan]

    @property
    def _lot_size(self) -> int:
        """How many runs a task of dask is worth, whose own cost is that of two short ones."""
        return max(1, min(MOST_AT_ONCE, int(TASK_SECONDS / self._usual)))

    def _send(self) -> None:
        """Hand out what was submitted, evenly."""
        while self._unsent:
            share = -(-len(self._unsent) // (AHEAD * self._threads))
            size = max(1, min(share, self._lot_size))
            lot, self._unsent = tuple(self._unsent[:size]), self._unsent[size:]
            self._send_lot(lot)

    def _send_lot(self, lot: Lot) -> None:
        plans = tuple(msgspec.json.encode(plan) for plan in lot)
        # Those that were planned first: later plans wait for them.
        future = self._client.submit(
            worker.run,
            self._setup,
            msgspec.msgpack.encode(HostOrder(plans, self._late_codes)),
            pure=False,
            priority=-lot[0].number,
        )
        at = next(self._numbers)
        self._lots[at] = (lot, future)
        future.add_done_callback(lambda _: self._ended.put(at))

    def _ended_lots(self, seconds: float) -> list[int]:
        found: list[int] = []
        with contextlib.suppress(queue.Empty):
            found.append(self._ended.get(timeout=max(0.0, seconds)))
            while True:
                found.append(self._ended.get_nowait())
        # One that was dropped is nobody's.
        return [at for at in found if at in self._lots]

    def _taken(self, lot: Lot, future: Any) -> Iterator[Done]:
        try:
            replies = [msgspec.msgpack.decode(one, type=HostReply) for one in future.result()]
        except Exception as error:  # whatever became of the workers, the runs are made once more
            self._repeat(self._wanted(lot), error)
            return
        for plan, reply in zip(lot, replies, strict=True):
            if self._flying.get(plan.number) is not plan:
                continue
            if not self._checked(reply, f"worker of run {plan.number}"):
                self._unsent.append(plan)
                continue
            assert reply.done is not None
            self._store(plan, reply)
            del self._flying[plan.number]
            self._failed.pop(plan.number, None)
            self.deaths += reply.deaths
            self._usual += (reply.done.seconds - self._usual) / WEIGHT
            yield reply.done

    def _repeat(self, plans: Sequence[Plan], error: Exception) -> None:
        """Dask gave up on a lot: the workers that had it died, or lost it."""
        self.deaths += 1
        for plan in plans:
            self._failed[plan.number] = self._failed.get(plan.number, 0) + 1
            if self._failed[plan.number] >= MOST_DEATHS:
                raise ToolError(
                    "cluster-failed", f"no worker of {self._address} could make a run: {error}"
                ) from None
        self._unsent += plans

    def _checked(self, reply: HostReply, who: str) -> bool:
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

    def _store(self, plan: Plan, reply: HostReply) -> None:
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
        reply = msgspec.msgpack.decode(begun.result(), type=HostReply)
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
            make: Callable[..., Any] = distributed.Client
            # By way of the scheduler, which knows at once that a worker is gone.
            client = make(
                address, timeout=CONNECT_SECONDS, set_as_default=False, direct_to_workers=False
            )
        except OSError as error:
            raise ToolError(
                "cluster-failed",
                f"cannot reach the cluster at {self._address}: {error}",
                "start one: dask scheduler, and dask worker on every machine",
            ) from None
        return self._stack.enter_context(client)


def _local_cluster(distributed: Any, jobs: int) -> Any:
    import dask  # noqa: PLC0415

    make: Callable[..., Any] = distributed.LocalCluster
    # Workers look at their own stacks a hundred times a second otherwise.
    with dask.config.set({"distributed.worker.profile.enabled": False}):
        return make(
            n_workers=jobs,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
            silence_logs=logging.CRITICAL,
        )
