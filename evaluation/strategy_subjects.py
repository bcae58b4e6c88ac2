# SPDX-License-Identifier: Apache-2.0
"""What strategies are compared on: the zoo's bugs, in Python and C, shapes, and real bugs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from evaluation.draws import REPOSITORY, ZOO, ZOO_C, copy_of
from evaluation.real_cases import FOLDERS, RealCase, load_cases
from evaluation.real_environments import environment
from evaluation.real_measure import workplace
from evaluation.truth import Bug, load_zoo
from unsnarl.execution import target
from unsnarl.execution.target import Target

SHAPES = REPOSITORY / "zoo" / "shapes"
KINDS = ("python", "c", "shape", "real")
# Real bugs that were looked at; the others must stay unseen (zoo/real/README.md).
SEEN = "work"


@dataclass(frozen=True)
class Prepared:
    """A target that can be run, where it may be switched, and what is instrumented."""

    target: Target
    switch: str
    include: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subject:
    """One bug; `opened` makes a copy of it to run."""

    name: str
    kind: str
    opened: Callable[[], AbstractContextManager[Prepared]]


def subjects() -> Iterator[Subject]:
    """All of them; real bugs last."""
    for kind, prefix, folder in (
        ("python", "", ZOO),
        ("c", "c/", ZOO_C),
        ("shape", "shape/", SHAPES),
    ):
        for bug in load_zoo(folder):
            yield Subject(prefix + bug.name, kind, partial(_of_zoo, bug))
    for case in load_cases(FOLDERS[:1]):
        if case.set == SEEN:
            yield Subject(f"real/{case.name}", "real", partial(_of_real, case))


def prepared(bug: Bug, folder: Path) -> Prepared:
    """A bug of the zoo that was copied to a folder; `python` means this interpreter."""
    with _first_in_path(Path(sys.executable).parent):
        return Prepared(target.parse(bug.command, folder), bug.switch)


@contextmanager
def _of_zoo(bug: Bug) -> Iterator[Prepared]:
    with copy_of(Path(bug.folder)) as folder:
        yield prepared(bug, folder)


@contextmanager
def _of_real(case: RealCase) -> Iterator[Prepared]:
    with (
        workplace(case, environment(case.pins(False))) as here,
        _first_in_path(here.environment / "bin"),
    ):
        yield Prepared(target.parse(case.command, here.folder), "auto", case.include)


@contextmanager
def _first_in_path(folder: Path) -> Iterator[None]:
    before = os.environ["PATH"]
    os.environ["PATH"] = os.pathsep.join((str(folder), before))
    try:
        yield
    finally:
        os.environ["PATH"] = before
