# SPDX-License-Identifier: Apache-2.0
"""Fix: a finding's fix as a patch of the source that was run and hunted."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from unsnarl import config
from unsnarl.campaigns import store as stores
from unsnarl.campaigns.store import Store
from unsnarl.config import Settings
from unsnarl.errors import UnsnarlError, UsageError
from unsnarl.execution.budget import Budget, OutOfTimeError
from unsnarl.execution.disk import storing
from unsnarl.execution.runner import Runner
from unsnarl.experiments.fix import FixSearch, TriedFix
from unsnarl.experiments.named_fix import named
from unsnarl.experiments.prove import FIXING, BeginFix
from unsnarl.model.report import (
    FailureReport,
    Finding,
    Fix,
    Notice,
    NumberedFinding,
    Patch,
    PatchTry,
    Report,
    numbered,
)
from unsnarl.model.run import Switch
from unsnarl.model.sources import Sources
from unsnarl.patches import conflict as conflicts
from unsnarl.patches.joint import joined
from unsnarl.patches.native import conflict as c_conflicts
from unsnarl.patches.native.drafts import CPatchSearch
from unsnarl.patches.native.rebuild import RebuildError
from unsnarl.patches.search import DraftSearch, FoundPatch, PatchSearch, Try
from unsnarl.patches.source import TextFile
from unsnarl.patches.trying import PatchRunner
from unsnarl.reports.fixes import with_texts
from unsnarl.workflows.campaign_report import code_changed, save_report
from unsnarl.workflows.progress import Display, OnProgress, ignore
from unsnarl.workflows.show import show
from unsnarl.workflows.unfinished import interruption, unfinished_notices

# Where the texts of a patch are kept, by the finding's id.
# Seconds that `unsnarl fix` looks for a patch.
FIX_SECONDS = 120.0
FOLDER = "patches"
INDEX = "files.json"


class KeptFile(msgspec.Struct, frozen=True):
    """A file of a patch: its path, what it was when it was hunted, and its new text."""

    path: str
    before: str
    after: str


@dataclasses.dataclass(frozen=True)
class FixedFinding:
    """A finding and its patch; `applied` are the files that were written.

    `warnings` name what was cut off; `ends_with` is to be raised once the patch has been shown.
    """

    report: Report
    chosen: NumberedFinding
    patch: Patch | None
    applied: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()
    ends_with: UnsnarlError | None = None


def fix(
    finding: str = "1",
    campaign: str = "",
    *,
    seconds: float = FIX_SECONDS,
    on_progress: OnProgress = ignore,
) -> FixedFinding:
    """The patch of a finding: the one that its hunt made, else one that is looked for now."""
    report, chosen = show(finding, campaign)
    if chosen.finding.patch is not None and chosen.finding.patch.works:
        return FixedFinding(report, chosen, chosen.finding.patch)
    store = Store.open(stores.find(Path.cwd(), campaign))
    try:
        settings = config.override(store.description.options, {})
        display = Display(on_progress)
        budget = Budget(seconds, on_change=display.change)
        try:
            with budget.phase("patch", "looking for a patch"):
                found = search(store, settings, chosen, budget)
        except OutOfTimeError:
            budget.note("patch", "looking for a patch", "time")
            found = None
        except KeyboardInterrupt as raised:
            budget.interrupt(raised)
            budget.note("patch", "looking for a patch", "interrupted")
            found = None
        report = with_patch(report, chosen, found)
        save_report(store, report)
        changed = msgspec.structs.replace(chosen.finding, patch=found)
        return FixedFinding(
            report,
            chosen._replace(finding=changed),
            found,
            warnings=tuple(unfinished_notices(budget.unfinished)),
            ends_with=interruption(budget, "before all patches were tried"),
        )
    finally:
        store.close()


def with_patch(report: Report, chosen: NumberedFinding, patch: Patch | None) -> Report:
    """The report with this patch of one of its findings, or of all causes of the failure."""
    return _with_findings(report, chosen, _repaired_with(chosen), patch=patch)


def _with_findings(
    report: Report, chosen: NumberedFinding, changing: Sequence[Finding], **fields: Any
) -> Report:
    """The report with other fields of some findings of one failure."""

    def changed(failure: FailureReport) -> FailureReport:
        findings = tuple(
            msgspec.structs.replace(one, **fields) if one in changing else one
            for one in failure.findings
        )
        return msgspec.structs.replace(failure, findings=findings)

    failures = tuple(
        changed(failure) if failure is chosen.failure else failure for failure in report.failures
    )
    return msgspec.structs.replace(report, failures=failures)


def _repaired_with(chosen: NumberedFinding) -> list[Finding]:
    """What one patch has to repair: where a failure has several causes, all of them."""
    finding, failure = chosen.finding, chosen.failure
    if finding.id not in failure.causes:
        return [finding]
    return [one for one in failure.findings if one.id in failure.causes]


@dataclasses.dataclass(frozen=True)
class _Certified:
    """A patch of one failure of a campaign, which may be that of another one, too."""

    found: FoundPatch
    sources: Mapping[str, TextFile]
    switch: Switch


def search(
    store: Store,
    settings: Settings,
    chosen: NumberedFinding,
    budget: Budget,
    *,
    runner: Runner | None = None,
    certified: list[_Certified] | None = None,
) -> Patch | None:
    """Look for a patch of a finding, and keep its texts; None if nothing can be tried.

    `runner` has a process of the original program, if there is one. What was `certified` for other
    failures is tried first; what is found joins it.
    """
    causes, failure = _repaired_with(chosen), chosen.failure
    finding = joined(causes) if len(causes) > 1 else chosen.finding
    switch: Switch = "free" if failure.switch == "free" else "gil"
    patches = PatchRunner(store, settings, failure.signature, switch, budget, original=runner)
    runs = patches.wanted()
    tries = _tries(store, failure, finding, lambda draft: patches.run(draft, sources, runs), budget)
    sources = tries.sources
    patches.check(sources)
    other = _of_another(
        patches, [one for one in certified or () if one.switch == switch], runs, budget
    )
    found, sources = (other.found, other.sources) if other else (tries.find(), sources)
    if found is None:
        return None
    for cause in causes if found.patch.works else ():
        _keep(store, cause, found, sources)
    if certified is not None and other is None and found.patch.works:
        certified.append(_Certified(found, sources, switch))
    return found.patch


def _of_another(
    patches: PatchRunner, certified: Sequence[_Certified], runs: int, budget: Budget
) -> _Certified | None:
    """The first of these that no schedule of this failure defeats either."""
    for one in certified if budget.may_begin else ():
        patch = one.found.patch
        try:
            came = patches.run_on_others(one.found.draft, one.sources, runs, patch.checks)
        except OutOfTimeError:
            break
        if came is not None and came.works:
            tries = (PatchTry(patch.says, came.checks, ""),)
            patch = msgspec.structs.replace(patch, checks=came.checks, tried=1, tries=tries)
            return dataclasses.replace(one, found=FoundPatch(patch, one.found.draft))
    return None


def _tries(
    store: Store, failure: FailureReport, finding: Finding, attempt: Try, budget: Budget
) -> DraftSearch:
    """The search in the language of the program."""
    root = Path(store.description.root)
    if store.target().kind == "program":
        return CPatchSearch(c_conflicts.load(finding, root), attempt, budget)
    return PatchSearch(conflicts.load(finding, root, failure.message), attempt, budget)


def _keep(
    store: Store, finding: Finding, found: FoundPatch, sources: Mapping[str, TextFile]
) -> None:
    folder = store.folder / FOLDER / finding.id
    kept = []
    with storing(store.folder):
        folder.mkdir(parents=True, exist_ok=True)
        for index, (name, text) in enumerate(sorted(found.draft.texts.items())):
            source = sources[name]
            after = f"{index}{source.path.suffix}"
            (folder / after).write_bytes(source.encoded(text))
            kept.append(KeptFile(str(source.path), source.digest, after))
        (folder / INDEX).write_bytes(msgspec.json.encode(kept))


def apply(fixed: FixedFinding, campaign: str = "") -> FixedFinding:
    """Write the patched files, if all of them are still what was hunted."""
    if fixed.patch is None or not fixed.patch.works:
        raise UsageError("no-patch", f"finding {fixed.chosen.number} has no patch to apply")
    folder = stores.find(Path.cwd(), campaign) / FOLDER / fixed.chosen.finding.id
    try:
        kept = msgspec.json.decode((folder / INDEX).read_bytes(), type=list[KeptFile])
    except (OSError, msgspec.MsgspecError):
        raise UsageError(
            "no-patch", f"the patch's files are not in {folder} any more", "hunt again"
        ) from None
    for one in kept:
        if not _is_unchanged(one):
            raise code_changed(fixed.report.campaign)
    for one in kept:
        _write(Path(one.path).resolve(), (folder / one.after).read_bytes())
    return dataclasses.replace(fixed, applied=tuple(one.path for one in kept))


def _write(path: Path, data: bytes) -> None:
    """In one step, and as a file of its own: other links to the old one are not meant."""
    new = path.with_name(f".{path.name}.patched")
    with storing(path.parent):
        new.write_bytes(data)
        shutil.copymode(path, new)
        new.replace(path)


def _is_unchanged(kept: KeptFile) -> bool:
    path = Path(kept.path)
    return path.is_file() and TextFile(path, path.name).digest == kept.before


def patched(
    store: Store, settings: Settings, report: Report, budget: Budget, runner: Runner | None = None
) -> Report:
    """The report of a hunt with patches of the first finding of each failure, if confirmed."""
    certified: list[_Certified] = []

    def work(chosen: NumberedFinding) -> Patch | None:
        return search(store, settings, chosen, budget, runner=runner, certified=certified)

    for number in [one.number for one in numbered(report) if _is_wanted(one)]:
        chosen = numbered(report)[number - 1]
        patch = budget.part(
            "patch",
            f"looking for a patch of finding {number}",
            partial(_search_or_say, chosen, budget, work),
            None,
        )
        report = with_patch(report, chosen, patch)
    return report


def _search_or_say(
    chosen: NumberedFinding, budget: Budget, work: Callable[[NumberedFinding], Patch | None]
) -> Patch | None:
    """A program that cannot be built once more has no patch, and the report says why."""
    try:
        return work(chosen)
    except RebuildError as error:
        budget.note("patch", f"a patch of finding {chosen.number}", "unsupported", error.message)
        return None


def screened(
    store: Store, report: Report, repairs: Mapping[str, BeginFix], budget: Budget
) -> tuple[Report, dict[str, FixSearch]]:
    """The report with a simulated fix of each failure, and what certifies it: few need that."""
    begun: dict[str, FixSearch] = {}
    for number in [one.number for one in numbered(report)]:
        chosen = numbered(report)[number - 1]
        failure, finding = chosen.failure, chosen.finding
        if failure.signature not in repairs or failure.findings[0] is not finding:
            continue
        work = partial(_screened, repairs[failure.signature])
        nothing: tuple[TriedFix | None, FixSearch | None] = (None, None)
        found, fixes = budget.part("fix", FIXING, work, nothing)
        if found is not None:
            fix = with_texts(named(found), Sources(Path(store.description.root)))
            report = _with_findings(report, chosen, [finding], fix=fix)
        if found is not None and fixes is not None and found.works:
            begun[failure.signature] = fixes
    return report, begun


def _screened(begin: BeginFix) -> tuple[TriedFix | None, FixSearch | None]:
    search = begin()
    return (search.screened(), search) if search is not None else (None, None)


def certified(
    store: Store, report: Report, screened: Mapping[str, FixSearch], budget: Budget
) -> Report:
    """The report with a certified fix of each failure that has no patch: a patch was run itself."""
    for number in [one.number for one in numbered(report)]:
        chosen = numbered(report)[number - 1]
        finding = chosen.finding
        fixes = screened.get(chosen.failure.signature)
        is_first = chosen.failure.findings[0] is finding
        if fixes is None or not is_first or (finding.patch is not None and finding.patch.works):
            continue
        found = budget.part("fix", "certifying the fix", fixes.certified, None)
        fix = with_texts(named(found), Sources(Path(store.description.root))) if found else None
        report = _with_findings(report, chosen, [finding], fix=fix or _untried(finding.fix))
    return report


def _untried(fix: Fix | None) -> Fix | None:
    """What was only screened is not called a fix."""
    return msgspec.structs.replace(fix, runs=0) if fix is not None else None


def _is_wanted(one: NumberedFinding) -> bool:
    """A patch of what is not the cause may survive by luck; `unsnarl fix` still tries it."""
    first = one.failure.findings[0] is one.finding
    return first and one.finding.status == "confirmed" and one.failure.kind != "hang"
