# SPDX-License-Identifier: Apache-2.0
"""docs/evaluation.md, made from the results of one evaluation and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evaluation import bars, bugaboo_tables, falcon_tables, figures, markdown, recon_tables
from evaluation.results import Results, Row, rows
from evaluation.truth import Bug


def write(results: Results, zoo: Sequence[Bug], path: Path) -> None:
    """Writes the page, and its figures into a folder next to it."""
    found = rows(results, zoo)
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = figures.draw_all(results, found, path.parent / figures.FOLDER)
    path.write_text(page(results, found, drawn), encoding="utf-8")


def page(results: Results, found: Sequence[Row], drawn: dict[str, str]) -> str:
    """The whole page."""
    return markdown.sections(
        _head(results, found),
        bars.section(results, found).rstrip(),
        bars.methods_section(found).rstrip(),
        bars.variables_section(found).rstrip(),
        recon_tables.section(found, drawn).rstrip(),
        bugaboo_tables.section(found, results.objects, drawn).rstrip(),
        falcon_tables.section(found, results.spans, drawn).rstrip() if results.spans else "",
        _twins(results).rstrip(),
        _time(results),
    )


def _head(results: Results, found: Sequence[Row]) -> str:
    bugs = len({row.bug.name for row in found})
    each = max((len(row.draws) for row in found), default=0)
    return markdown.sections(
        "# Evaluation",
        f"Figures of {results.date}, made by `{results.command}` on Python {results.python} with "
        f"{results.cores} cores in {results.seconds / 60:.1f} minutes; "
        "[its README](../evaluation/README.md) says how to repeat them and what they mean.",
        f"{bugs} bugs of the [zoo](../zoo/README.md) were hunted in {_draws(each)}, with seeds of "
        "their own, until 25 failing and 25 passing runs were kept. All methods and all samples "
        "of fewer runs work on these same runs. The papers' figures are shown next to ours "
        "where a paper has the program; ours is then a kernel of the same bug in "
        f"{_language(found)}, not "
        "the program itself, so ranks can be compared and sizes cannot.",
    ).rstrip()


def _language(found: Sequence[Row]) -> str:
    return "Python" if all(row.bug.language == "python" for row in found) else "C or C++"


def _draws(number: int) -> str:
    return "one draw" if number == 1 else f"{number} draws each"


def _twins(results: Results) -> str:
    runs = sum(twin.runs for twin in results.twins)
    loud = [twin for twin in results.twins if twin.findings or twin.failing or twin.complaint]
    lines = [(one.bug, one.switch, one.runs, one.failing, one.findings) for one in loud]
    each = max((twin.runs for twin in results.twins), default=0)
    return markdown.sections(
        "## Fixed twins",
        f"Every fixed twin was hunted {each} times in each switching mode: {runs} runs of "
        f"{len({twin.bug for twin in results.twins})} programs, "
        f"{sum(twin.failing for twin in results.twins)} of them failed, and "
        f"{sum(twin.findings for twin in results.twins)} findings were reported.",
        markdown.table(("twin", "switch", "runs", "failing", "findings"), lines) if loud else "",
        "\n".join(f"- {twin.bug}: {twin.complaint}" for twin in loud if twin.complaint),
    )


def _time(results: Results) -> str:
    lines = [(name, f"{seconds:.0f} s") for name, seconds in results.parts.items()]
    hunting = sum(draw.hunting for draw in results.draws)
    measuring = sum(draw.measuring for draw in results.draws)
    return markdown.sections(
        "## Time",
        f"Wall time by part, {results.cores} hunts at a time. Summed over the draws, hunting took "
        f"{hunting:.0f} s and analysing with all methods and samples {measuring:.0f} s.",
        markdown.table(("part", "time"), lines),
    ).rstrip()
