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

from unsnarl.campaigns import signatures
from unsnarl.campaigns.engine import Done
from unsnarl.errors import UsageError
from unsnarl.model.run import Failure, Frame, Label

STATUS_DEADLOCK = 96
STATUS_TIME_OUT = 97
OUTPUT_LIMIT = 4 << 20


class Verdict(msgspec.Struct, frozen=True):
    """The label of one run and what tells its failure from others."""

    label: Label
    signature: str = ""
    failure: Failure | None = None


class Labeller:
    """Labels runs of one campaign."""

    def __init__(self, root: Path, fail_if: str = "") -> None:
        self._root = root
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
    ) -> Verdict:
        """Judge a run by how it ended, what it noted and what it printed."""
        first = failures[0] if failures else None
        if done.timed_out or done.status == STATUS_TIME_OUT:
            return self._hang(first)
        # A target may use the status itself; then it noted that it did.
        if done.status == STATUS_DEADLOCK and (first is None or first.kind != "exit"):
            return self._deadlock(failures, waiting)
        # Of C and C++: a failed assert and an uncaught exception end by SIGABRT.
        explained = first is not None and first.kind in ("assertion", "exception")
        if done.signal and not (explained and done.signal == signal.SIGABRT):
            return self._signal(done.signal, first)
        if first is not None and first.kind != "exit":
            signature = signatures.of_exception(first, self._root)
            return Verdict("fail", signature, first)
        if done.status:
            failure = first or Failure("exit", "SystemExit", f"exit status {done.status}")
            signature = signatures.of_exit(done.status, first, self._root)
            return Verdict("fail", signature, failure)
        return self._output(output)

    def _hang(self, noted: Failure | None) -> Verdict:
        noted = noted if noted is not None and noted.kind == "hang" else None
        failure = noted or Failure("hang", message="the time limit was reached")
        return Verdict("hang", signatures.of_hang(noted, self._root), failure)

    def _deadlock(self, failures: Sequence[Failure], waiting: Sequence[Frame]) -> Verdict:
        noted = next((f for f in failures if f.kind == "deadlock"), None)
        # One that died first is the cause, the deadlock its consequence.
        earlier = failures[0] if failures and failures[0].kind != "deadlock" else None
        if earlier is not None:
            return Verdict("fail", signatures.of_exception(earlier, self._root), earlier)
        frames = tuple(waiting) or (noted.frames if noted else ())
        signature = signatures.of_deadlock(frames, self._root)
        failure = noted or Failure("deadlock", frames=frames)
        if not failure.message:
            failure = msgspec.structs.replace(failure, message=signature)
        return Verdict("fail", signature, failure)

    def _signal(self, number: int, noted: Failure | None) -> Verdict:
        signature = signatures.of_signal(number, noted, self._root)
        failure = noted or Failure("signal", type=signature, message=f"killed by {signature}")
        return Verdict("fail", signature, failure)

    def _output(self, output: Path) -> Verdict:
        if self._pattern is None:
            return Verdict("pass")
        try:
            with output.open("rb") as file:
                found = self._pattern.search(file.read(OUTPUT_LIMIT))
        except OSError:
            found = None
        if found is None:
            return Verdict("pass")
        text = found.group().decode("utf-8", "replace")
        return Verdict("fail", signatures.of_output(text), Failure("exit", "output", text))
