# SPDX-License-Identifier: Apache-2.0
"""Labels: pass, fail or hang, with the failure and its signature.

An uncaught exception in any thread is a failure even if the process then exits with 0: that is how
a dying worker goes unnoticed.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from pathlib import Path

import msgspec

from unsnarl.errors import UsageError
from unsnarl.execution import signatures
from unsnarl.execution.server import Done
from unsnarl.model.run import Failure, Frame, Label
from unsnarl.probes import statuses

# Bytes of output that --fail-if looks at.
OUTPUT_LIMIT = 4 << 20


class Judgement(msgspec.Struct, frozen=True):
    """The label of one run and what distinguishes its failure from others."""

    label: Label
    signature: str = ""
    failure: Failure | None = None


class Labeller:
    """Labels runs of one campaign.

    Args:
        fail_if: What in a run's output makes it a failure.
        ok_exit: Exit statuses that are no failure, in addition to 0.
    """

    def __init__(self, root: Path, fail_if: str = "", ok_exit: Sequence[int] = ()) -> None:
        self._root = root
        self._ok_exit = frozenset(ok_exit)
        try:
            self._pattern = re.compile(fail_if.encode()) if fail_if else None
        except re.error as error:
            raise UsageError("bad-pattern", f"--fail-if {fail_if!r}: {error}") from None

    def label(
        self,
        done: Done,
        failures: Sequence[Failure],
        waiting: Sequence[Frame],
        output: Path,
    ) -> Judgement:
        """Judge a run by how it ended, what it noted and what it printed."""
        first = failures[0] if failures else None
        if done.timed_out or done.status == statuses.TIMEOUT:
            return self._hang(first)
        # A target may use the status itself; then it noted that it did.
        if done.status == statuses.DEADLOCK and (first is None or first.kind != "exit"):
            return self._deadlock(failures, waiting)
        # Of C and C++: a failed assert and an uncaught exception end by SIGABRT.
        explained = first is not None and first.kind in ("assertion", "exception", "heap")
        if done.signal and not (explained and done.signal == signal.SIGABRT):
            return self._signal(done.signal, first)
        if first is not None and first.kind != "exit":
            signature = signatures.of_exception(first, self._root)
            return Judgement("fail", signature, first)
        if done.status and done.status not in self._ok_exit:
            failure = first or Failure("exit", "SystemExit", f"exit status {done.status}")
            signature = signatures.of_exit(done.status, first, self._root)
            return Judgement("fail", signature, failure)
        return self._output(output)

    def _hang(self, noted: Failure | None) -> Judgement:
        noted = noted if noted is not None and noted.kind == "hang" else None
        failure = noted or Failure("hang", message="the time limit was reached")
        return Judgement("hang", signatures.of_hang(noted, self._root), failure)

    def _deadlock(self, failures: Sequence[Failure], waiting: Sequence[Frame]) -> Judgement:
        noted = next((f for f in failures if f.kind == "deadlock"), None)
        # One that died first is the cause, the deadlock its consequence.
        earlier = failures[0] if failures and failures[0].kind != "deadlock" else None
        if earlier is not None:
            return Judgement("fail", signatures.of_exception(earlier, self._root), earlier)
        frames = tuple(waiting) or (noted.frames if noted else ())
        signature = signatures.of_deadlock(frames, self._root)
        failure = noted or Failure("deadlock", frames=frames)
        if not failure.message:
            failure = msgspec.structs.replace(failure, message=signature)
        return Judgement("fail", signature, failure)

    def _signal(self, number: int, noted: Failure | None) -> Judgement:
        signature = signatures.of_signal(number, noted, self._root)
        failure = noted or Failure("signal", type=signature, message=f"killed by {signature}")
        return Judgement("fail", signature, failure)

    def _output(self, output: Path) -> Judgement:
        if self._pattern is None:
            return Judgement("pass")
        try:
            with output.open("rb") as file:
                found = self._pattern.search(file.read(OUTPUT_LIMIT))
        except OSError:
            found = None
        if found is None:
            return Judgement("pass")
        text = found.group().decode("utf-8", "replace")
        return Judgement("fail", signatures.of_output(text), Failure("exit", "output", text))
