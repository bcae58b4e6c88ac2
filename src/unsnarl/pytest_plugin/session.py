# SPDX-License-Identifier: Apache-2.0
"""A pytest session that hunts: each test is run once as always, and if it starts threads, hunted.

The hunt is the same as `unsnarl hunt -- pytest FILE::TEST`, in processes of its own: what it finds
becomes the failure of the test.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from _pytest.runner import runtestprotocol

from unsnarl.errors import EXIT_INCONCLUSIVE, UnsnarlError
from unsnarl.model.report import Report
from unsnarl.pytest_plugin.command import command_for
from unsnarl.pytest_plugin.pages import write_page
from unsnarl.pytest_plugin.threads import counting_threads
from unsnarl.reports.failure_text import failure_text
from unsnarl.workflows import baseline
from unsnarl.workflows.hunt import HuntResult, hunt

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
TIME = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")
# Below this a hunt says nothing, however many tests share the budget.
LEAST_SECONDS = 5.0
PROPERTY = "unsnarl"  # of a test report: it reaches xdist's controller, too
Fate = Literal["hunted", "failed", "confirmed", "inconclusive", "not hunted", "without threads"]


class HuntingSession:
    """Hooks of a session with `--unsnarl`."""

    def __init__(self, config: pytest.Config) -> None:
        given = config.getoption("unsnarl_budget") or config.getini("unsnarl_budget")
        self._budget = seconds_of(given) if given else None
        folder = config.getoption("unsnarl_html")
        self._pages = config.invocation_params.dir / folder if folder else None
        self._quiet = _quiet_of(config)
        self._spent = 0.0
        self._left = 0  # tests that are still to come
        self._fates: Counter[str] = Counter()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count those that share the budget."""
        self._left = len(session.items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test as always, hunt it if it starts threads, and report both as one."""
        hooks = item.ihook
        hooks.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        with counting_threads() as started:
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
        called = next((one for one in reports if one.when == "call" and not one.skipped), None)
        if called is not None:
            fates = self._hunted(item, called) if started.count else ("without threads",)
            called.user_properties.append((PROPERTY, list(fates)))
        self._left -= 1
        for report in reports:
            hooks.pytest_runtest_logreport(report=report)
        hooks.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _hunted(self, item: pytest.Item, report: pytest.TestReport) -> tuple[Fate, ...]:
        """What came of hunting a test; its report then has the answer."""
        marker = item.get_closest_marker("unsnarl")
        options = dict(marker.kwargs) if marker else {}
        if options.pop("skip", False):
            return ("not hunted",)
        if self._budget is not None and self._spent >= self._budget:
            text = "not hunted: the time of --unsnarl-budget is used up"
            report.sections.append(("unsnarl", text))
            return ("not hunted",)
        begin = time.monotonic()
        try:
            result = hunt(command_for(item), self._flags(options))
        except UnsnarlError as error:
            report.sections.append(("unsnarl", f"not hunted: {error.message} [{error.slug}]"))
            return ("not hunted",)
        finally:
            self._spent += time.monotonic() - begin
        if result.ends_with is not None and result.ends_with.slug == "interrupted":
            item.session.shouldstop = result.ends_with.message  # after this test's report
        if self._quiet is not None:
            result = self._quiet.applied(result, item.nodeid)
        fates = tuple(_amended(report, result))
        if self._pages is not None and result.report.failures:
            text = write_page(self._pages, item.nodeid, result.report.campaign)
            report.sections.append(("unsnarl", text))
        return fates

    def _flags(self, options: dict[str, Any]) -> dict[str, Any]:
        """A marker's arguments as settings of the hunt, with the test's share of the budget."""
        flags = {{"runs": "max-runs"}.get(key, key): value for key, value in options.items()}
        if isinstance(flags.get("include"), str):
            flags["include"] = (flags["include"],)
        if self._budget is not None:
            share = max(LEAST_SECONDS, (self._budget - self._spent) / max(self._left, 1))
            flags["time"] = min(share, flags.get("time", share))
        return flags

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what came of the tests, of xdist's workers as well."""
        for name, fates in report.user_properties if report.when == "call" else ():
            if name == PROPERTY and isinstance(fates, list):
                self._fates.update(fates)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """One line: how many were hunted, and what came of it."""
        order = ("hunted", "failed", "confirmed", "inconclusive", "not hunted", "without threads")
        parts = [
            f"{self._fates[one]} {one}" for one in order if self._fates[one] or one == "hunted"
        ]
        terminalreporter.write_sep("-", "unsnarl: " + ", ".join(parts))


class _Quiet:
    """The baseline of a session, with an entry for each test."""

    def __init__(self, file: Path, *, update: bool) -> None:
        self._file = file
        self._update = update
        self._stored = baseline.load(file, may_be_missing=update)

    def applied(self, result: HuntResult, node: str) -> HuntResult:
        """Without the failures that are in it, after they were written if that is wanted."""
        if self._update:
            self._stored = baseline.updated(result.report, self._file, self._stored, node)
        return baseline.applied(result, self._file.name, self._stored, node)


def _quiet_of(config: pytest.Config) -> _Quiet | None:
    file, update = (config.getoption(f"unsnarl_{one}") for one in ("baseline", "update_baseline"))
    if file is None:
        if update:
            raise pytest.UsageError("--unsnarl-update-baseline needs --unsnarl-baseline FILE")
        return None
    if update and hasattr(config, "workerinput"):
        raise pytest.UsageError("--unsnarl-update-baseline: workers of xdist cannot share the file")
    try:
        return _Quiet(config.invocation_params.dir / file, update=bool(update))
    except UnsnarlError as error:
        raise pytest.UsageError(f"{error.message} [{error.slug}]") from None


def _amended(report: pytest.TestReport, result: HuntResult) -> Iterator[Fate]:
    """The test's report with what the hunt says."""
    yield "hunted"
    answer: Report = result.report
    for one in answer.warnings:
        if one.slug.startswith("baseline"):
            report.sections.append(("unsnarl", f"{one.message} [{one.slug}]"))
    if answer.failures:
        yield "failed"
        if any(
            one.status == "confirmed" for failure in answer.failures for one in failure.findings
        ):
            yield "confirmed"
        text = "\n\n".join(failure_text(answer, failure) for failure in answer.failures)
        if report.failed:
            report.sections.append(("unsnarl", text))
        else:
            report.outcome, report.longrepr = "failed", text
    elif result.exit_code == EXIT_INCONCLUSIVE:
        yield "inconclusive"
        notes = "\n".join(f"{one.message} [{one.slug}]" for one in answer.warnings)
        report.sections.append(("unsnarl", notes))


def seconds_of(text: str) -> float:
    """`90`, `90s`, `5m`, `1h`."""
    found = TIME.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise pytest.UsageError(
            f"--unsnarl-budget: expected a time such as 90s or 5m, got {text!r}"
        )
    return float(found[1]) * UNITS[found[2]]
