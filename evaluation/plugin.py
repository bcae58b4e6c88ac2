# SPDX-License-Identifier: Apache-2.0
"""Bugs of the zoo as tests: through `pytest --unsnarl` and through `unsnarl hunt`.

python -m evaluation.plugin [BUG ...]

Seconds are processor time of all processes, which other programs on the machine change less than
the time on the wall. Both ways may take as many runs as the other: the time is no limit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from evaluation.draws import ZOO, copy_of
from evaluation.markdown import table
from evaluation.reproducer_cases import processor_seconds
from evaluation.truth import Bug, load_zoo

MOST_RATIO = 1.3
TIME = ("--time", "600")  # a busy machine must not decide how much is tried
TEST = """\
import runpy

def test_program():
    runpy.run_path({file!r}, run_name="__main__")
"""


class Found(NamedTuple):
    """What one way found: whether it failed, whether that was confirmed, the processor seconds."""

    failed: bool
    confirmed: bool
    seconds: float


class Compared(NamedTuple):
    """One bug, both ways."""

    name: str
    command: Found
    plugin: Found

    @property
    def ratio(self) -> float:
        """The plugin's time, of the command's."""
        return self.plugin.seconds / self.command.seconds


def test_of(bug: Bug, folder: Path) -> str:
    """The test file of a bug; a program becomes a test that runs it."""
    word = bug.command[-1]
    file = word.partition("::")[0]
    if Path(file).name.startswith("test_"):
        return file
    name = f"test_{Path(file).stem}_program.py"
    (folder / name).write_text(TEST.format(file=str(folder / file)))
    return name


def by_command(folder: Path, test: str) -> Found:
    """`unsnarl hunt -- pytest TEST`."""
    words = [sys.executable, "-m", "unsnarl", "hunt", "--json", "-", "--seed", "1", *TIME, "--"]
    start = processor_seconds()
    done = _run([*words, sys.executable, "-m", "pytest", "-q", test], folder)
    seconds = processor_seconds() - start
    report = json.loads(done.stdout) if done.stdout else {"failures": []}
    status = [one["status"] for failure in report["failures"] for one in failure["findings"]]
    return Found(bool(report["failures"]), "confirmed" in status, seconds)


def by_plugin(folder: Path, test: str) -> Found:
    """`pytest --unsnarl TEST`."""
    start = processor_seconds()
    words = [sys.executable, "-m", "pytest", "-q", "--unsnarl", "-p", "no:cacheprovider", test]
    done = _run(words, folder, {"UNSNARL_SEED": "1", "UNSNARL_TIME": TIME[1]})
    seconds = processor_seconds() - start
    line = next((one for one in done.stdout.splitlines() if "unsnarl: " in one), "")
    return Found(" failed" in line, " confirmed" in line, seconds)


def _run(
    words: Sequence[str], folder: Path, more: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=False, env=kept | (more or {})
    )


def zoo_bugs(most: int) -> list[Bug]:
    """The first bugs of the zoo, in alphabetical order."""
    return load_zoo(ZOO)[:most]


def compare(bug: Bug) -> Compared:
    """A bug, both ways."""
    with copy_of(Path(bug.folder)) as folder:
        test = test_of(bug, folder)
        return Compared(bug.name, by_command(folder, test), by_plugin(folder, test))


def zoo_table(found: Sequence[Compared]) -> str:
    """With one line that sums it up."""
    same = sum(one.command[:2] == one.plugin[:2] for one in found)
    within = sum(one.ratio <= MOST_RATIO for one in found)
    head = ("bug", "command", "plugin", "processor seconds: command", "plugin", "ratio")
    lines = [
        (
            one.name, _word(one.command), _word(one.plugin), round(one.command.seconds, 1),
            round(one.plugin.seconds, 1), one.ratio,
        )
        for one in found
    ]  # fmt: skip
    text = (
        f"The same answer for {same} of {len(found)}; within {MOST_RATIO}x of the command's time "
        f"for {within}."
    )
    return f"{table(head, lines)}\n\n{text}"


def _word(found: Found) -> str:
    return "confirmed" if found.confirmed else "found" if found.failed else "not found"


def main(names: Sequence[str]) -> None:
    """Compare these bugs, or the first 20, and print the table."""
    bugs = [one for one in load_zoo(ZOO) if one.name in names] if names else zoo_bugs(20)
    print(zoo_table([compare(bug) for bug in bugs]))


if __name__ == "__main__":
    main(sys.argv[1:])
