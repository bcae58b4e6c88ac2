# SPDX-License-Identifier: Apache-2.0
"""Do the tests of real packages behave with the pytest plugin as without it?

    python -m evaluation.suites [--only NAME ...] [--budget TIME] [--pages FOLDER]

Each suite comes from the package's source distribution and is run three times: without the plugin,
with the plugin loaded and off, and with `--unsnarl`. A test whose outcome differs is named. Then
20 bugs of the zoo are hunted as tests through the plugin and through the command, and the time that
the plugin adds to a session that does not use it is measured. Writes docs/suites.md. Results are
kept in the environment: with `--only` (a package, `session`, a bug) the others stay as they are.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar
from xml.etree import ElementTree

import msgspec

from evaluation.markdown import sections, table
from evaluation.plugin import Compared, compare, zoo_bugs, zoo_table
from evaluation.session_cost import SessionCost, session_cost

DOCS = Path(__file__).parent.parent / "docs"
HOME = Path(sys.prefix) / "suites"
BUDGET = "60s"
SESSION = "session"
Outcomes = dict[str, str]
T = TypeVar("T")


class Suite(NamedTuple):
    """The tests of a package: what they need besides, and how they are called."""

    name: str
    version: str
    needs: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ("tests",)
    # The warning is about an editable installation, which users do not have; some make it an error.
    options: tuple[str, ...] = (
        "-p", "no:cacheprovider", "-q", "-W", "ignore::pytest.PytestAssertRewriteWarning",
    )  # fmt: skip


SUITES = (
    Suite("pykka", "4.5.0", ("pytest-mock", "typing_extensions")),
    Suite("janus", "2.0.0", ("pytest-asyncio", "pytest-cov", "coverage")),
    Suite("cachetools", "6.2.4"),
    Suite("fasteners", "0.20", ("eventlet", "diskcache", "more_itertools")),
    Suite("tenacity", "9.1.2", ("tornado", "typeguard")),
)


class SuiteResult(NamedTuple):
    """What became of one suite; differences are `test: without it / with it`."""

    suite: Suite
    tests: int
    failing: int
    off: list[str]
    on: list[str]
    summary: str
    seconds: tuple[float, float, float]


def fetch(suite: Suite) -> tuple[Path, Path]:
    """The unpacked sources, and a folder with the package's needs; made once."""
    home = HOME / f"{suite.name}-{suite.version}"
    packages = home / "packages"
    if not (home / "ready").exists():
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        pin = f"{suite.name}=={suite.version}"
        one = ["download", "--no-deps", "--no-binary", suite.name, "-d", str(home), pin]
        subprocess.run([*pip, *one], check=True)
        subprocess.run([*pip, "install", "--target", str(packages), pin, *suite.needs], check=True)
        (archive,) = home.glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(home / "source", filter="data")
        (home / "ready").touch()
    (source,) = (home / "source").iterdir()
    return source, packages


def run_suite(suite: Suite, *options: str) -> tuple[Outcomes, str, float]:
    """Outcomes by test, the plugin's summary, and the seconds."""
    source, packages = fetch(suite)
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        command = [sys.executable, "-m", "pytest", f"--junitxml={report}", *suite.options]
        start = time.monotonic()
        done = subprocess.run(
            [*command, *options, *suite.arguments], cwd=source, capture_output=True, text=True,
            check=False, env=_environment(packages),
        )  # fmt: skip
        seconds = time.monotonic() - start
        if not report.exists():
            raise SystemExit(f"{suite.name}: pytest wrote no report\n{done.stdout}{done.stderr}")
        lines = [one for one in done.stdout.splitlines() if "unsnarl: " in one]
        return outcomes(report), lines[-1].strip("- ") if lines else "", seconds


def _environment(packages: Path) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST")}
    # No coverage, colours or plugins of ours: as the suite's authors have it.
    return kept | {"PYTHONPATH": str(packages), "PY_COLORS": "0"}


def outcomes(report: Path) -> Outcomes:
    """By test, from JUnit XML: passed, failed, error or skipped."""
    found: Outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found[f"{case.get('classname')}::{case.get('name')}"] = kinds[0] if kinds else "passed"
    return found


def differing(one: Outcomes, other: Outcomes) -> list[str]:
    """The tests that ended differently."""
    names = sorted(one.keys() | other.keys())
    return [
        f"{name}: {one.get(name)} / {other.get(name)}"
        for name in names
        if one.get(name) != other.get(name)
    ]


def measure(suite: Suite, budget: str) -> SuiteResult:
    """The three runs of a suite."""
    without, _, first = run_suite(suite, "-p", "no:unsnarl")
    off, _, second = run_suite(suite)
    on, summary, third = run_suite(suite, "--unsnarl", "--unsnarl-budget", budget)
    failing = sum(one in ("failure", "error") for one in without.values())
    return SuiteResult(
        suite, len(without), failing, differing(without, off), differing(without, on), summary,
        (first, second, third),
    )  # fmt: skip


def page(results: Sequence[SuiteResult], cost: SessionCost | None, zoo: str) -> str:
    """docs/suites.md."""
    rows = [
        (
            f"{one.suite.name} {one.suite.version}", one.tests, one.failing, len(one.off),
            len(one.on), one.summary.removeprefix("unsnarl: "),
            " / ".join(f"{seconds:.1f}" for seconds in one.seconds),
        )
        for one in results
    ]  # fmt: skip
    head = (
        "package", "tests", "failing without it", "differ: off", "differ: --unsnarl",
        "what it counted", "seconds: without, off, --unsnarl",
    )  # fmt: skip
    named = [f"- {one.suite.name}: {row}" for one in results for row in (*one.off, *one.on)]
    return sections(
        "# The pytest plugin in real suites",
        "Made by `python -m evaluation.suites`. Each suite comes from its source distribution and "
        "is run without the plugin, with the plugin loaded and off, and with `--unsnarl`.",
        table(head, rows),
        "Tests that ended differently (without the plugin / with it):\n\n" + "\n".join(named)
        if named
        else "No test ended differently.",
        cost.sentence if cost else "The cost of a session was not measured.",
        "## Bugs of the zoo, through the plugin and through the command",
        zoo,
    )


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(prog="evaluation.suites")
    parser.add_argument("--only", nargs="*", default=(), metavar="NAME")
    parser.add_argument("--budget", default=BUDGET, metavar="TIME")
    parser.add_argument("--bugs", type=int, default=20, metavar="N")
    parser.add_argument("--pages", type=Path, default=DOCS, metavar="FOLDER")
    options = parser.parse_args()

    def wanted(name: str) -> bool:
        return not options.only or name in options.only

    for suite in SUITES:
        if wanted(suite.name):
            _keep(suite.name, measure(suite, options.budget))
    if wanted(SESSION):
        _keep(SESSION, session_cost())
    for bug in zoo_bugs(options.bugs):
        if wanted(bug.name):
            _keep(f"zoo-{bug.name}", compare(bug))
    results = [one for suite in SUITES if (one := _kept(suite.name, SuiteResult))]
    found = [one for bug in zoo_bugs(options.bugs) if (one := _kept(f"zoo-{bug.name}", Compared))]
    cost = _kept(SESSION, SessionCost)
    (options.pages / "suites.md").write_text(page(results, cost, zoo_table(found)))


def _keep(name: str, result: object) -> None:
    print(result, flush=True)
    (HOME / "results").mkdir(parents=True, exist_ok=True)
    (HOME / "results" / f"{name}.json").write_bytes(msgspec.json.encode(result))


def _kept(name: str, kind: type[T]) -> T | None:
    file = HOME / "results" / f"{name}.json"
    return msgspec.json.decode(file.read_bytes(), type=kind) if file.exists() else None


if __name__ == "__main__":
    main()
