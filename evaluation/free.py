# SPDX-License-Identifier: Apache-2.0
"""`python -m evaluation.free`: free and noisy hunts of the zoo, in the papers' own mode.

Each program is hunted with its threads running in real parallel; if it does not fail so, with
random delays. The runs are ranked, and nothing is proved: it is the ranking of free runs that is
judged. Rewrites docs/free-hunts.md; `--save FILE` keeps the rows, and what FILE has is not hunted.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from evaluation.cases import Case, place
from evaluation.draws import REPOSITORY, ZOO, ZOO_C, hunted
from evaluation.measure import cases
from evaluation.results import ALL
from evaluation.truth import Bug, load_zoo
from unsnarl.analyses.methods import DEFAULT

PAGE = REPOSITORY / "docs" / "free-hunts.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
# Runs and seconds of each: without noise most programs do not fail in thousands of runs either.
LIMITS = {"free": ("30", "3"), "noise": ("150", "8")}
WANTED = "25"
# Fewer say little of a ranking.
FEWEST = 2
TOP = 3
METHODS = (DEFAULT, "recon")


class Row(msgspec.Struct, frozen=True):
    """One program: how it was made to fail, and where its cause stands.

    Attributes:
        plan: "" if it never failed.
        joined: The rank of the true cause; None if it is in no finding. So is `recon`.
    """

    name: str
    language: str
    plan: str = ""
    failing: int = 0
    runs: int = 0
    joined: int | None = None
    recon: int | None = None
    complaint: str = ""

    @property
    def is_judged(self) -> bool:
        """Whether there is enough to rank: some runs of both kinds."""
        return self.failing >= FEWEST and self.runs > self.failing


def measure(bug: Bug) -> Row:
    """Freely first, then with noise."""
    row = Row(bug.name, bug.language)
    for plan in LIMITS:
        try:
            found = hunt_freely(bug, plan)
        except Exception:  # one program must not cost the others theirs
            return msgspec.structs.replace(row, complaint=traceback.format_exc()[-2000:])
        if found.is_judged:
            return found
        row = found if found.failing else row
    return row


def hunt_freely(bug: Bug, plan: str) -> Row:
    """One hunt; the causes of its failures, worst rank first."""
    runs, seconds = LIMITS[plan]
    options = ("--plan", plan, "--switch", bug.switch, "--max-runs", runs, "--time", seconds,
               "--fail", WANTED, "--pass", WANTED, "--timeout", "3")  # fmt: skip
    with hunted(bug.folder, bug.command, *options) as done:
        counts = done.report.runs
        failing = counts.total - counts.passed
        row = Row(bug.name, bug.language, plan if failing else "", failing, counts.total)
        if not row.is_judged:
            return row
        found = [case for case in cases(bug, 0, done) if case is not None]
        if not found:
            return msgspec.structs.replace(row, plan="", complaint="failed in another way")
        # Not as the hunt shows them: on a busy machine its time may be over before it has ranked.
        ranks = {method: _worst(_rank_by(method, case) for case in found) for method in METHODS}
        return msgspec.structs.replace(row, joined=ranks[DEFAULT], recon=ranks["recon"])


def _rank_by(method: str, case: Case) -> int | None:
    placed = place(case, [one.points for one in case.findings(method, ALL)])
    return placed.rank if placed else None


def _worst(ranks: Iterable[int | None]) -> int | None:
    found = list(ranks)
    known = [rank for rank in found if rank is not None]
    return max(known) if len(known) == len(found) else None


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of the page's table, and what they come to."""
    judged = [row for row in rows if row.is_judged and row.plan]
    top = [row for row in judged if row.joined is not None and row.joined <= TOP]
    recon = [row for row in judged if row.recon is not None and row.recon <= TOP]
    free = [row for row in judged if row.plan == "free"]
    share = 100 * len(top) / max(1, len(judged))
    yield (
        f"{len(rows)} programs; {len(judged)} failed natively often enough to be ranked, "
        f"{len(free)} of them without noise. The joined ranking has the true cause among the first "
        f"{TOP} of {len(top)} ({share:.0f} %), Recon's of {len(recon)}."
    )
    yield ""
    yield "| program | | plan | failing | runs | rank, joined | rank, Recon |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        how = row.plan or ("otherwise" if row.failing else "never failed")
        cells = (row.name, row.language, how, str(row.failing),
                 str(row.runs), _rank(row, row.joined), _rank(row, row.recon))  # fmt: skip
        yield "| " + " | ".join(cells) + " |"


def _rank(row: Row, rank: int | None) -> str:
    if not (row.is_judged and row.plan):
        return ""
    return "none" if rank is None else str(rank)


def write_page(rows: Sequence[Row], page: Path) -> None:
    """Put the table where the page has one."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    body = "\n".join(table(rows))
    page.write_text(f"{before}{BEGIN}\n{body}\n{END}{after}", encoding="utf-8")


def stored(file: Path) -> list[Row]:
    """The rows that an earlier session has made."""
    lines = file.read_bytes().splitlines() if file.exists() else []
    return [msgspec.json.decode(line, type=Row) for line in lines]


def main() -> int:
    """Hunt what is missing; write the page."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.free", description=__doc__)
    parser.add_argument("--bugs", help="some of them, by name, separated by commas")
    parser.add_argument("--save", type=Path, default=Path("free-hunts.jsonl"))
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--language", choices=("python", "c"), help="only these")
    parser.add_argument("--only-page", action="store_true", help="hunt nothing more")
    options = parser.parse_args()
    zoos = {"python": ZOO, "c": ZOO_C}
    folders = [zoos[options.language]] if options.language else zoos.values()
    bugs = [bug for folder in folders for bug in load_zoo(folder)]
    wanted = set(options.bugs.split(",")) if options.bugs else {bug.name for bug in bugs}
    made = {(row.name, row.language == "python") for row in stored(options.save)}
    for bug in bugs:
        key = (bug.name, bug.language == "python")
        if options.only_page or bug.name not in wanted or key in made:
            continue
        row = measure(bug)
        print(row, file=sys.stderr)
        with options.save.open("ab") as file:
            file.write(msgspec.json.encode(row) + b"\n")
    write_page(stored(options.save), options.page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
