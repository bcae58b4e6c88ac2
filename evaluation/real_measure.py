# SPDX-License-Identifier: Apache-2.0
"""One real bug measured: hunted, replayed, verified with and without the fix, fixed and hunted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from evaluation.draws import copy_of
from evaluation.kept_reports import keep
from evaluation.real_cases import RealCase, SourceOf, named, sources_under
from evaluation.real_environments import NotInstalledError, install, put
from evaluation.real_forms import as_script
from evaluation.real_results import (
    TIME,
    Applied,
    Checked,
    Costs,
    Ended,
    FixedHunt,
    Measured,
    SimulatedFix,
)
from unsnarl.errors import EXIT_OK
from unsnarl.model.report import FailureReport, Finding, Fix, Report
from unsnarl.reports.steps import brief_steps

OUTER = 3 * TIME  # seconds after which any command is stopped
LAST_LINES = 12  # of the output of a command that broke
APPLIED_SECONDS = OUTER - 10  # for all runs of a patched program
APPLIED_SEED = 100  # a patched program is hunted with others than it was found with


@dataclass(frozen=True)
class Budget:
    """What is spent on one case; `only_hunt` leaves the rest out.

    Attributes:
        time: Seconds for the hunt.
        verify: Seconds for a `verify`, from its start to its answer.
        fixed: Seconds for the hunt of the fixed release.
        processes: So many commands replay the failure ...
        times: ... each so many times.
        runs: So many runs by pytest and by a script are compared; 0 for none.
        applied: So many runs of the program with the patch in its files; 0 for none.
        options: More options of the hunt.
        later: More options of each `verify` and of the hunt of the fixed release.
        kept: Where the hunt's report is kept, with the sources that it names.
    """

    time: int = TIME
    verify: int = 30
    fixed: int = 30
    processes: int = 4
    times: int = 5
    runs: int = 100
    applied: int = 0
    options: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    only_hunt: bool = False
    kept: Path | None = None


WHOLE = Budget()


@dataclass(frozen=True)
class Workplace:
    """A folder in which a user works on a case, with an environment of its own.

    `settings` are further variables of the shell: `UNSNARL_...`.
    """

    case: RealCase
    folder: Path
    environment: Path
    packages: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, limit: float = OUTER) -> Ended:
        """Run an unsnarl command here; what it prints is needed only if it breaks."""
        begin = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "unsnarl", *arguments],
            cwd=self.folder,
            env=self.variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=limit)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            code = None
        ended = Ended(time.monotonic() - begin, code)
        if code is not None and not ended.broke:
            return ended
        lines = output.strip().splitlines()[-LAST_LINES:]
        return msgspec.structs.replace(ended, output="\n".join(lines))

    def variables(self) -> dict[str, str]:
        """A shell in which this environment is activated, whatever was set in ours."""
        foreign = ("PYTHON", "UNSNARL_", "VIRTUAL_ENV", "PYTEST_")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
        path = os.pathsep.join((str(self.environment / "bin"), os.environ.get("PATH", "")))
        return {**kept, "PATH": path, "VIRTUAL_ENV": str(self.environment), **self.settings}

    def answer(self, *arguments: str, limit: float = OUTER) -> tuple[Ended, dict[str, Any] | None]:
        """Run a command with `--json`; its answer, if it gave one."""
        file = self.folder.parent / "answer.json"
        file.unlink(missing_ok=True)
        verb, *rest = arguments
        ended = self.run(verb, f"--json={file}", *rest, limit=limit)
        return ended, msgspec.json.decode(file.read_bytes()) if file.exists() else None

    def hunt(self, *options: str, command: Sequence[str] = ()) -> tuple[Ended, Report | None]:
        """Hunt here as a user would, the case's own command or another one."""
        included = [word for module in self.case.include for word in ("--include", module)]
        words = (*options, *included, "--", *(command or self.case.command))
        ended, answer = self.answer("hunt", *words)
        return ended, msgspec.convert(answer, Report) if answer else None

    def upgrade(self, environment: Path) -> None:
        """Put the fixed release, or the corrected files, in place of what is here."""
        put(environment, self.environment)
        if self.case.twin:
            # Without their times: a file of the same size and time would be taken from its cache.
            shutil.copytree(
                self.case.folder / self.case.twin,
                self.folder,
                copy_function=shutil.copyfile,
                dirs_exist_ok=True,
            )

    @property
    def source(self) -> SourceOf:
        """The lines of the program and of its packages."""
        return sources_under((self.folder, self.packages))


@contextmanager
def workplace(case: RealCase, environment: Path) -> Iterator[Workplace]:
    """A copy of the case with the release that has the bug."""

    def without_twin(folder: Path) -> None:
        if case.twin:
            shutil.rmtree(folder / case.twin)

    with copy_of(case.folder, without_twin) as folder:
        target = folder.parent / "environment"
        yield Workplace(case, folder, target, put(environment, target))


def measure(case: RealCase, seed: int, budget: Budget = WHOLE) -> Measured:
    """Everything about one case; a step that breaks costs itself."""
    try:
        buggy, fixed = install(case)
    except NotInstalledError as error:
        return _measured(case, seed, Ended(0.0, None), complaint=f"not installed: {error}")
    load = os.getloadavg()[0]
    with workplace(case, buggy) as here:
        options = ("--time", str(budget.time), "--seed", str(seed), *budget.options)
        ended, report = here.hunt(*options)
        row = _judged(here, _measured(case, seed, ended, load=load), report)
        if report is not None and budget.kept is not None:
            keep(report, here.folder, budget.kept)
        if budget.only_hunt:
            applied = _apply(here, seed, budget.applied) if row.patch and budget.applied else None
            return msgspec.structs.replace(row, applied=applied)
        later: dict[str, Any] = {}
        failed = report if report and report.failures else None
        if failed:
            later["replays"] = budget.processes * budget.times
            later["replayed"] = _replay(here, failed.failures[0].run, budget)
            later["same"] = _verify(here, failed.campaign, budget)
        # Hunts of their own: before, `replay` would have meant a run of the latest of them.
        later["costs"] = _costs(here, budget)
        here.upgrade(fixed)
        if failed:
            later["fixed"] = _verify(here, failed.campaign, budget)
        return msgspec.structs.replace(row, fixed_hunt=_hunt_fixed(here, seed, budget), **later)


def _measured(case: RealCase, seed: int, ended: Ended, **more: Any) -> Measured:
    return Measured(
        case=case.name,
        label=case.label,
        set=case.set,
        form=case.form,
        kind=case.kind,
        seed=seed,
        ended=ended,
        must=len(case.must),
        shapes=case.shapes,
        **more,
    )


def _judged(here: Workplace, row: Measured, report: Report | None) -> Measured:
    """What the hunt's answer says, compared with the truth."""
    if report is None:
        return row
    row = msgspec.structs.replace(
        row,
        runs=report.runs.total,
        failing=report.runs.fail + report.runs.hang,
        failures=len(report.failures),
        warnings=tuple(notice.slug for notice in report.warnings),
        timings=report.timings,
        early=report.seconds - report.explained if report.explained else 0.0,
        trials=report.trials,
    )
    return _first_failure(here, row, report.failures[0]) if report.failures else row


def _first_failure(here: Workplace, row: Measured, failure: FailureReport) -> Measured:
    row = msgspec.structs.replace(row, signature=failure.signature, latent=failure.latent)
    if not failure.findings:
        return row
    first = failure.findings[0]
    must, source = here.case.must, here.source
    shown = [(*one.points, *one.explanation) for one in failure.findings[:3]]
    both = shown[0]
    return msgspec.structs.replace(
        row,
        finding=f"{first.kind} on {', '.join(first.variables)}",
        status=first.status,
        named=named(must, both, source, callers=False),
        called=named(must, both, source, callers=True),
        explained=named(must, first.explanation, source, callers=False),
        in_three=max(named(must, one, source, callers=False) for one in shown),
        steps=len(brief_steps(first)),
        shape=first.shape,
        fix=_fix(first),
        **_patch(first),
    )


def _patch(first: Finding) -> dict[str, Any]:
    patch = first.patch
    if patch is None or not patch.works:
        return {}
    return {"patch": patch.kind, "patch_runs": patch.checks.runs}


def _apply(here: Workplace, seed: int, runs: int) -> Applied | None:
    """The patch written into the files, and what is there then hunted; it stays there."""
    ended, _ = here.answer("fix", "--apply", "1")
    if ended.code != EXIT_OK:
        return None
    wanted = str(runs)
    counts = ("--fail", wanted, "--pass", wanted, "--max-runs", wanted)
    # Without it the usual time of a hunt ends them early on a busy machine.
    limits = ("--no-confirm", *counts, "--time", str(APPLIED_SECONDS))
    _, report = here.hunt(*limits, "--seed", str(seed + APPLIED_SEED))
    if report is None:
        return None
    signatures = tuple(
        f"{one.signature} ({one.count} times{', latent' if one.latent else ''})"
        for one in report.failures
    )
    return Applied(report.runs.fail + report.runs.hang, report.runs.total, signatures)


def _fix(first: Finding) -> SimulatedFix | None:
    fix = first.fix
    return SimulatedFix(_words(fix), fix.fail, fix.deadlocks, fix.runs) if fix else None


def _words(fix: Fix) -> str:
    begin, end = (f"{Path(one.file).name}:{one.line}" for one in (fix.begin, fix.end))
    return f"{fix.kind} {begin} to {end}" + (f" under {fix.lock}" if fix.lock else "")


def _costs(here: Workplace, budget: Budget) -> Costs | None:
    """One test by pytest and by a script that calls it: the same runs, the same switches."""
    case = here.case
    script = as_script(here.folder / case.command[-1]) if case.form == "pytest" else None
    if script is None or not budget.runs:
        return None
    (here.folder / "as_script.py").write_text(script.text)
    test = f"{case.command[-1]}::{script.test}"
    commands = ("python", "-m", "pytest", test), ("python", "as_script.py")
    seconds = []
    for command in commands:
        wanted = str(budget.runs)
        options = ("--no-confirm", "--fail", wanted, "--pass", wanted, "--max-runs", wanted)
        _, report = here.hunt(*options, command=command)
        if report is None or not report.runs.total:
            return None
        seconds.append(report.timings.get("hunt", report.seconds) / report.runs.total)
    return Costs(*seconds)


def _replay(here: Workplace, run: str, budget: Budget) -> int:
    failed = 0
    for _ in range(budget.processes):
        _, answer = here.answer("replay", "--times", str(budget.times), run)
        failed += answer["failed"] if answer else 0
    return failed


def _verify(here: Workplace, campaign: str, budget: Budget) -> Checked:
    ended, answer = here.answer("verify", "--time", str(budget.verify), *budget.later, campaign)
    if answer is None:
        return Checked(ended)
    failures: Sequence[dict[str, Any]] = answer["failures"]
    return Checked(
        ended,
        verdicts=tuple(one["verdict"] for one in failures),
        statements=(*(one["statement"] for one in failures), *answer["hunt"]["statement"]),
    )


def _hunt_fixed(here: Workplace, seed: int, budget: Budget) -> FixedHunt:
    options = ("--time", str(budget.fixed), "--seed", str(seed), *budget.later)
    ended, report = here.hunt("--no-confirm", *options)
    failures = report.failures if report else ()
    alarms = [one.signature for one in failures if not one.latent]
    others = [one for one in alarms if any(part in one for part in here.case.other_bugs)]
    return FixedHunt(
        ended,
        runs=report.runs.total if report else 0,
        alarms=tuple(one for one in alarms if one not in others),
        latent=tuple(one.signature for one in failures if one.latent),
        others=tuple(others),
    )
