# SPDX-License-Identifier: Apache-2.0
"""Experiments about one finding of a stored campaign, in a new process of its target."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from unsnarl import config
from unsnarl.campaigns import store as stores
from unsnarl.campaigns.captures import Captures
from unsnarl.campaigns.signature_split import stored_split
from unsnarl.campaigns.store import Store
from unsnarl.errors import UnsnarlError, UsageError
from unsnarl.execution.budget import Budget
from unsnarl.execution.runner import started
from unsnarl.experiments.prove import Kind, Prover
from unsnarl.model.report import Finding, Notice, NumberedFinding, Report, numbered
from unsnarl.replay.replayer import keep_schedules
from unsnarl.reports import finding_ids
from unsnarl.workflows import campaign_report
from unsnarl.workflows.campaign_report import Request, code_changed
from unsnarl.workflows.show import show
from unsnarl.workflows.unfinished import interruption, unfinished_notices

SCRATCH = "experiment"
# What a test of a finding says of it.
VERDICT = (
    "status", "why", "forced", "forbidden", "control", "p_value", "windows", "left_out", "calls",
    "undone",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A report of one finding alone, with what the experiment says of it.

    Attributes:
        warnings: What the time, an interrupt or an error cut off.
        ends_with: To be raised once the result has been shown, if somebody wanted it early.
    """

    report: Report
    chosen: NumberedFinding
    warnings: tuple[Notice, ...] = ()
    ends_with: UnsnarlError | None = None


def confirm(finding: str, campaign: str = "", seconds: float = math.inf) -> Experiment:
    """Force a finding's order, forbid it, and hold threads elsewhere as a control.

    The finding's status is the verdict. `seconds` is the time for all of it, plus one run.
    """
    return _experiment(finding, campaign, "confirm", Budget(seconds))


def minimise(finding: str, campaign: str = "", seconds: float = math.inf) -> Experiment:
    """Cut a failing run of a finding down to the few orders that make the failure certain.

    The finding has no orders if no small set of them suffices. `seconds` as in `confirm`.
    """
    return _experiment(finding, campaign, "minimise", Budget(seconds))


def _experiment(finding: str, campaign: str, kind: Kind, budget: Budget) -> Experiment:
    stored, chosen = show(finding, campaign)
    store = Store.open(stores.find(Path.cwd(), campaign))
    try:
        if not chosen.finding.id:
            raise _unnamed(store.name)
        # One of several causes is confirmed only together with the others: all are looked for.
        is_alone = not chosen.finding.given
        with _prover(store, kind, budget, findings=1 if is_alone else None) as prover:
            request = Request(
                prover=prover,
                signature=chosen.failure.signature,
                finding=chosen.finding.id if is_alone else "",
                budget=budget,
            )
            figures = campaign_report.stored_figures(store, campaign_report.stored_tally(store))
            captures = Captures(store)
            proven = campaign_report.make_proven_report(store, figures, captures, request)
            report = proven.report
            # What was found out must not be lost: verify, keep and export go by it.
            keep_schedules(store, proven.constraints, forced=proven.forced)
        found = [one for one in numbered(report) if _is_same(one, chosen)]
        if not found:
            # The same runs and the same ranking, but the source lines have another text.
            raise code_changed(store.name)
        if kind == "confirm":
            _keep_verdict(store, stored, chosen.finding, found[0].finding)
        return Experiment(
            report,
            found[0],
            tuple(unfinished_notices(budget.unfinished)),
            interruption(budget, "before the experiment was complete"),
        )
    finally:
        store.close()


def _keep_verdict(store: Store, stored: Report, old: Finding, tested: Finding) -> None:
    """The stored report has what the latest experiment says; an experiment cut off says nothing.

    Findings stay in their order: their numbers are in use.
    """
    if tested.status == "untested":
        return
    verdict = {name: getattr(tested, name) for name in VERDICT}
    new = replace(old, **verdict)
    failures = tuple(
        replace(one, findings=tuple(new if each is old else each for each in one.findings))
        for one in stored.failures
    )
    campaign_report.save_report(store, replace(stored, failures=failures))


def _is_same(one: NumberedFinding, chosen: NumberedFinding) -> bool:
    """By their digits, of which a longer report needs more."""
    own, other = (finding_ids.digits(some.finding.id) for some in (one, chosen))
    return own.startswith(other) or other.startswith(own)


def _unnamed(campaign: str) -> UsageError:
    return UsageError(
        "no-finding",
        f"the report of campaign {campaign} is from a version whose findings had no ids",
        "hunt again",
    )


@contextmanager
def _prover(store: Store, kind: Kind, budget: Budget, *, findings: int | None) -> Iterator[Prover]:
    """With a new process of the target, whose code must be that of the stored runs.

    It tests so many findings, or as many as the hunt did.
    """
    description = store.description
    settings = config.override(description.options, {})
    found = store.target()
    folder = store.folder / SCRATCH
    with started(found, folder, settings, scratch=True) as runner:
        if runner.engine.codes.read_bytes() != store.codes.read_bytes():
            raise code_changed(store.name)
        runner.distinguish(stored_split(store.folder))
        kinds: tuple[Kind, ...] = (kind,) if findings else ("confirm", kind)
        count = findings or settings.confirm
        yield Prover(runner, folder, settings.timeout, findings=count, kinds=kinds, budget=budget)
