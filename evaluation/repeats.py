# SPDX-License-Identifier: Apache-2.0
"""Whether hunts repeat: the same seed, the same answer; and whether its failures come back.

    python -m evaluation.repeats [--set NAME] [--hunts N] [--replays N] [CASE ...] [-- OPTION ...]

Every program is hunted with one run at a time, then again, the last time with several at once; all
that reports differ in, apart from times, is printed. The first failure is replayed in a new
process. Options after `--` are those of the hunts.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from evaluation.draws import ZOO, ZOO_C, copy_of
from evaluation.real_cases import FOLDERS, RealCase, load_cases
from evaluation.real_environments import install
from evaluation.real_measure import Workplace, workplace
from evaluation.truth import Bug, load_zoo

SETS = ("zoo", "c", "users", "work")
# What says when and how fast, and in which campaign.
TIMES = frozenset({"campaign", "seconds", "timings"})
# Enough time for all: what is cut off would depend on the machine.
USUAL = ("--seed", "1", "--time", "600", "--max-runs", "300", "--fail", "10", "--pass", "10")
UNHURRIED = {"UNSNARL_ANSWER": "600"}
MOST_SHOWN = 4

Json = dict[str, Any]


class Repeated(NamedTuple):
    """One case: how its answers differ, and how many of its replays failed as recorded."""

    name: str
    answers: int
    differences: tuple[str, ...]
    replays: int
    failed: int

    def __str__(self) -> str:
        same = "no answer" if not self.answers else "differs" if self.differences else "same"
        lines = [f"{self.name:34}{same:10}{self.failed}/{self.replays} replays"]
        return "\n".join([*lines, *(f"    {one}" for one in self.differences[:MOST_SHOWN])])


def without_times(value: Any) -> Any:
    """A report without what differs from hunt to hunt by its nature."""
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if key not in TIMES}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Where two reports differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            yield from differences(one.get(key), other.get(key), f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{path}[{at}]")
    elif one != other:
        yield f"{path}: {str(one)[:60]} | {str(other)[:60]}"


class Subject(NamedTuple):
    """A program to hunt, and where."""

    here: Workplace
    command: Sequence[str]
    options: Sequence[str] = ()

    def hunt(self, jobs: int, *options: str) -> Json | None:
        """The answer of one hunt."""
        included = [word for module in self.here.case.include for word in ("--include", module)]
        words = (f"--jobs={jobs}", *self.options, *options, *included, "--", *self.command)
        return self.here.answer("hunt", *words)[1]

    def replay(self, run: str, times: int) -> int:
        """How many replays in a new process failed as recorded."""
        answer = self.here.answer("replay", "--times", str(times), run)[1]
        return int(answer["failed"]) if answer else 0


@contextlib.contextmanager
def _of_zoo(bug: Bug) -> Iterator[Subject]:
    with copy_of(Path(bug.folder)) as folder:
        case = RealCase(bug.name, folder, "script", "", ())
        environment = Path(sys.prefix)
        here = Workplace(case, folder, environment, environment, UNHURRIED)
        yield Subject(here, bug.command, ("--switch", bug.switch))


@contextlib.contextmanager
def _of_real(case: RealCase) -> Iterator[Subject]:
    with workplace(case, install(case)[0]) as here:
        yield Subject(replace(here, settings=UNHURRIED), case.command)


def _subjects(name: str) -> Iterator[tuple[str, contextlib.AbstractContextManager[Subject]]]:
    if name in ("zoo", "c"):
        for bug in load_zoo(ZOO if name == "zoo" else ZOO_C):
            yield bug.name, _of_zoo(bug)
    else:
        for case in load_cases(FOLDERS):
            if case.set == name:
                yield case.name, _of_real(case)


def measure(name: str, subject: Subject, options: argparse.Namespace) -> Repeated:
    """Hunt and replay one program."""
    jobs = [1] * (options.hunts - 1) + [options.jobs]
    found = [subject.hunt(count, *USUAL, *options.words) for count in jobs]
    answers = [without_times(one) for one in found if one is not None]
    different = [text for one in answers[1:] for text in differences(answers[0], one)]
    failures = found[-1]["failures"] if found[-1] else []
    replays = options.replays if failures else 0
    failed = subject.replay(failures[0]["run"], replays) if replays else 0
    return Repeated(name, len(answers), tuple(different), replays, failed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.repeats", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CASE", help="only these")
    parser.add_argument("--set", choices=SETS, action="append", help="default: all")
    parser.add_argument("--hunts", type=int, default=3, metavar="N")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="of the last hunt")
    parser.add_argument("--replays", type=int, default=10, metavar="N")
    given = list(sys.argv[1:] if arguments is None else arguments)
    cut = given.index("--") if "--" in given else len(given)
    options = parser.parse_args(given[:cut])
    options.words = given[cut + 1 :]
    rows = []
    for chosen in options.set or SETS:
        for name, prepared in _subjects(chosen):
            if not options.names or name in options.names:
                with prepared as subject:
                    rows.append(measure(name, subject, options))
                print(rows[-1], flush=True)
    same = sum(bool(row.answers) and not row.differences for row in rows)
    replays, failed = sum(row.replays for row in rows), sum(row.failed for row in rows)
    print(f"same answer: {same} of {len(rows)}; replays as recorded: {failed} of {replays}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
