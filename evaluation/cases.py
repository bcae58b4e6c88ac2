# SPDX-License-Identifier: Apache-2.0
"""A case: the runs of one failure and the cause that is known to be behind it.

Answers of analyses name points by index; here they become the points that the judge compares with
the truth, exactly as the report would show them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from evaluation.draws import sample
from evaluation.results import Placed
from evaluation.truth import Bug, Cause, Verdict, judge, matching
from unsnarl.analyses.answer import Answer
from unsnarl.analyses.methods import rank_with
from unsnarl.analyses.stuck import Stuck, common_edges, stuck_answer
from unsnarl.campaigns.comparisons import Compared
from unsnarl.model.evidence import Comparison
from unsnarl.model.report import (
    FailureReport,
    Finding,
    FindingPoint,
    Instrumented,
    Region,
    RunCounts,
)
from unsnarl.reports.build import build_report
from unsnarl.reports.facts import CampaignFacts, FailingRun, SignatureFacts
from unsnarl.runfile import Interner

Points = tuple[FindingPoint, ...]


def unnamed_point(
    interner: Interner, index: int, region: Region = "body", role: int = 1, time: float = 0.0
) -> FindingPoint:
    """A point as a finding has it, without names."""
    point = interner.point(index)
    site = point.site
    return FindingPoint(
        file=site.file,
        line=site.line,
        function=site.function,
        thread=str(role),
        role=role,
        op=point.op.word,
        variable=site.variable,
        region=region,
        confidence=1.0,
        time=time,
    )


@dataclass(frozen=True, eq=False)
class Case:
    """One failure of one hunt.

    Attributes:
        shown: The hunt's own report of the failure.
        root: The folder that was hunted in.
    """

    bug: Bug
    seed: int
    cause: Cause
    shown: FailureReport
    compared: Compared
    interner: Interner
    root: Path

    @property
    def comparison(self) -> Comparison:
        """All runs of the failure against the passing ones."""
        return self.compared.comparison

    def findings(self, method: str, failing: int) -> tuple[Finding, ...]:
        """What the report of a method shows, with only so many of the failing runs."""
        if (method, failing) not in self._findings:
            whole = self.comparison
            chosen = sample(failing, len(whole.failing), self.bug.name, self.seed, failing)
            few = Comparison(tuple(whole.failing[at] for at in chosen), whole.passing, whole.points)
            found = self._reported(method, rank_with(method, few), chosen)
            self._findings[method, failing] = found
        return self._findings[method, failing]

    @cached_property
    def _findings(self) -> dict[tuple[str, int], tuple[Finding, ...]]:
        return {}

    @cached_property
    def _true(self) -> dict[int, tuple[int, ...]]:
        return {}

    def true(self, point: int) -> tuple[int, ...]:
        """Which points of the cause the point of this index is."""
        if point not in self._true:
            self._true[point] = matching(self.cause, self.point(point), self.bug.folder)
        return self._true[point]

    def is_bug_site(self, site: int) -> bool:
        """Whether a point of the cause is at the site of this index."""
        return site in self._bug_sites

    @cached_property
    def _bug_sites(self) -> frozenset[int]:
        sites = self.comparison.points.site.tolist()
        return frozenset(site for point, site in enumerate(sites) if self.true(point))

    def point(
        self, index: int, region: Region = "body", role: int = 1, time: float = 0.0
    ) -> FindingPoint:
        """A point as a finding has it, without names."""
        return unnamed_point(self.interner, index, region, role, time)

    def points_of(self, answer: Answer) -> Points:
        """The points of a single method's answer."""
        return tuple(
            self.point(line.point, line.region, line.role, line.time) for line in answer.lines
        )

    def true_points(self, point: FindingPoint) -> tuple[int, ...]:
        """Which points of the cause a finding's point is."""
        return matching(self.cause, point, self.bug.folder)

    def judge(self, points: Sequence[FindingPoint], part: Sequence[int] | None = None) -> Verdict:
        """How well points match the cause, or a part of it given by indexes."""
        wanted = self.cause.points if part is None else [self.cause.points[at] for at in part]
        return judge(Cause(self.cause.signature, tuple(wanted)), points, self.bug.folder)

    def _reported(
        self, method: str, answers: Sequence[Answer], chosen: Sequence[int]
    ) -> tuple[Finding, ...]:
        """As the command line does it: with names, and with the cycle of a deadlock first."""
        runs = [self.compared.runs[at] for at in chosen]
        failing = [FailingRun.of(run, self.interner) for run in runs]
        answers = [*self._stuck(method, failing), *answers]
        best = answers[0].runs if answers else range(len(runs))
        facts = SignatureFacts(
            signature=self.compared.signature,
            kind=self.shown.kind,
            switch=self.compared.switch,
            latent=False,
            count=len(runs),
            rate=self.shown.rate,
            failing=failing,
            passing=len(self.comparison.passing),
            findings=answers,
            method=method,
            exemplar=min(best, key=lambda at: (len(runs[at].schedule), at), default=0),
        )
        nothing = RunCounts(0, 0, 0, 0)
        campaign = CampaignFacts("", (), 0.0, nothing, Instrumented(0, 0, 0, 0), (), [facts])
        return build_report(campaign, self.interner, self.root).failures[0].findings

    def _stuck(self, method: str, failing: Sequence[FailingRun]) -> list[Answer]:
        ends = [Stuck(run.graph, run.waits) for run in failing]
        graphs = [run.graph for run in self.comparison.passing]
        passing = len(graphs), self.compared.stood_still
        common = common_edges(graphs)
        found = stuck_answer(ends, self.interner.point, method, *passing, common=common)
        return [found] if found else []


def place(case: Case, lists: Iterable[Sequence[FindingPoint]]) -> Placed | None:
    """The first of some lists of points that matches the cause, by the strict criterion."""
    for rank, points in enumerate(lists, 1):
        verdict = case.judge(points)
        if verdict.matches and verdict.concise:
            return Placed(rank, verdict.points, verdict.needed)
    return None


def rank_of(placed: Placed | None) -> int | None:
    """Its rank, if it has one."""
    return placed.rank if placed else None
