# SPDX-License-Identifier: Apache-2.0
"""The one door to a target's process: a plan goes in, a result comes out.

Hunts, trials, captures and recordings differ in the plans they make and in what they keep of the
results. How a plan is run, judged and read back is the same for all, and is here.
"""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace as with_fields

from unsnarl.config import Settings
from unsnarl.execution.disk import storing
from unsnarl.execution.engine import Engine
from unsnarl.execution.judge import Judge
from unsnarl.execution.labels import Judgement
from unsnarl.execution.outputs import shorten
from unsnarl.execution.pace import RunPace
from unsnarl.execution.result import Result, read_safely
from unsnarl.execution.server import Done, Ready
from unsnarl.execution.signatures import Split
from unsnarl.execution.target import Target
from unsnarl.model.plan import Plan

# How long `run` waits for one result: the engine itself gives a run up two seconds after its time
# limit, but repeats it if the server dies.
LOST_FACTOR, LOST_SECONDS = 3, 10


class AnyEngine(Protocol):
    """What makes runs: the local engine, or that of a cluster."""

    target: Target
    codes: Path
    ready: Ready
    deaths: int

    @property
    def vacant(self) -> int:
        """How many more runs may be sent now."""

    def submit(self, plan: Plan) -> None:
        """Send one run; how it ended comes out of `wait`."""

    def cancel(self, numbers: Iterable[int]) -> None:
        """Nobody wants to know how these runs end."""

    def wait(self, seconds: float) -> list[Done]:
        """The runs that ended, waiting at most `seconds` for the first."""


class Runner:
    """Runs plans on one target, up to `jobs` at once.

    Attributes:
        engine: The target's process.
        reads_output: Whether what a run prints decides how it ended (--fail-if).
        pace: How long its runs usually take.
    """

    def __init__(
        self,
        engine: AnyEngine,
        fail_if: str = "",
        ok_exit: Sequence[int] = (),
        heap_errors: bool = True,
    ) -> None:
        self.engine = engine
        self._heap_errors = heap_errors and engine.target.kind == "program"
        self.reads_output = bool(fail_if)
        self.pace = RunPace()
        self._judge = Judge(engine.target.root, engine.codes, fail_if, ok_exit)
        self._complete = _completion(engine)
        self._plans: dict[int, Plan] = {}

    @property
    def ready(self) -> Ready:
        """What was instrumented."""
        return self.engine.ready

    def distinguish(self, split: Split) -> None:
        """Divide signatures of the runs to come by the exceptions that these swallow."""
        self._judge.distinguish(split)

    @property
    def vacant(self) -> int:
        """How many more runs may be submitted now."""
        return self.engine.vacant

    @property
    def awaited(self) -> int:
        """How many results are still to come."""
        return len(self._plans)

    def submit(self, plan: Plan) -> None:
        """Start one run; its result comes out of `wait`."""
        if self._heap_errors:
            plan = with_fields(plan, heap_errors=True)
        self._plans[plan.number] = plan
        self.engine.submit(plan)

    def wait(self, seconds: float) -> list[Result]:
        """The results that came in, waiting at most `seconds` for the first."""
        return [self.result(plan, done) for plan, done in self._ended(seconds)]

    def _ended(self, seconds: float) -> list[tuple[Plan, Done]]:
        ended = [done for done in self.engine.wait(seconds) if done.number in self._plans]
        return [(self._plans.pop(done.number), done) for done in ended]

    def drop(self) -> None:
        """Do without the results of all runs in flight."""
        self._forget(list(self._plans))

    def _forget(self, numbers: Iterable[int]) -> None:
        dropped = [number for number in numbers if self._plans.pop(number, None) is not None]
        self.engine.cancel(dropped)

    def run(
        self, plans: Iterable[Plan], check: Callable[[], None] = lambda: None
    ) -> Generator[Result, None, None]:
        """Run all plans and give their results, as they come in.

        `check` is called all the while; if it raises, the runs in flight are dropped, as they are
        if the caller closes this.
        """
        limits: dict[int, float] = {}
        try:
            yield from self._run(deque(plans), limits, check)
        finally:
            self._forget(limits)

    def _run(
        self, waiting: deque[Plan], limits: dict[int, float], check: Callable[[], None]
    ) -> Iterator[Result]:
        while waiting or limits:
            check()
            self._submit_some(waiting, limits)
            ended = self._ended(0.5)
            # The next ones run while we look at what these have left.
            self._submit_some(waiting, limits)
            for plan, done in ended:
                if limits.pop(plan.number, None) is not None:
                    yield self.result(plan, done)
            now = time.monotonic()
            for number in [number for number, limit in limits.items() if limit < now]:
                del limits[number]
                yield Result(self._plans.pop(number), Done(number), Judgement("hang"))

    def _submit_some(self, waiting: deque[Plan], limits: dict[int, float]) -> None:
        while waiting and self.vacant > 0:
            plan = waiting.popleft()
            # From its own start: a run at the end of a long batch is not late.
            patience = LOST_FACTOR * (plan.timeout or 0) + LOST_SECONDS
            limits[plan.number] = time.monotonic() + patience
            self.submit(plan)

    def result(self, plan: Plan, done: Done) -> Result:
        """The result of a run that ended."""
        self._complete(plan)
        run, damage = read_safely(Path(plan.file))
        judgement = self._judge.judgement(done, run, Path(plan.output))
        if judgement.label != "hang":
            self.pace.take(done.seconds)
        shorten(Path(plan.output))
        return Result(plan, done, judgement, run, damage)


@contextmanager
def started(
    target: Target,
    folder: Path,
    settings: Settings,
    *,
    jobs: int | None = None,
    scratch: bool = False,
    branches: bool = False,
    loops: bool = False,
    cluster: str = "",
) -> Iterator[Runner]:
    """Start a process of the target, with `folder` for its sites, its log and its run files.

    Args:
        jobs: Replaces the number of runs at once.
        scratch: Make the folder, and remove it at the end.
        branches: With probes at branches.
        loops: With probes at the back edges of loops.
        cluster: The address of a dask cluster that makes the runs; "" for this machine.
    """
    with ExitStack() as stack:
        if scratch:
            with storing(folder.parent):
                folder.mkdir(exist_ok=True)
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        most, include = jobs or settings.jobs, settings.include
        engine: AnyEngine
        if cluster:
            from unsnarl.execution.cluster.engine import ClusterEngine  # noqa: PLC0415  an extra

            there = ClusterEngine(
                target, folder, most, include, address=cluster, force_python=settings.force_python
            )
            engine = stack.enter_context(there)
        else:
            here = Engine(target, folder, most, include, branches=branches, loops=loops)
            engine = stack.enter_context(here)
        yield Runner(engine, settings.fail_if, settings.ok_exit, settings.heap_errors)


def _completion(engine: AnyEngine) -> Callable[[Plan], None]:
    """What is done with the run file of a capture before it is read; the kind of target decides.

    A Python program names the values that it captures itself. A C program notes addresses and
    bytes; its debug information names them.
    """
    target = engine.target
    if target.kind != "program":
        return lambda plan: None
    from unsnarl.probes.native.captured import completion  # noqa: PLC0415  slow; for C only

    complete = completion(Path(target.cwd, target.args[0]), engine.codes, target.root)
    return lambda plan: complete(Path(plan.file)) if plan.capture else None
