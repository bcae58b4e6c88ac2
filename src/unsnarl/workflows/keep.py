# SPDX-License-Identifier: Apache-2.0
"""Keep: the proof of a finding becomes a file of the project, to be replayed for ever."""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path

from unsnarl import config
from unsnarl.campaigns.signature_split import stored_split
from unsnarl.errors import EXIT_INCONCLUSIVE, EXIT_OK, UsageError
from unsnarl.replay.kept import VERSION, Kept, kept_file, orders_of, text_of
from unsnarl.replay.portable import portable_command
from unsnarl.replay.regress import Regressed, start_kept
from unsnarl.workflows.proof import StoredProof, proof_of


@dataclasses.dataclass(frozen=True)
class KeepResult:
    """What was kept.

    Attributes:
        file: Relative to the project's root.
        text: Its content.
        checked: What became of it when it was replayed at once.
    """

    campaign: str
    finding: str
    file: str
    text: str
    checked: Regressed

    @property
    def exit_code(self) -> int:
        """4 if it does not fail although the bug is there: then nothing was written."""
        return EXIT_OK if self.checked.state == "fails" else EXIT_INCONCLUSIVE


def keep(finding: str, campaign: str = "", name: str = "", seconds: float = math.inf) -> KeepResult:
    """Write the orders of a confirmed finding into the project, if they fail when replayed.

    Args:
        finding: Its id or number.
        name: Of the file, without its ending; the finding's id by default.
        seconds: The time for minimising it, if that has yet to be done.
    """
    with proof_of(finding, campaign, seconds) as proof:
        root = Path(proof.store.description.root)
        kept, name = _kept(proof), name or proof.chosen.finding.id
        file = kept_file(root, name)
        with start_kept(kept, root, proof.store.target().python.executable) as process:
            checked = process.check(file, kept)
        text = text_of(kept, proof.chosen.finding.id)
        if checked.state == "fails":
            _write(file, text)
        shown = str(file.relative_to(root))
        return KeepResult(proof.store.name, proof.chosen.finding.id, shown, text, checked)


def _kept(proof: StoredProof) -> Kept:
    store, chosen = proof.store, proof.chosen
    description = store.description
    settings = config.override(description.options, {})
    root, cwd = Path(description.root), Path(description.cwd)
    if store.target().stdin is not None:
        raise UsageError("no-orders", "a test that reads its standard input cannot be kept")
    return Kept(
        version=VERSION,
        shows=chosen.finding.summary or chosen.failure.message or chosen.failure.signature,
        failure=_undivided(chosen.failure.signature, store.folder),
        command=portable_command(description.command, cwd, root),
        orders=orders_of(proof.schedule),
        folder=os.path.relpath(cwd, root),
        switch=proof.schedule.switch,
        include=settings.include,
        fail_if=settings.fail_if,
        ok_exit=settings.ok_exit,
        timeout=settings.timeout,
    )


def _undivided(signature: str, folder: Path) -> str:
    """Without the swallowed exceptions by which the campaign divides its runs."""
    bases = (base for base in stored_split(folder) if signature.startswith(f"{base} after "))
    return next(bases, signature)


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError("bad-argument", f"cannot write {file}: {error.strerror}") from None
