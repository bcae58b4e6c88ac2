# SPDX-License-Identifier: Apache-2.0
"""A reproducer for those who do not have unsnarl: written, and tried before it is handed out."""

from __future__ import annotations

import dataclasses
import math
import shlex
import shutil
from pathlib import Path

import msgspec

from unsnarl import config
from unsnarl.campaigns.store import Store, version
from unsnarl.errors import EXIT_INCONCLUSIVE, EXIT_OK
from unsnarl.replay.anchors import AnchoredSchedule, Codes
from unsnarl.replay.portable import portable_word
from unsnarl.reproducers.events import ForcedOrder, Orders, UnforceableError
from unsnarl.reproducers.gdb_writing import GdbScript
from unsnarl.reproducers.trying import TriedReproducer, try_reproducer
from unsnarl.reproducers.writing import (
    NEEDS_GDB,
    Reproducer,
    failure_name,
    header,
    shown_command,
)
from unsnarl.runfile import SiteTable, read_run
from unsnarl.workflows.proof import StoredProof, proof_of

TRIES = 3
# Seconds without movement after which an order is given up: short, so that a fixed program passes
# soon; longer only for programs that need it, because their threads sleep.
PATIENCE = (2.0, 12.0)
MOST_STDIN = 4096


@dataclasses.dataclass(frozen=True)
class ReproducerResult:
    """What was written, or why nothing was.

    Attributes:
        text: The file; "" if there is none.
        why: Why there is none, in words.
        failed: In so many of `tries` tries on the plain interpreter the bug was there.
    """

    campaign: str
    finding: str
    text: str = ""
    why: str = ""
    failed: int = 0
    tries: int = 0
    orders: int = 0

    @property
    def exit_code(self) -> int:
        """4 if there is no reproducer."""
        return EXIT_OK if self.text else EXIT_INCONCLUSIVE


def reproducer(
    finding: str, campaign: str = "", seconds: float = math.inf, tries: int = TRIES
) -> ReproducerResult:
    """A file that forces a finding's proven orders on a plain interpreter.

    Args:
        finding: Its id or number; it must be confirmed.
        seconds: The time for minimising it, if that has yet to be done.
        tries: So often it is tried; it must show the bug every time.
    """
    with proof_of(finding or "1", campaign, seconds) as proof:
        empty = ReproducerResult(proof.store.name, proof.chosen.finding.id)
        try:
            if proof.store.target().kind == "program":
                return _tried_in_gdb(empty, _script(proof), proof, tries)
            return _tried(empty, _made(proof), proof, tries)
        except UnforceableError as error:
            return dataclasses.replace(empty, why=str(error))


def _tried(
    empty: ReproducerResult, made: Reproducer, proof: StoredProof, tries: int
) -> ReproducerResult:
    target = proof.store.target()
    tried = TriedReproducer((), "")
    for patience in PATIENCE:
        made = msgspec.structs.replace(made, patience=patience)
        tried = try_reproducer(made.text, [target.python.executable], target.cwd, tries)
        if tried.is_certain:
            break
    return _judged(empty, made, tried, "on the plain interpreter")


def _judged(
    empty: ReproducerResult, made: Reproducer | GdbScript, tried: TriedReproducer, where: str
) -> ReproducerResult:
    counted = dataclasses.replace(
        empty, failed=tried.failed, tries=len(tried.codes), orders=len(made.orders)
    )
    if tried.is_certain:
        return dataclasses.replace(counted, text=made.text)
    why = (
        f"it was tried {where} and showed the bug in {tried.failed} of {len(tried.codes)} tries; "
        f"the last one ended with: {tried.says}"
    )
    return dataclasses.replace(counted, why=why)


def _tried_in_gdb(
    empty: ReproducerResult, made: GdbScript, proof: StoredProof, tries: int
) -> ReproducerResult:
    """Without gdb it is written all the same: its reader may have one."""
    gdb, target = shutil.which("gdb"), proof.store.target()
    if gdb is None:
        return dataclasses.replace(empty, text=made.text, orders=len(made.orders))
    command = [gdb, "-nx", "-batch", "-x"]
    after = ["--args", *target.args]
    tried = try_reproducer(made.text, command, target.cwd, tries, after=after, suffix=".gdb")
    return _judged(empty, made, tried, "in gdb")


def _script(proof: StoredProof) -> GdbScript:
    store, chosen = proof.store, proof.chosen
    root, target = Path(store.description.root), store.target()
    orders = _orders(store, proof.schedule, root)
    words = tuple(portable_word(word, target.cwd, root) for word in target.args)
    command = f"gdb -nx -batch -x THIS-FILE --args {shlex.join(words)}"
    return GdbScript(
        deadlock=chosen.failure.signature.startswith(("deadlock", "hang")),
        orders=tuple(orders),
        header=header(chosen, orders, command, version(), NEEDS_GDB),
    )


def _made(proof: StoredProof) -> Reproducer:
    store, chosen = proof.store, proof.chosen
    target, description = store.target(), store.description
    settings = config.override(description.options, {})
    root = Path(description.root)
    words = tuple(portable_word(word, target.cwd, root) for word in target.args)
    orders = _orders(store, proof.schedule, root)
    signature = chosen.failure.signature
    return Reproducer(
        kind=target.kind,
        words=words,
        options=target.flags,
        failure=failure_name(signature),
        deadlock=signature.startswith(("deadlock", "hang")),
        fail_if=settings.fail_if,
        ok_exit=settings.ok_exit,
        stdin=_stdin(target.stdin),
        orders=tuple(orders),
        header=header(chosen, orders, shown_command(target.kind, words), version()),
    )


def _orders(store: Store, schedule: AnchoredSchedule, root: Path) -> list[ForcedOrder]:
    run = read_run(store.run_file(schedule.run))
    table = SiteTable.load(store.codes, root).for_run(run)
    return Orders(table, Codes.load(store.codes, root, run.codes)).of(schedule)


def _stdin(file: Path | None) -> str:
    text = file.read_bytes() if file is not None else b""
    if len(text) > MOST_STDIN:
        raise UnforceableError("the test reads a long standard input, which one file cannot hold")
    return text.decode("utf-8", "replace")
