# SPDX-License-Identifier: Apache-2.0
"""Stress: drive a class from several threads; hunt the smallest program of calls that fails."""

from __future__ import annotations

import dataclasses
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from unsnarl import config
from unsnarl.campaigns.campaign import nothing_instrumented
from unsnarl.config import Settings
from unsnarl.errors import EXIT_INCONCLUSIVE, EXIT_OK, ToolError, UnsnarlError, UsageError
from unsnarl.execution import target
from unsnarl.execution.budget import Budget
from unsnarl.execution.runner import Runner, started
from unsnarl.execution.server import Ready
from unsnarl.model.report import Instrumented, Notice, Report, RunCounts, Stressed
from unsnarl.probes import call
from unsnarl.probes.python import driver
from unsnarl.stress import subject as subjects
from unsnarl.stress.oracle import Oracle
from unsnarl.stress.runs import Runs
from unsnarl.stress.subject import Subject
from unsnarl.stress.writing import HEADER, ProgramFile, variable_of
from unsnarl.workflows.hunt import HuntResult, hunt
from unsnarl.workflows.progress import OnProgress, RunProgress, ignore

if TYPE_CHECKING:
    from unsnarl.stress.search import ProgramSearch, Wrong

DRIVEN = f"{driver.__name__.rpartition('.')[0]}.driven:drive"
# Of the time for everything: what is left to the hunt of the program that was found.
HUNT_SHARE = 0.5
FEWEST_RUNS = 25  # fewer without a failure say nothing


def stress(
    spec: str,
    setup_file: str | None = None,
    output: str | None = None,
    flags: Mapping[str, Any] | None = None,
    *,
    on_progress: OnProgress = ignore,
    on_answer: Callable[[Report], None] = ignore,
) -> HuntResult:
    """Look for calls of a class whose results no serial order gives, and explain them.

    Args:
        spec: MODULE:CLASS, or FILE.py:CLASS.
        setup_file: A module with `make`, `calls`, `takes`, `state` or `check`.
        output: Where the failing program is written; `stress_NAME.py` by default.
        flags: Settings of a hunt.
        on_progress: Called after every program and by the hunt.
        on_answer: As of `hunt`.
    """
    check_hypothesis()
    cwd = Path.cwd()
    settings = config.load(config.find_root(cwd), os.environ, flags or {})
    subject = subjects.load(spec, setup_file, cwd)
    file = cwd / (output or f"stress_{variable_of(subject.name)}.py")
    _check_output(file)
    settings = _including(settings, subject, cwd)
    stressing = _Stressing(subject, settings, cwd, on_progress)
    text = stressing.search(file)
    if text is None:
        return stressing.nothing_found(spec)
    _write(file, text)
    found = stressing.hunted(file, on_answer)
    about = stressing.about(spec, str(os.path.relpath(file)))
    command = shlex.join(
        ["unsnarl", "stress", *(("--setup", setup_file) if setup_file else ()), spec]
    )
    warnings = (*found.report.warnings, *_narrow_patch(found.report, about.file, command))
    return dataclasses.replace(found, report=replace(found.report, stress=about, warnings=warnings))


def _narrow_patch(report: Report, file: str, command: str) -> Iterator[Notice]:
    """What a patch of a class is worth that only one program of its calls was run with."""
    shown = [one for failure in report.failures for one in failure.findings]
    if any(one.patch is not None and one.patch.works for one in shown):
        text = (
            f"the patch is only as wide as the calls of {file}, with which it was run; "
            f"apply it, then stress the class once more: {command}"
        )
        yield Notice("stress-narrow-patch", text)


def check_hypothesis() -> None:
    """Raise unless Hypothesis can be imported: it is an extra."""
    try:
        import hypothesis  # noqa: F401, PLC0415  only where it is installed
    except ModuleNotFoundError:
        raise ToolError(
            "hypothesis-missing",
            "Hypothesis, which makes the calls, is not installed",
            "pip install 'unsnarl[stress]'",
        ) from None


class _Stressing:
    """One search, and the hunt after it."""

    def __init__(
        self, subject: Subject, settings: Settings, cwd: Path, on_progress: OnProgress
    ) -> None:
        from unsnarl.stress.generation import DrawnCalls  # noqa: PLC0415  needs Hypothesis

        self._subject = subject
        self._settings = settings
        self._cwd = cwd
        self._on_progress = on_progress
        self._budget = Budget(settings.time)
        self._calls = DrawnCalls(subject)
        self._runs: Runs | None = None
        self._masked: frozenset[str] = frozenset()
        self._programs = 0
        self._seconds = 0.0
        self._ready = Ready()

    def search(self, file: Path) -> str | None:
        """The text of the file of a failing program; None if none was found."""
        command = (sys.executable, "-m", call.__name__, DRIVEN, self._subject.described())
        parsed = target.parse(command, self._cwd, force_python=self._settings.force_python)
        limited = dataclasses.replace(self._settings, time=self._settings.time * (1 - HUNT_SHARE))
        with (
            tempfile.TemporaryDirectory(prefix="unsnarl-", ignore_cleanup_errors=True) as folder,
            started(parsed, Path(folder), limited) as runner,
        ):
            if not runner.ready.modules:
                raise nothing_instrumented(parsed.root)
            self._ready = runner.ready
            self._runs = Runs(runner, Path(folder), limited, self._budget)
            oracle = Oracle(self._runs)
            search = self._made(runner, oracle, limited, is_free=parsed.python.is_free_threaded)
            wrong = search.run(lambda: self._show(search))
            self._masked, self._programs = oracle.masked, search.tried
            self._seconds = self._budget.spent
            self._check_masked(wrong)
            if wrong is None:
                return None
            serial = oracle.serial(wrong.program).comparable(wrong.outcome)
        written = ProgramFile(self._subject, wrong.program, wrong.outcome, serial, self._masked)
        return written.text(file.parent)

    def _made(
        self, runner: Runner, oracle: Oracle, limited: Settings, *, is_free: bool
    ) -> ProgramSearch:
        from unsnarl.stress.search import ProgramSearch  # noqa: PLC0415  needs Hypothesis

        assert self._runs is not None
        return ProgramSearch(
            self._calls, self._runs, oracle, limited, self._budget, is_free=is_free
        )

    def _check_masked(self, wrong: Wrong | None) -> None:
        names = {one.name for one in self._subject.methods} - set(self._calls.left_out)
        if wrong is None and names <= self._masked and not self._subject.has("check"):
            raise UnsnarlError(
                "stress-unrepeatable",
                f"{self._subject.name} cannot be judged: {_listed(self._masked)} gives something"
                " else whenever the same calls are made in the same serial order",
                "give an invariant in a setup file, check(object), or other methods to call",
                EXIT_INCONCLUSIVE,
            )

    def _show(self, search: ProgramSearch) -> None:
        assert self._runs is not None
        runs = self._runs.count
        doing = (
            f"{search.tried} programs of {self._subject.name}, {self._runs.serial} serial orders"
        )
        self._on_progress(RunProgress(runs, 0, runs, 0, 0, 0.0, doing, runs))

    def hunted(self, file: Path, on_answer: Callable[[Report], None]) -> HuntResult:
        """The report of a hunt of the program."""
        left = max(self._settings.time - self._budget.spent, self._settings.time * HUNT_SHARE / 2)
        flags = _flags(dataclasses.replace(self._settings, time=left, max_runs=None))
        name = os.path.relpath(file)
        result = hunt(
            (sys.executable, name), flags, on_progress=self._on_progress, on_answer=on_answer
        )
        report = result.report
        warnings = (*self._notices(), *report.warnings)
        if report.failures or result.ends_with is not None:
            return dataclasses.replace(result, report=replace(report, warnings=warnings))
        missed = Notice(
            "stress-not-met",
            f"{name} failed while it was searched for, and in none of {report.runs.total} runs"
            " of its own hunt",
        )
        report = replace(report, warnings=(missed, *warnings))
        return HuntResult(report, EXIT_INCONCLUSIVE)

    def nothing_found(self, spec: str) -> HuntResult:
        """The report where no program failed."""
        assert self._runs is not None
        count = self._runs.count
        seen, controlled = self._runs.threads
        bound = f"none of {count} runs of {self._programs} programs gave what no serial order gives"
        report = Report(
            version=1,
            campaign="",
            command=("unsnarl", "stress", spec),
            seconds=self._budget.spent,
            runs=RunCounts(count, count, 0, 0),
            instrumented=Instrumented(self._ready.modules, self._ready.probes, controlled, seen),
            failures=(),
            warnings=(Notice("no-failure", bound), *self._notices()),
            stress=self.about(spec, ""),
        )
        wanted = min(FEWEST_RUNS, self._settings.max_runs or FEWEST_RUNS)
        is_clear = count >= wanted and not self._runs.uncontrolled and not self._ready.threads
        return HuntResult(report, EXIT_OK if is_clear else EXIT_INCONCLUSIVE)

    def about(self, spec: str, file: str) -> Stressed:
        """What was done."""
        assert self._runs is not None
        return Stressed(
            subject=spec,
            methods=tuple(
                one.name for one in self._subject.methods if one.name not in self._calls.left_out
            ),
            programs=self._programs,
            runs=self._runs.count,
            serial=self._runs.serial,
            seconds=self._seconds,
            file=file,
        )

    def _notices(self) -> tuple[Notice, ...]:
        found = []
        if self._runs is not None and self._runs.uncontrolled:
            text = f"{self._runs.uncontrolled} runs had threads that were not controlled"
            found.append(Notice("uncontrolled-threads", text))
        if self._ready.threads:
            text = f"the class starts {self._ready.threads} threads at import; the runs lack them"
            found.append(Notice("threads-at-import", text))
        if self._calls.left_out:
            text = f"not called, since no arguments are known: {_listed(self._calls.left_out)}"
            found.append(Notice("stress-left-out", text))
        if self._masked:
            text = (
                f"not compared: {_listed(self._masked)}, which differs whenever the same calls are "
                "made in the same serial order"
            )
            found.append(Notice("stress-not-compared", text))
        return tuple(found)


def _listed(names: Any) -> str:
    return ", ".join(sorted(one.removeprefix("state ").format("object") for one in names))


def _including(settings: Settings, subject: Subject, cwd: Path) -> Settings:
    more = subject.package(config.find_root(cwd))
    return dataclasses.replace(settings, include=tuple(dict.fromkeys((*settings.include, *more))))


def _flags(settings: Settings) -> dict[str, Any]:
    rows = {key: getattr(settings, name) for key, (name, _) in config.KEYS.items()}
    return {key: value for key, value in rows.items() if value not in (None, "", ())}


def _check_output(file: Path) -> None:
    """Refuse to write over what somebody else wrote."""
    if not file.absolute().parent.is_dir():
        raise UsageError("bad-argument", f"--output {file}: there is no such directory")
    if file.exists() and HEADER not in file.read_text("utf-8", "replace"):
        raise UsageError(
            "bad-argument", f"{file.name} exists and is not ours", "name another with --output"
        )


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError("bad-argument", f"cannot write {file}: {error.strerror}") from None
