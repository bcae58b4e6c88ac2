# SPDX-License-Identifier: Apache-2.0
"""What the tools answer: a few fields to decide by, and the text that a person would read."""

from __future__ import annotations

import io
from typing import Any

from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_OK
from unsnarl.model.report import NumberedFinding, Report, numbered
from unsnarl.reports.render import terminal
from unsnarl.reports.replay_text import hunt_statement, remarks, statement
from unsnarl.workflows.pair import PairArm, PairResult
from unsnarl.workflows.replay import ReplayResult
from unsnarl.workflows.verify import VerifyResult

Answer = dict[str, Any]
COLUMNS = 100
HUNTED = {EXIT_OK: "nothing failed", EXIT_FAILURE_FOUND: "failure found"}
VERIFIED = {EXIT_OK: "fixed", EXIT_FAILURE_FOUND: "not fixed"}
INCONCLUSIVE = "inconclusive"


def hunted(report: Report, code: int) -> Answer:
    """Of a hunt."""
    return {
        "verdict": HUNTED.get(code, INCONCLUSIVE),
        "campaign": report.campaign,
        "runs": report.runs.total,
        "findings": findings(report),
        "warnings": [f"{one.message} [{one.slug}]" for one in report.warnings],
        "text": text(report),
    }


def findings(report: Report) -> list[Answer]:
    """One row each, the best first."""
    return [
        {
            "id": one.finding.id,
            "number": one.number,
            "status": one.finding.status,
            "summary": one.finding.summary,
            "failure": one.failure.signature,
            "lines": list(dict.fromkeys(f"{p.file}:{p.line}" for p in one.finding.points)),
            "patch": bool(one.finding.patch and one.finding.patch.works),
        }
        for one in numbered(report)
    ]


def text(report: Report) -> str:
    """A report as `unsnarl hunt` prints it."""
    out = io.StringIO()
    terminal.print_report(report, terminal.make_console(out, COLUMNS))
    return out.getvalue()


def shown(report: Report, chosen: NumberedFinding) -> Answer:
    """Of one finding."""
    out = io.StringIO()
    terminal.print_finding(report, chosen, terminal.make_console(out, COLUMNS))
    (row,) = [one for one in findings(report) if one["number"] == chosen.number]
    patch = chosen.finding.patch
    return row | {"text": out.getvalue(), "diff": patch.diff if patch and patch.works else ""}


def paired(result: PairResult, forbidden: bool) -> Answer:
    """Of an order that was forced, or forbidden."""
    first, second = result.first, result.second
    if forbidden:
        order = f"{second} before {first} is forbidden: threads wait there for {first}"
    else:
        order = f"{first} before {second} is forced"
    return {
        "order": order,
        "enforced": _arm(result.enforced),
        "free": _arm(result.free),
        "text": f"{order}: {result.enforced.failed} of {result.enforced.runs} runs fail "
        f"(the order was kept in {result.enforced.kept}); "
        f"without, {result.free.failed} of {result.free.runs}",
    }


def _arm(arm: PairArm) -> Answer:
    return {
        "runs": arm.runs,
        "failed": arm.failed,
        "order_kept": arm.kept,
        "failures": arm.signatures,
    }


def replayed(result: ReplayResult) -> Answer:
    """Of replays."""
    done = result.replayed
    return {
        "fails": result.exit_code == EXIT_FAILURE_FOUND,
        "failed": done.failed,
        "replays": done.times,
        "remarks": remarks(done),
        "text": result.text,
    }


def verified(result: VerifyResult) -> Answer:
    """Of a verification: "fixed" only if the proof was replayed and a fresh hunt found nothing."""
    proof = [f"{one.signature}: {statement(one)}" for one in result.verified]
    hunt = hunt_statement(result.hunted)
    return {
        "verdict": VERIFIED.get(result.exit_code, INCONCLUSIVE),
        "proof": proof,
        "fresh_hunt": hunt,
        "warnings": [f"{one.message} [{one.slug}]" for one in result.warnings],
        "text": "\n".join([*proof, "fresh hunt: " + "; ".join(hunt)]),
    }
