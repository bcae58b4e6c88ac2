# SPDX-License-Identifier: Apache-2.0
"""How well failing runs can be replayed: in a new process, after edits, by other Pythons.

    python -m evaluation.replays [--times N] [--seed N] [BUG ...]

Every bug is hunted once; of every cause the run that the report shows is replayed. The program is
edited where it was hunted, and put back. Prints one line per cause and the shares.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from evaluation.draws import REPOSITORY, ZOO, hunted
from evaluation.edits import EDITS
from evaluation.truth import Bug, Cause, load_zoo

NEW_PROCESS = "new process"
FEW = 10  # replays after an edit, or by another Python


class Answer(msgspec.Struct, frozen=True):
    """What `unsnarl replay --json` says, as far as it is needed here."""

    times: int = 0
    failed: int = 0
    loose: bool = False
    left: dict[str, object] | None = None
    changed: dict[str, object] | None = None


class Outcome(NamedTuple):
    """One cause replayed under one condition."""

    bug: str
    condition: str
    answer: Answer

    @property
    def repeats(self) -> bool:
        """Whether every replay failed as recorded."""
        return 0 < self.answer.times == self.answer.failed


def other_pythons() -> dict[str, Path]:
    """The interpreters of the suite's other environments, by version."""
    found = sorted((REPOSITORY / ".venv-others").glob("python3.*/bin/python"))
    return {path.parent.parent.name.removeprefix("python"): path for path in found}


def measure(bug: Bug, seed: int, times: int) -> Iterator[Outcome]:
    """Replays of one bug under all conditions."""
    with hunted(bug.folder, bug.command, "--seed", str(seed), "--switch", bug.switch) as done:
        for failure in done.report.failures:
            cause = bug.cause_of(failure.signature)
            if cause is None:
                continue
            here = Path(sys.executable)
            yield Outcome(bug.name, NEW_PROCESS, _replay(done.folder, failure.run, times, here))
            for name in EDITS:
                with _edited(done.folder, name, cause):
                    answer = _replay(done.folder, failure.run, FEW, here)
                yield Outcome(bug.name, name, answer)
            for version, python in other_pythons().items():
                answer = _replay(done.folder, failure.run, FEW, python)
                yield Outcome(bug.name, f"Python {version}", answer)


@contextmanager
def _edited(folder: Path, edit: str, cause: Cause) -> Iterator[None]:
    """All sources of a folder, edited for a while."""
    buggy = {point.function.rpartition(".")[2] for point in cause.points}
    sources = {path: path.read_text() for path in folder.rglob("*.py")}
    try:
        for path, source in sources.items():
            path.write_text(EDITS[edit](source, buggy))
        yield
    finally:
        for path, source in sources.items():
            path.write_text(source)


def _replay(folder: Path, run: str, times: int, python: Path) -> Answer:
    path = os.pathsep.join((str(python.parent), os.environ.get("PATH", "")))
    done = subprocess.run(
        [python, "-m", "unsnarl", "replay", run, "--times", str(times), "--json"],
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    try:
        return msgspec.json.decode(done.stdout, type=Answer)
    except msgspec.DecodeError:
        sys.stderr.buffer.write(done.stderr)
        return Answer()


def _line(outcomes: Sequence[Outcome]) -> str:
    cells = []
    for one in outcomes:
        answer = one.answer
        marks = "~" * answer.loose + "!" * (answer.left is not None) + "?" * bool(answer.changed)
        cells.append(f"{answer.failed}/{answer.times}{marks}")
    return "  ".join(f"{cell:>9}" for cell in cells)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("bugs", nargs="*")
    options = parser.parse_args(arguments)
    conditions = [NEW_PROCESS, *EDITS, *(f"Python {version}" for version in other_pythons())]
    good: dict[str, list[bool]] = defaultdict(list)
    print("conditions:", ", ".join(conditions))
    print("marks: ~ without waits in libraries, ! left the track, ? said to have changed")
    for bug in load_zoo(ZOO):
        if options.bugs and bug.name not in options.bugs:
            continue
        outcomes = list(measure(bug, options.seed, options.times))
        for at in range(0, len(outcomes), len(conditions)):
            row = outcomes[at : at + len(conditions)]
            print(f"{bug.name:14}{_line(row)}", flush=True)
        for one in outcomes:
            good[one.condition].append(one.repeats)
    for condition in conditions:
        print(f"{condition:26}{sum(good[condition])} of {len(good[condition])}")


if __name__ == "__main__":
    main()
