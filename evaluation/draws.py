# SPDX-License-Identifier: Apache-2.0
"""One draw: a whole hunt of one bug with a seed of its own, and the runs that it kept."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from evaluation.truth import Bug, load_bug
from unsnarl import config
from unsnarl.campaigns import store as stores
from unsnarl.campaigns.comparisons import Comparisons
from unsnarl.campaigns.store import Store
from unsnarl.campaigns.tally import Tally
from unsnarl.model.report import Report

REPOSITORY = Path(__file__).resolve().parents[1]
ZOO = REPOSITORY / "zoo" / "python"
ZOO_C = REPOSITORY / "zoo" / "c"
WANTED = 25  # runs of each label (Recon 6.2)
IGNORED = (".unsnarl", "__pycache__", ".pytest_cache")


@dataclass(frozen=True, eq=False)
class Hunted:
    """A hunt that has ended, while its folder is still there."""

    report: Report
    folder: Path


@contextmanager
def hunted(
    source: Path | str, command: Sequence[str], *options: str, proving: bool = False
) -> Iterator[Hunted]:
    """Run `unsnarl hunt` on a command in a copy of a folder; RuntimeError if it has no answer."""
    with copy_of(Path(source)) as folder:
        answer = folder / "answer.json"
        # The ranking is judged as it comes: experiments would put it right afterwards.
        options = options if proving else ("--no-confirm", *options)
        arguments = ["hunt", f"--json={answer}", *options, "--", *command]
        done = subprocess.run(
            [sys.executable, "-m", "unsnarl", *arguments],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if not answer.exists():
            raise RuntimeError(f"{folder.name}: exit {done.returncode}\n{done.stdout}")
        yield Hunted(msgspec.json.decode(answer.read_bytes(), type=Report), folder)


def hunt(bug: Bug, command: Sequence[str], *options: str, proving: bool = False) -> Report:
    """The answer of a hunt of a bug or of its twin."""
    with hunted(bug.folder, command, *options, proving=proving) as done:
        return done.report


@contextmanager
def kept(folder: Path) -> Iterator[Comparisons]:
    """The kept runs of the campaign that was hunted in a folder."""
    store = Store.open(stores.find(folder, ""))
    settings = config.override(store.description.options, {})
    tally = Tally(settings.fail, settings.passed, settings.seed)
    for stored in store.runs():
        tally.restore(stored.record, stored.phase, stored.kept)
    try:
        yield Comparisons(store, tally)
    finally:
        store.close()


def sample(count: int, total: int, *seed: object) -> tuple[int, ...]:
    """`count` of `total` indexes in ascending order, or all; the same for the same seed."""
    draw = random.Random("/".join(map(str, seed)))
    return tuple(sorted(draw.sample(range(total), min(count, total))))


@contextmanager
def copy_of(source: Path, change: Callable[[Path], None] = lambda folder: None) -> Iterator[Path]:
    """A folder with the same files and nothing of earlier hunts, changed before it is built."""
    with tempfile.TemporaryDirectory(prefix="unsnarl-evaluation-") as folder:
        target = Path(folder) / source.name
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(*IGNORED))
        change(target)
        if (target / "bug.toml").exists():
            build(load_bug(target))
        yield target


def build(bug: Bug) -> None:
    """Compile what must be compiled, as a user would."""
    verb, standard = ("cc", "gnu11") if bug.language == "c" else ("c++", "c++17")
    for sources, command in ((bug.sources, bug.command), (bug.fixed_sources, bug.fixed)):
        if sources:
            compiler = [sys.executable, "-m", "unsnarl", verb, f"-std={standard}"]
            arguments = [*bug.flags, "-pthread", *sources, "-o", command[0]]
            subprocess.run([*compiler, *arguments], cwd=bug.folder, check=True)


def environment() -> dict[str, str]:
    """`python` and `pytest` in the bugs' commands mean those of this interpreter."""
    folder = str(Path(sys.executable).parent)
    return os.environ | {"PATH": os.pathsep.join((folder, os.environ.get("PATH", "")))}
