# SPDX-License-Identifier: Apache-2.0
"""How well findings are proved: `python -m evaluation.proofs`, which writes docs/proofs.md.

Every bug is hunted once, as a user would; the answer is judged against the truth. Decoys are put to
the same experiments, fixed twins are hunted too. One bug at a time: the times count.
"""

from __future__ import annotations

import argparse
import platform
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from evaluation import proof_bars, proof_page
from evaluation.challenges import challenge
from evaluation.draws import REPOSITORY, ZOO, ZOO_C, hunt, hunted
from evaluation.patched import apply_and_hunt
from evaluation.proof_results import Proved, ProvedZoo
from evaluation.repairs import contains
from evaluation.truth import Bug, Cause, judge, load_zoo
from unsnarl.model.report import FailureReport, Finding
from unsnarl.reports.steps import brief_steps, explanation

PAGE = REPOSITORY / "docs" / "proofs.md"
PAGE_C = REPOSITORY / "docs" / "proofs-c.md"
# Of the true causes, so many are to be confirmed.
WANTED, WANTED_C = 0.9, 0.85
# Of the bugs, so many are to have a patch.
PATCHED, PATCHED_C = 0.9, 0.75
# Seconds of a hunt, and those that one run may take (the defaults of --time and --timeout).
TIME, RUN = 60, 10


def measure(bug: Bug, seed: int, *, challenges: bool = True) -> list[Proved]:
    """One row per cause of a bug; without challenges, no decoys and wrong fixes are tried."""
    begin = time.monotonic()
    options = ("--seed", str(seed), "--switch", bug.switch)
    limits = ("--time", str(TIME), "--timeout", str(RUN))
    with hunted(bug.folder, bug.command, *options, *limits, proving=True) as done:
        seconds = time.monotonic() - begin
        rows = []
        for failure in done.report.failures:
            cause = bug.cause_of(failure.signature)
            if cause is None or not failure.findings:
                continue
            row = _judged(bug, failure, seconds)
            challenged = challenge(bug, cause, done.folder)._asdict() if challenges else {}
            rows.append(msgspec.structs.replace(row, timings=done.report.timings, **challenged))
        if rows:
            # Last: it changes the files.
            applied = apply_and_hunt(done.folder, 1, bug.command, options)
            rows[0] = msgspec.structs.replace(rows[0], **applied._asdict())
    return rows or [_missed(bug, seconds)]


def _missed(bug: Bug, seconds: float) -> Proved:
    """A bug that did not fail as its truth says is one that was not proved."""
    return Proved(
        bug=bug.name,
        signature="",
        seconds=seconds,
        status="not found",
        true=False,
        lines=0,
        explains=False,
        orders=None,
        searched=0,
        reproduced=0,
        tries=0,
        nearest=None,
        fix=False,
        fix_fail=0,
        fix_deadlocks=0,
        fix_runs=0,
        found=False,
        public=bug.public,
        in_time=_in_time(seconds),
    )


def _in_time(seconds: float) -> bool:
    return seconds <= TIME + RUN


def _judged(bug: Bug, failure: FailureReport, seconds: float) -> Proved:
    cause = bug.cause_of(failure.signature)
    assert cause is not None
    first = failure.findings[0]
    replay, fix = failure.replay, first.fix
    return Proved(
        bug=bug.name,
        signature=failure.signature,
        seconds=seconds,
        status=first.status,
        true=any(
            judge(cause, points, bug.folder).matches for points in (first.points, first.explanation)
        ),
        lines=len(brief_steps(first)),
        explains=judge(cause, first.explanation, bug.folder).matches,
        orders=replay.constraints if replay else None,
        searched=replay.searched if replay else 0,
        reproduced=replay.reproduced if replay else 0,
        tries=replay.tries if replay else 0,
        nearest=_passes(first),
        fix=contains(bug, cause, first),
        fix_fail=fix.fail if fix else 0,
        fix_deadlocks=fix.deadlocks if fix else 0,
        fix_runs=_certifying(first),
        named=_names(cause, first),
        shape=first.shape,
        shapes=cause.shapes,
        public=bug.public,
        in_time=_in_time(seconds),
    )


def _names(cause: Cause, finding: Finding) -> bool:
    """Whether it has each variable of a cause in its title or its steps, in whatever it is part."""
    points = explanation(finding)
    texts = [*finding.variables, *(text for one in points for text in (one.variable, one.awaits))]
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    return all(words.issuperset(re.findall(r"\w+", name)) for name in cause.variables)


def _certifying(finding: Finding) -> int:
    """The runs behind a fix: where there is a patch, the fix itself is only screened (adr 0044)."""
    patch = finding.patch
    if patch is not None and patch.works:
        return patch.checks.runs
    return finding.fix.runs if finding.fix else 0


def _passes(finding: Finding) -> int | None:
    return finding.nearest.differences if finding.nearest else None


def twin_confirms(bug: Bug, seed: int) -> int:
    """How many findings of a fixed twin experiments confirm."""
    options = ("--seed", str(seed), "--switch", bug.switch, "--max-runs", "60")
    report = hunt(bug, bug.fixed, *options, proving=True)
    findings = [finding for failure in report.failures for finding in failure.findings]
    return sum(finding.status == "confirmed" for finding in findings)


def _all(bugs: Sequence[Bug], seed: int, *, challenges: bool) -> Iterator[Proved]:
    for bug in bugs:
        for row in measure(bug, seed, challenges=challenges):
            print(proof_page.line(row), flush=True)
            yield row


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the bars and write the page."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.proofs", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page", default=None, help="where to write the page")
    parser.add_argument("--c", action="store_true", help="the C and C++ programs instead")
    parser.add_argument("--patches", action="store_true", help="only patches; writes no page")
    parser.add_argument(
        "--public", action="store_true", help="only those with the shape of published programs"
    )
    parser.add_argument("bugs", nargs="*", help="only these")
    options = parser.parse_args(arguments)
    root = ZOO_C if options.c else ZOO
    zoo = [bug for bug in load_zoo(root) if not options.bugs or bug.name in options.bugs]
    zoo = [bug for bug in zoo if bug.public or not options.public]
    found = ProvedZoo(
        command=" ".join(["python -m evaluation.proofs", *(arguments or sys.argv[1:])]),
        date=time.strftime("%Y-%m-%d"),
        python=platform.python_version(),
        rows=tuple(_all(zoo, options.seed, challenges=not options.patches)),
        twins={}
        if options.patches
        else {bug.name: twin_confirms(bug, options.seed) for bug in zoo},
        wanted=WANTED_C if options.c else WANTED,
        patched=PATCHED_C if options.c else PATCHED,
    )
    shown = proof_page.patch_bars(found) if options.patches else proof_page.bars(found)
    for bar in shown:
        print(f"{'met' if bar.met else 'MISSED':6}  {bar.text}: {bar.part} of {bar.whole}")
    if any(row.public for row in found.rows):
        print(proof_bars.table(found))
    every = not (options.bugs or options.patches or options.public)
    page = options.page or ((PAGE_C if options.c else PAGE) if every else None)
    if page:
        Path(page).write_text(proof_page.page(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
