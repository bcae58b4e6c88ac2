# SPDX-License-Identifier: Apache-2.0
"""Hunt a bug once, then run every method and every sub-sample on the same runs."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable, Sequence

from evaluation import bugaboo_tables, falcon_tables, recon_tables
from evaluation.cases import Case, place
from evaluation.draws import Hunted, hunted, kept
from evaluation.results import ALL, CauseDraw, Draw, Named, ObjectDraw, Placed, Twin
from evaluation.singles import singles
from evaluation.truth import Bug
from unsnarl.analyses.methods import DEFAULT
from unsnarl.model.report import Finding, RunCounts

FEW = (5, 15)
# Several draws are made at once.
ONE_BY_ONE = ("--jobs", "1")


def measure(bug: Bug, seed: int) -> Draw:
    """One draw of a bug, with the default budget in its own switching mode."""
    begin = time.perf_counter()
    options = ("--seed", str(seed), "--switch", bug.switch, *ONE_BY_ONE)
    try:
        with hunted(bug.folder, bug.command, *options) as done:
            hunting = time.perf_counter() - begin
            causes = _causes(bug, seed, done)
            measuring = time.perf_counter() - begin - hunting
            return Draw(bug.name, seed, done.report.runs, hunting, measuring, causes)
    except Exception:  # what breaks one draw off must not cost the others theirs
        nothing = (None,) * len(bug.causes)
        complaint = traceback.format_exc()
        return Draw(bug.name, seed, RunCounts(0, 0, 0, 0), 0.0, 0.0, nothing, complaint)


def _causes(bug: Bug, seed: int, done: Hunted) -> tuple[CauseDraw | None, ...]:
    found = cases(bug, seed, done)
    return tuple(of_case(case) if case else None for case in found)


def cases(bug: Bug, seed: int, done: Hunted) -> list[Case | None]:
    """For every cause, the most frequent failure with its signature: the one that is shown."""
    with kept(done.folder) as runs:
        compared = {one.signature: one for one in runs.all()}
        interner = runs.interner
    found: list[Case | None] = []
    for cause in bug.causes:
        matching = (one for one in done.report.failures if bug.cause_of(one.signature) == cause)
        shown = next(matching, None)
        runs_of = compared.get(shown.signature) if shown else None
        if shown is None or runs_of is None:
            found.append(None)
        else:
            found.append(Case(bug, seed, cause, shown, runs_of, interner, done.folder))
    return found


def of_case(case: Case) -> CauseDraw:
    """Everything that is measured on one failure's runs."""
    recon = recon_tables.measure(case)
    return CauseDraw(
        failing=len(case.comparison.failing),
        passing=len(case.comparison.passing),
        rate=case.shown.rate,
        joined={ALL: _shown(case), **{number: _with_few(case, number) for number in FEW}},
        singles=singles(case),
        recon=recon,
        bugaboo=bugaboo_tables.measure(case),
        falcon=falcon_tables.measure(case),
        variables=_variables(case) if case.bug.type == "multi-variable" else {},
    )


def _shown(case: Case) -> Placed | None:
    """The joined ranking exactly as the hunt showed it."""
    return place(case, [finding.points for finding in case.shown.findings])


def _with_few(case: Case, failing: int) -> Placed | None:
    return place(case, [finding.points for finding in case.findings(DEFAULT, failing)])


def _variables(case: Case) -> dict[str, Named]:
    """Where the joined ranking and Recon name the variables of the cause."""
    lists = {DEFAULT: case.shown.findings, "recon": case.findings("recon", ALL)}
    matching = {method: _matching(case, findings) for method, findings in lists.items()}
    first_match = next((finding for finding in matching.values() if finding), None)
    points = first_match.points if first_match else ()
    true = set(_whole(point.variable for point in points if case.true_points(point)))
    found = {}
    for method, findings in lists.items():
        first = matching[method]
        headlines = [_whole(finding.variables) for finding in findings]
        at_points = [_whole(point.variable for point in one.points) for one in findings]
        found[method] = Named(
            headline=_whole(first.variables) if first else (),
            headline_at=_first_with(true, headlines),
            points_at=_first_with(true, at_points),
        )
    return found


def _matching(case: Case, findings: Sequence[Finding]) -> Finding | None:
    placed = place(case, [finding.points for finding in findings])
    return findings[placed.rank - 1] if placed else None


def _first_with(wanted: set[str], lists: Sequence[tuple[str, ...]]) -> int | None:
    ranks = (rank for rank, names in enumerate(lists, 1) if wanted and wanted <= set(names))
    return next(ranks, None)


def _whole(variables: Iterable[str]) -> tuple[str, ...]:
    """The variables without their elements: of `table[name]` the table."""
    return tuple(dict.fromkeys(name.partition("[")[0] for name in variables))


def by_object(bug: Bug, seed: int) -> ObjectDraw:
    """Bugaboo on runs in which whole objects communicate, as whole cache lines do (6.2)."""
    options = ("--seed", str(seed), "--switch", bug.switch, *ONE_BY_ONE)
    try:
        with hunted(bug.folder, bug.command, "--granularity", "object", *options) as done:
            found = [bugaboo_tables.of_trial(case) for case in cases(bug, seed, done) if case]
    except RuntimeError:
        found = []
    return ObjectDraw(bug.name, seed, *(found[0] if found else (None, None)))


def twin(bug: Bug, switch: str, runs: int) -> Twin:
    """Hunts of a bug's repaired twin: nothing may fail, so nothing may be found."""
    begin = time.perf_counter()
    options = ("--switch", switch, "--max-runs", str(runs), *ONE_BY_ONE)
    try:
        with hunted(bug.folder, bug.fixed, *options) as done:
            report = done.report
    except RuntimeError as error:
        return Twin(bug.name, switch, 0, 0, 0, time.perf_counter() - begin, str(error))
    findings = sum(len(failure.findings) for failure in report.failures)
    failing = report.runs.fail + report.runs.hang
    seconds = time.perf_counter() - begin
    return Twin(bug.name, switch, report.runs.total, failing, findings, seconds)
