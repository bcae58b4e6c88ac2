# SPDX-License-Identifier: Apache-2.0
"""The campaign folder: `.unsnarl/<campaign>/` with its description, database and run files.

Every finished run is one committed row; run files appear under their final name only when whole.
So a campaign killed at any moment loses at most the runs in progress: a file without a row was in
progress and is dropped, a row whose file is missing or damaged keeps its label only.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import os
import platform
import sqlite3
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from unsnarl.campaigns.stdin import FILE as STDIN
from unsnarl.errors import ToolError, UsageError
from unsnarl.execution import target
from unsnarl.execution.disk import check_room, disk_full, not_writable, storing
from unsnarl.execution.target import Target
from unsnarl.model.run import Failure, RunRecord
from unsnarl.runfile import CODES_FILE
from unsnarl.runfile.pieces import discard
from unsnarl.traces.files import path_of

FOLDER = ".unsnarl"
# Stores of earlier versions have a table of findings besides; nothing reads it.
SCHEMA_VERSION = 1
SCHEMA = """
CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    phase TEXT NOT NULL,               -- hunt, or support: extra runs behind a claim
    label TEXT NOT NULL,
    signature TEXT NOT NULL,
    strategy TEXT NOT NULL,
    seed INTEGER NOT NULL,
    switch TEXT NOT NULL,
    status INTEGER NOT NULL,
    signal INTEGER NOT NULL,
    seconds REAL NOT NULL,
    threads_seen INTEGER NOT NULL,
    threads_controlled INTEGER NOT NULL,
    kept INTEGER NOT NULL,             -- whether the run file is there
    failure TEXT                       -- JSON, model.run.Failure
);
"""
KEPT_SUFFIXES = (".run", ".out", ".replay", ".trace")
# Of sqlite's errors, those that are the disk's: primary codes, without the details above 255.
SQLITE_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
SQLITE_UNWRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)


class Description(msgspec.Struct, frozen=True):
    """campaign.json: what was run, with what, where."""

    version: int
    name: str
    command: tuple[str, ...]
    cwd: str
    root: str
    created: str
    options: dict[str, Any]
    unsnarl: str
    python: str
    platform: str
    git: str = ""
    base: str = ""  # where .unsnarl was: a campaign may be moved with its project
    verifies: str = ""  # the campaign that this one was hunted to verify
    shards: tuple[str, ...] = ()  # what was merged into this one


class Stored(msgspec.Struct, frozen=True):
    """A run's record with the store's own columns."""

    record: RunRecord
    phase: str
    kept: bool


@contextlib.contextmanager
def _committing(folder: Path) -> Iterator[None]:
    """Like `storing`, for what sqlite writes."""
    try:
        with storing(folder):
            yield
    except sqlite3.OperationalError as error:
        code = error.sqlite_errorcode & 0xFF
        if code in SQLITE_FULL:
            raise disk_full(folder, error) from None
        if code in SQLITE_UNWRITABLE:
            raise not_writable(folder, error) from None
        raise


def command_hash(command: Iterable[str]) -> str:
    """A short name for a command line."""
    return hashlib.sha256("\0".join(command).encode()).hexdigest()[:8]


class CampaignUse:
    """That a campaign is in use, for as long as a process has it open.

    By a lock of its folder: it ends with the process, however that ends.
    """

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def end(self) -> None:
        """It is no longer in use, by this one."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.end()

    def is_only(self) -> bool:
        """Whether nobody else uses the campaign, which then nobody can begin to use."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True


class Store:
    """One campaign on disk.

    Attributes:
        overlay: Files of its target, and the patched ones to run in their stead.
    """

    overlay: tuple[tuple[str, str], ...] = ()

    def __init__(self, folder: Path, description: Description) -> None:
        self.folder = folder
        self.description = description
        self._use = CampaignUse(folder)
        self._database = self._connect()

    @property
    def name(self) -> str:
        """The campaign's name, which is its folder's."""
        return self.folder.name

    @property
    def codes(self) -> Path:
        """The file of the target's sites."""
        return self.folder / CODES_FILE

    @classmethod
    def create(
        cls, base: Path, command: tuple[str, ...], cwd: Path, root: Path, **more: Any
    ) -> Store:
        """Make the folder of a new campaign; `more`: options, python."""
        parent = base / FOLDER
        with storing(parent):
            parent.mkdir(exist_ok=True)
            _write(parent / ".gitignore", b"*\n")
            folder = _fresh(parent, command)
            (folder / "runs").mkdir()
            description = Description(
                version=1,
                name=folder.name,
                command=command,
                cwd=str(cwd),
                root=str(root),
                created=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
                unsnarl=version(),
                platform=platform.platform(),
                git=_git_revision(cwd),
                base=str(base.resolve()),
                **more,
            )
            _write(folder / "campaign.json", msgspec.json.format(msgspec.json.encode(description)))
            return cls(folder, description)

    def target(self) -> Target:
        """What the campaign is of, with the standard input that its runs read."""
        forced = bool(self.description.options.get("force_python"))
        cwd = Path(self.description.cwd)
        found = target.parse(self.description.command, cwd, force_python=forced)
        found = dataclasses.replace(found, overlay=self.overlay)
        stdin = self.folder / STDIN
        return dataclasses.replace(found, stdin=stdin) if stdin.exists() else found

    @classmethod
    def open(cls, folder: Path, base: Path | None = None) -> Store:
        """Open a stored campaign; `base`: the project is there, wherever the campaign lies."""
        description = described(folder)
        return cls(folder, _moved(description, base or folder.resolve().parent.parent))

    def run_file(self, number: int) -> Path:
        """Where the run of this number is, or will be."""
        return self.folder / "runs" / f"{number:06d}.run"

    def output_file(self, number: int) -> Path:
        """What the run printed."""
        return self.folder / "runs" / f"{number:06d}.out"

    def capture_file(self, number: int) -> Path:
        """The capture of a run: its replay, with values (so the suffix)."""
        return self.folder / "runs" / f"{number:06d}.replay"

    def trace_file(self, number: int) -> Path:
        """Every access of the run, if that was asked for."""
        return path_of(self.run_file(number))

    def add(self, record: RunRecord, phase: str, kept: bool) -> None:
        """Store one finished run; its files go unless they are to be kept."""
        failure = msgspec.json.encode(record.failure).decode() if record.failure else None
        row = (
            record.number, phase, record.label, record.signature, record.strategy, record.seed,
            record.switch, record.status, record.signal, record.seconds, record.threads_seen,
            record.threads_controlled, int(kept), failure,
        )  # fmt: skip
        with _committing(self.folder):
            marks = ", ".join("?" * len(row))
            self._database.execute(f"INSERT OR REPLACE INTO runs VALUES ({marks})", row)
        # Files go after the row is written: `sweep` removes files that no row keeps, but a kept row
        # without its file is damage.
        if not kept:
            self._discard(record.number)
        elif record.label == "pass":
            self.output_file(record.number).unlink(missing_ok=True)

    def rename(self, signatures: Mapping[int, str]) -> None:
        """Give runs other signatures, by their numbers."""
        rows = [(signature, number) for number, signature in signatures.items()]
        with _committing(self.folder):
            self._database.executemany("UPDATE runs SET signature = ? WHERE number = ?", rows)

    def runs(self) -> list[Stored]:
        """All runs, by number."""
        rows = self._database.execute("SELECT * FROM runs ORDER BY number")
        return [_stored(row) for row in rows]

    def has_runs(self) -> bool:
        """Whether any run was stored."""
        return self._database.execute("SELECT 1 FROM runs LIMIT 1").fetchone() is not None

    def recover(self) -> list[str]:
        """After a kill: drop files in progress; name the kept files that are damaged."""
        self.sweep()
        kept = [stored.record.number for stored in self.runs() if stored.kept]
        return [str(self.run_file(number)) for number in kept if not self._usable(number)]

    def sweep(self) -> None:
        """Remove the files of runs that were in progress when the campaign ended."""
        rows = self._database.execute("SELECT number FROM runs WHERE kept").fetchall()
        kept = {f"{number:06d}" for (number,) in rows}
        for path in (self.folder / "runs").iterdir():
            if path.stem not in kept or path.suffix not in KEPT_SUFFIXES:
                path.unlink(missing_ok=True)

    def _usable(self, number: int) -> bool:
        if _is_whole(self.run_file(number)):
            return True
        with _committing(self.folder):
            self._database.execute("UPDATE runs SET kept = 0 WHERE number = ?", (number,))
        return False

    def forget(self, number: int) -> None:
        """Keep a run's label but not its file."""
        with _committing(self.folder):
            self._database.execute("UPDATE runs SET kept = 0 WHERE number = ?", (number,))
        self._discard(number)

    def check_room(self) -> None:
        """Raise if a run file cannot be written."""
        check_room(self.folder / "runs")

    def close(self) -> None:
        """Close the database, and let others remove the campaign."""
        self._database.close()
        self._use.end()

    def _discard(self, number: int) -> None:
        self.run_file(number).unlink(missing_ok=True)
        self.output_file(number).unlink(missing_ok=True)
        self.capture_file(number).unlink(missing_ok=True)
        self.trace_file(number).unlink(missing_ok=True)
        discard(self.run_file(number))

    def _connect(self) -> sqlite3.Connection:
        with _committing(self.folder):
            database = sqlite3.connect(self.folder / "campaign.sqlite", isolation_level=None)
            # A process that is killed loses nothing with synchronous=OFF, only a power cut would;
            # in return every run can be committed at once.
            try:
                database.execute("PRAGMA synchronous = OFF")
                database.execute("PRAGMA journal_mode = TRUNCATE")
                self._check_schema(database)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                path = self.folder / "campaign.sqlite"
                raise ToolError("campaign-damaged", f"cannot read {path}: {error}") from None
            return database

    def _check_schema(self, database: sqlite3.Connection) -> None:
        (found,) = database.execute("PRAGMA user_version").fetchone()
        if found == 0:
            # In one transaction: a table without its version could not be opened any more.
            database.executescript(
                f"BEGIN; {SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
            )
        elif found != SCHEMA_VERSION:
            raise ToolError(
                "campaign-damaged",
                f"{self.folder} has schema {found}, this version reads {SCHEMA_VERSION}",
            )


def described(folder: Path) -> Description:
    """A campaign's description as it was written."""
    try:
        text = (folder / "campaign.json").read_bytes()
        return msgspec.json.decode(text, type=Description)
    except (OSError, msgspec.MsgspecError) as error:
        raise ToolError(
            "campaign-damaged", f"cannot read {folder}/campaign.json: {error}"
        ) from None


def find_base(cwd: Path) -> Path | None:
    """The nearest directory upwards that has campaigns."""
    return next((path for path in (cwd, *cwd.parents) if (path / FOLDER).is_dir()), None)


def campaigns(cwd: Path) -> list[Path]:
    """The folders of the stored campaigns, oldest first."""
    base = find_base(cwd)
    if base is None:
        return []
    return sorted(path.parent for path in (base / FOLDER).glob("*/campaign.json"))


def find(cwd: Path, name: str = "", command: tuple[str, ...] = ()) -> Path:
    """A campaign by name, path or unique beginning; else the newest (of `command`)."""
    folders = campaigns(cwd)
    if name:
        if (cwd / name / "campaign.json").exists():
            return cwd / name
        wanted = Path(name).name
        folders = [f for f in folders if f.name == wanted] or [
            f for f in folders if f.name.startswith(wanted)
        ]
    elif command:
        folders = [f for f in folders if command_hash(command) in f.name]
    if not folders:
        what = f"named {name!r}" if name else "of this command" if command else "stored"
        raise UsageError("no-campaign", f"there is no campaign {what}", "run unsnarl hunt first")
    # Names begin with the time, so the last one is the newest.
    return folders[-1] if name else next(filter(_is_hunt, reversed(folders)), folders[-1])


def _is_hunt(folder: Path) -> bool:
    """Whether a campaign is what somebody means who names none.

    One whose command never ran holds nothing, and a hunt that verifies another belongs to it.
    """
    try:
        store = Store.open(folder)
    except ToolError:
        return True  # its damage must be shown, not an older campaign instead
    try:
        # Earlier campaigns have it among the options.
        verifies = store.description.verifies or store.description.options.get("verifies")
        return not verifies and store.has_runs()
    finally:
        store.close()


def _moved(stored: Description, base: Path) -> Description:
    """The description as it would be had the campaign been made where it is now."""
    before = Path(stored.base)
    if not stored.base or before == base:
        return stored
    return msgspec.structs.replace(
        stored,
        command=tuple(_moved_word(word, before, base) for word in stored.command),
        cwd=_moved_path(stored.cwd, before, base),
        root=_moved_path(stored.root, before, base),
        base=str(base),
    )


def _moved_path(path: str, before: Path, base: Path) -> str:
    return os.path.normpath(base / os.path.relpath(path, before))


def _moved_word(word: str, before: Path, base: Path) -> str:
    """A whole path into the old folder leads into the new one, if there is such a file."""
    if not Path(word).is_relative_to(before):
        return word
    moved = base / Path(word).relative_to(before)
    return str(moved) if moved.exists() else word


def version() -> str:
    """The version of unsnarl that is installed."""
    from importlib import metadata  # noqa: PLC0415

    try:
        return metadata.version("unsnarl")
    except metadata.PackageNotFoundError:
        return "0"


def _stored(row: tuple[Any, ...]) -> Stored:
    (number, phase, label, signature, strategy, seed, switch, status, signal, seconds,
     seen, controlled, kept, failure) = row  # fmt: skip
    noted = msgspec.json.decode(failure, type=Failure) if failure else None
    record = RunRecord(
        number, label, signature, strategy, seed, switch, status, signal, seconds,
        seen, controlled, noted,
    )  # fmt: skip
    return Stored(record, phase, bool(kept))


def _fresh(parent: Path, command: tuple[str, ...]) -> Path:
    """A folder named by time and command; a second one within a second gets a number."""
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{command_hash(command)}"
    for suffix in ("", *(f"-{n}" for n in range(2, 100))):
        # Making it is the test: two hunts of one second cannot get the same folder.
        with contextlib.suppress(FileExistsError):
            (parent / (name + suffix)).mkdir()
            return parent / (name + suffix)
    raise ToolError("not-writable", f"too many campaigns named {name} in {parent}")


def _write(path: Path, data: bytes) -> None:
    # Renamed when complete: a kill leaves no half-written file under the real name.
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(data)
    temporary.replace(path)


def _is_whole(path: Path) -> bool:
    """Whether the header's size is the file's (format.h)."""
    try:
        with path.open("rb") as file:
            header = file.read(32)
            size = os.fstat(file.fileno()).st_size
    except OSError:
        return False
    return header[:8] == b"UNSNARL\x1a" and int.from_bytes(header[16:24], "little") == size


def _git_revision(cwd: Path) -> str:
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""
