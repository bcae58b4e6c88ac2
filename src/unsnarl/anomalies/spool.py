# SPDX-License-Identifier: Apache-2.0
"""The spool as the analyst sees it: bursts are read with checks, batches are written whole.

watch/spool.py draws the folder. It stays bounded: the oldest bursts and the oldest batches give way
to new ones.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from unsnarl.anomalies.observed import Observation, Reader
from unsnarl.anomalies.points import AnchoredPoints
from unsnarl.model import anomaly
from unsnarl.model.anomaly import AnomalyBatch
from unsnarl.runfile import RunFileError, SiteTable, read_run
from unsnarl.runfile.codes import CodesFile
from unsnarl.watch import spool as layout

BURSTS_KEPT = 200  # half of what may wait there; the others are older
BATCHES_MOST = 200
INSTANCE_BYTES_MOST = 64 << 20
SENT = ".sent"


class SpoolSettings(msgspec.Struct, frozen=True):
    """How the program wants to be analysed."""

    format: int = 1
    baseline: str = ""
    endpoint: str = ""
    token_file: str = ""
    threshold: float = 0.0


class Instance(msgspec.Struct, frozen=True):
    """What a process says of itself."""

    format: int
    program: str
    version: str
    interpreter: str
    root: str
    codes: CodesFile
    overhead: float = 0.0
    refused: tuple[str, ...] = ()
    variables: dict[str, str] = msgspec.field(default_factory=dict)


class SpoolFolder:
    """Reads bursts, each once, and keeps what they saw."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.points = AnchoredPoints()
        self.observations: dict[str, Observation] = {}  # by the name of the file
        self.instances: dict[str, Instance] = {}
        self.damaged: set[str] = set()
        self._readers: dict[str, tuple[Instance, Reader]] = {}

    def settings(self) -> SpoolSettings:
        """Those of the latest process; the defaults if they cannot be read."""
        return _read(self.folder / layout.SETTINGS, SpoolSettings) or SpoolSettings()

    def take(self) -> int:
        """Read what is new, let go of what is too old; gives how many bursts are new."""
        files = sorted((self.folder / "bursts").glob("*.run"), key=_age)
        for old in files[:-BURSTS_KEPT]:
            old.unlink(missing_ok=True)
        files = files[-BURSTS_KEPT:]
        names = {one.name for one in files}
        self.observations = {k: v for k, v in self.observations.items() if k in names}
        new = [one for one in files if one.name not in self.observations]
        return sum(self._take(one) for one in new if one.name not in self.damaged)

    def _take(self, file: Path) -> bool:
        name = file.name.partition("-")[0]
        instance = self._instance(name)
        if instance is None:
            return False  # not yet described
        try:
            run = read_run(file)
            edges = self._readers[name][1].edges(run)
        except (RunFileError, OSError):
            self.damaged.add(file.name)
            return False
        self.observations[file.name] = Observation(name, _age(file)[0], edges)
        return True

    def _instance(self, name: str) -> Instance | None:
        found: Instance | None = _read(self.folder / "instances" / f"{name}.json", Instance)
        if found is None or found.format != layout.FORMAT:
            return None
        if name not in self._readers or self._readers[name][0] != found:
            table = SiteTable(found.codes.codes, found.root, found.codes.watermark)
            names = {int(site): text for site, text in found.variables.items() if site.isdigit()}
            table.variables = lambda run: names  # type: ignore[method-assign]
            self._readers[name] = (found, Reader(table, Path(found.root), self.points))
            self.instances[name] = found
        return found

    def write(self, batch: AnomalyBatch) -> None:
        """Put a batch into the spool; the oldest gives way if there are too many."""
        folder = self.folder / "anomalies"
        for old in sorted(folder.glob("*.json*"), key=_age)[: 1 - BATCHES_MOST]:
            old.unlink(missing_ok=True)
        write_whole(folder / f"{batch.id}.json", anomaly.encoded(batch))

    def unsent(self) -> Iterator[Path]:
        """The batches that no endpoint has accepted, the oldest first."""
        for file in sorted((self.folder / "anomalies").glob("*.json"), key=_age):
            if not file.with_suffix(SENT).exists():
                yield file

    def mark_sent(self, file: Path) -> None:
        """An endpoint has it."""
        file.with_suffix(SENT).touch()

    @contextlib.contextmanager
    def locked(self) -> Iterator[bool]:
        """Whether we are the only analyst."""
        with (self.folder / layout.LOCK).open("ab") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    def add_used(self, before: float) -> None:
        """Note what this process has used of the processor, on top of what others had."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        write_whole(
            self.folder / layout.CPU, f"{before + used.ru_utime + used.ru_stime:.3f}".encode()
        )

    def used(self) -> float:
        """What analysts have used up to now."""
        return layout.analyst_seconds(str(self.folder))


def write_whole(file: Path, data: bytes) -> None:
    """Under its name when it is complete, and on the disk."""
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _age(file: Path) -> tuple[float, str]:
    try:
        return file.stat().st_mtime, file.name
    except OSError:
        return 0.0, file.name


def _read(file: Path, kind: type[Any]) -> Any:
    """JSON of a type; None if it is not that, or is not there."""
    try:
        if file.stat().st_size > INSTANCE_BYTES_MOST:
            return None
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
