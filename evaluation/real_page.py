# SPDX-License-Identifier: Apache-2.0
"""docs/real.md: real bugs against the bars, case by case, and where the time goes."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from evaluation import markdown
from evaluation.bars import Bar
from evaluation.real_cases import SETS
from evaluation.real_results import TIME, Checked, Measured
from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE, EXIT_OK

NO_BAR = 0.0
PATCH_RUNS = 200
MEDIAN, MOST = 10, 30  # seconds from command to explanation
MEDIAN_PATCHED, MOST_PATCHED = 12, 40  # and to the patch
CASE_COLUMNS = (
    "case",
    "what",
    "form",
    "kind",
    "found in",
    "status",
    "called",
    "points",
    "explained",
    "fix: fails, deadlocks",
    "patch",
    "replayed",
    "`verify` without the fix",
    "with it",
    "alarms after it",
    "seconds",
)


class MeasuredCases(msgspec.Struct, frozen=True):
    """One evaluation."""

    command: str
    date: str
    python: str
    cores: int
    rows: tuple[Measured, ...]
    whole: bool = True

    def of(self, name: str) -> tuple[Measured, ...]:
        """The rows of one set."""
        return tuple(row for row in self.rows if row.set == name)


def bars(rows: Sequence[Measured], whole: bool = True) -> list[Bar]:
    """What a user should see; `whole` if more than the hunts was measured."""

    def share(text: str, wanted: float, holds: Callable[[Measured], bool]) -> Bar:
        return Bar(text, wanted, sum(map(holds, rows)), len(rows))

    times = [row.ended.seconds for row in rows]
    hunts = [
        share("found", 0.95, lambda row: row.found),
        share("most true points in the first finding", NO_BAR, lambda row: row.points_at_bug),
        share("all of them in the first finding", 0.85, lambda row: row.names_all),
        share("all of them in one of the first three", 0.92, lambda row: row.in_three == row.must),
        share("all of them in its explanation", NO_BAR, lambda row: row.explains),
        share("explanation of at most 8 steps", 0.85, lambda row: row.is_short),
        _shapes(rows),
        share("first finding confirmed", 0.8, lambda row: row.confirmed),
        share(
            "confirmed, with most true points",
            NO_BAR,
            lambda row: row.confirmed and row.points_at_bug,
        ),
        share("a fix that works in simulation", NO_BAR, _has_fix),
        share(
            f"a patch that {PATCH_RUNS} runs survive",
            0.75,
            lambda row: row.patch_runs >= PATCH_RUNS,
        ),
        _applied(rows),
        share("no internal error", 1.0, lambda row: not row.broke),
        share(f"time limit of {TIME} s kept", 1.0, lambda row: not row.late),
        share(f"explained within {MOST} s", 0.95, lambda row: row.seconds_to_explanation <= MOST),
        _median_bar("explained", [row.seconds_to_explanation for row in rows], MEDIAN),
        share(
            f"answer with its patch within {MOST_PATCHED} s",
            0.95,
            lambda row: row.ended.seconds <= MOST_PATCHED,
        ),
        _median_bar("answer with its patch", times, MEDIAN_PATCHED),
    ]
    return hunts + _later(rows) if whole else hunts


def _median_bar(what: str, times: Sequence[float], most: int) -> Bar:
    is_met = bool(times) and statistics.median(times) <= most
    return Bar(f"{what}, median at most {most} s", 1.0, int(is_met), int(bool(times)))


def _applied(rows: Sequence[Measured]) -> Bar:
    """Of the patches that were written into the files and hunted there."""
    every = [row.applied for row in rows if row.applied]
    right = sum(one.is_right for one in every)
    return Bar("no wrong patch shown: 1000 runs each", 1.0, right, len(every))


def _shapes(rows: Sequence[Measured]) -> Bar:
    """Of the cases for which somebody has decided what they are to be called."""
    judged = [row for row in rows if row.shapes]
    right = sum(row.shape in row.shapes for row in judged)
    return Bar("called what an engineer would call it", 0.85, right, len(judged))


def _has_fix(row: Measured) -> bool:
    return row.fix is not None and row.fix.works


def _later(rows: Sequence[Measured]) -> list[Bar]:
    """Of what comes after the hunts; replays and `verify` need a failure."""
    same = [row.same.still_fails for row in rows if row.same]
    fixed = [row.fixed.accepts for row in rows if row.fixed]
    rejected = sum(row.fixed.ended.code == EXIT_FAILURE_FOUND for row in rows if row.fixed)
    hunted = [row.fixed_hunt for row in rows if row.fixed_hunt]
    costs = [row.costs.pytest <= 2 * row.costs.script for row in rows if row.costs]
    return [
        Bar(
            "replays in new processes that fail as recorded",
            0.99,
            sum(row.replayed for row in rows),
            sum(row.replays for row in rows),
        ),
        Bar("`verify` says that the bug is still there", 1.0, sum(same), len(same)),
        Bar("`verify` accepts the fixed release or twin", 1.0, sum(fixed), len(fixed)),
        Bar("`verify` does not reject it", NO_BAR, len(fixed) - rejected, len(fixed)),
        Bar(
            "fixed releases and twins without an alarm that is not latent",
            1.0,
            sum(one.ended.code is not None and not one.alarms for one in hunted),
            len(hunted),
        ),
        Bar("a run by pytest costs at most twice that of a script", 1.0, sum(costs), len(costs)),
    ]


def line(row: Measured) -> str:
    """One row for the terminal."""
    spent = " ".join(f"{kind} {seconds:.1f}" for kind, seconds in row.timings.items())
    later = (
        f" replay {row.replayed}/{row.replays} verify {_verified(row.same)}, "
        f"{_verified(row.fixed)} alarms {_alarms(row)}"
        if row.fixed_hunt
        else ""
    )
    return (
        f"{row.case:32}{_exit(row):10}{row.failing}/{row.runs} {row.status or '-':13}"
        f"points {row.named}({row.called})/{row.must} explained {row.explained} "
        f"fix {_fix(row) or '-'} patch {_patch(row) or '-'} {row.shape or '-'}{later} "
        f"{row.ended.seconds:.1f} s ({spent})"
        + "".join(f"\n    {text}" for text in _complaints(row))
    )


def _complaints(row: Measured) -> list[str]:
    """What the commands printed that went wrong."""
    later = [one.ended for one in (row.same, row.fixed, row.fixed_hunt) if one]
    applied = row.applied.signatures if row.applied else ()
    texts = [row.complaint, *(ended.output for ended in (row.ended, *later)), *applied]
    return [line for text in texts for line in text.splitlines()]


def _exit(row: Measured) -> str:
    if row.ended.code is None:
        return "stopped"
    return f"exit {row.ended.code}"


def _fix(row: Measured) -> str | None:
    fix = row.fix
    return f"{fix.fail}, {fix.deadlocks} of {fix.runs}" if fix else None


def _patch(row: Measured) -> str | None:
    """What it does, the runs that it survived, and those once it was applied."""
    if not row.patch:
        return None
    applied = row.applied
    more = f"; applied {applied.fail} of {applied.runs}" if applied else ""
    return f"{row.patch}: 0 of {row.patch_runs}{more}"


def _verified(one: Checked | None) -> str | None:
    if one is None:
        return None
    if one.ended.code is None:
        return "stopped"
    words = {
        EXIT_OK: "accepts",
        EXIT_FAILURE_FOUND: "fails",
        EXIT_INCONCLUSIVE: "inconclusive",
    }
    return words.get(one.ended.code, f"exit {one.ended.code}")


def _alarms(row: Measured) -> str | None:
    hunted = row.fixed_hunt
    if hunted is None:
        return None
    if hunted.ended.code is None:
        return "stopped"
    counted = ((len(hunted.latent), "latent"), (len(hunted.others), "of other bugs"))
    more = ", ".join(f"{count} {word}" for count, word in counted if count)
    return f"{len(hunted.alarms)}" + (f" ({more})" if more else "")


def page(measured: MeasuredCases) -> str:
    """The whole page."""
    return markdown.sections(
        "# Real bugs",
        f"Figures of {measured.date}, made by `{measured.command}` on Python {measured.python}, "
        f"{measured.cores} cores: bugs of released packages ([zoo/real](../zoo/real/README.md)) "
        "and programs with a corrected twin ([zoo/users](../zoo/users/README.md)). Each is hunted "
        f"as a user would, `unsnarl hunt --time {TIME} --include MODULE -- python …`, in an "
        "environment of its own, one after the other. Rules were made on *work*; *seen* was held "
        "out until its first look, and used after it; *held-out* cases are looked at last.",
        _quietness(measured),
        _summary(measured),
        "## Case by case",
        "*points*: of the lines that a right answer must name, so many are in the first finding "
        "(in brackets: where the calls that led to a line count). *fix*: of so many runs with the "
        "simulated fix. *patch*: what the diff does that the report shows, and the runs that "
        "it survived; *applied*: the failing ones of those made with it in the files.",
        *(_cases(measured, name) for name in SETS),
        "## Where the time goes",
        "Medians in seconds by phase; *other* is start-up, ranking and output. *ms per run* is the "
        "time of hunting over the runs made in it.",
        _times(measured),
        "Runs of the hunt, and trials of each phase after it, medians:",
        _trials(measured),
        _costs(measured),
    )


def _quietness(measured: MeasuredCases) -> str:
    """Seconds mean something only on a quiet machine."""
    loads = [row.load for row in measured.rows]
    if not loads or max(loads) <= measured.cores:
        return ""
    return (
        f"**The machine was not quiet**: its load was {statistics.median(loads):.1f} (median), "
        f"at most {max(loads):.1f}, on {measured.cores} cores. The seconds are too high."
    )


def _summary(measured: MeasuredCases) -> str:
    columns = [bars(measured.of(name), measured.whole) for name in SETS]
    rows = []
    for of_sets in zip(*columns, strict=True):
        wanted = of_sets[0].wanted
        share = f"{wanted:.0%}" if wanted != NO_BAR else None
        rows.append((of_sets[0].text, share, *map(_figure, of_sets)))
    return markdown.table(("bar", "wanted", *SETS), rows)


def _figure(bar: Bar) -> str | None:
    if not bar.whole:
        return None
    figure = markdown.share(bar.part, bar.whole)
    return figure if bar.met or bar.wanted == NO_BAR else f"**{figure}**"


def _cases(measured: MeasuredCases, name: str) -> str:
    rows = measured.of(name)
    if not rows:
        return ""
    table = markdown.table(CASE_COLUMNS, [_cells(row) for row in rows])
    return markdown.sections(f"### {name.capitalize()}", table).rstrip("\n")


def _cells(row: Measured) -> tuple[object, ...]:
    return (
        row.case,
        row.label,
        row.form,
        row.kind,
        f"{row.failing} of {row.runs}" if row.found else _exit(row),
        row.status or None,
        row.shape or None,
        f"{row.named} ({row.called}) of {row.must}",
        f"{row.explained} of {row.must}",
        _fix(row),
        _patch(row),
        f"{row.replayed} of {row.replays}" if row.replays else None,
        _verified(row.same),
        _verified(row.fixed),
        _alarms(row),
        f"{row.ended.seconds:.1f}",
    )


def _by_form(measured: MeasuredCases) -> Iterator[tuple[str, list[Measured]]]:
    """The cases of every set and form."""
    for name in SETS:
        for form in dict.fromkeys(row.form for row in measured.of(name)):
            yield f"{name}, {form}", [row for row in measured.of(name) if row.form == form]


def _trials(measured: MeasuredCases) -> str:
    phases = list(dict.fromkeys(phase for row in measured.rows for phase in row.trials))
    table = [
        (
            group,
            _median(row.runs for row in rows),
            *(_median(row.trials.get(phase, 0) for row in rows) for phase in phases),
        )
        for group, rows in _by_form(measured)
    ]
    return markdown.table(("set and form", "hunt", *phases), table)


def _median(values: Iterable[int]) -> str:
    return f"{statistics.median(values):.0f}"


def _times(measured: MeasuredCases) -> str:
    phases = list(dict.fromkeys(phase for row in measured.rows for phase in row.timings))
    rows = [(group, *_medians(rows, phases)) for group, rows in _by_form(measured)]
    head = ("set and form", "cases", "from command to answer", *phases, "other", "ms per run")
    return markdown.table(head, rows)


def _costs(measured: MeasuredCases) -> str:
    """Where the same test was run in both ways."""
    rows = [
        (row.case, *(f"{1000 * seconds:.1f}" for seconds in (costs.pytest, costs.script)))
        for row in measured.rows
        if (costs := row.costs)
    ]
    if not rows:
        return ""
    return markdown.sections(
        "The same test by pytest and by a script that calls it, in ms per run:",
        markdown.table(("case", "pytest", "script"), rows),
    ).rstrip("\n")


def _medians(rows: Sequence[Measured], phases: Iterable[str]) -> tuple[object, ...]:
    def median(values: Iterable[float]) -> str | None:
        listed = list(values)
        return f"{statistics.median(listed):.1f}" if listed else None

    return (
        len(rows),
        median(row.ended.seconds for row in rows),
        *(median(row.timings.get(phase, 0.0) for row in rows) for phase in phases),
        median(row.ended.seconds - sum(row.timings.values()) for row in rows),
        median(
            1000 * next(iter(row.timings.values())) / row.runs
            for row in rows
            if row.runs and row.timings
        ),
    )
