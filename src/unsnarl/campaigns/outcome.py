# SPDX-License-Identifier: Apache-2.0
"""What a finished hunt may claim: its warnings and its exit code."""

from __future__ import annotations

from unsnarl.campaigns.campaign import Campaign, Stop
from unsnarl.campaigns.tally import LOSSES, Tally
from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE, EXIT_OK
from unsnarl.execution.runner import Runner
from unsnarl.model.report import Notice
from unsnarl.model.run import bound_text

MOST_NAMES = 5


def exit_code(campaign: Campaign, stop: Stop, runner: Runner) -> int:
    """1 if something failed; 0 if nothing did, in enough runs with every thread controlled."""
    tally = campaign.tally
    # A run that was cut off is no evidence either way (model/run.py).
    if stop == "always-hangs":
        return EXIT_INCONCLUSIVE
    if tally.first_failing is not None:
        return EXIT_FAILURE_FOUND
    settings = campaign.settings
    wanted = min(settings.passed, settings.max_runs or settings.passed)
    # Runs lack the threads that imports started (docs/adr/0004), so they say nothing of those.
    few = stop == "interrupted" or tally.labels["pass"] < wanted
    if uncontrolled(tally) or runner.ready.threads or few:
        return EXIT_INCONCLUSIVE
    return EXIT_OK


def uncontrolled(tally: Tally) -> bool:
    """Whether a thread escaped control in any run."""
    return tally.counters["uncontrolled"] > 0 or tally.threads_controlled < tally.threads_seen


def notices(campaign: Campaign, stop: Stop, runner: Runner) -> tuple[Notice, ...]:
    """All warnings, in the order of their weight."""
    found = [
        *_about_the_end(campaign, stop),
        *_about_freedom(campaign),
        *_about_threads(campaign.tally, runner.ready.threads, is_free=campaign.is_free),
        *_about_libraries(campaign.tally),
        *_about_accesses(campaign.tally),
        *_about_claims(campaign),
        *_about_losses(campaign, runner.engine.deaths),
    ]
    return tuple(Notice(slug, message) for slug, message in found)


def _about_the_end(campaign: Campaign, stop: Stop) -> list[tuple[str, str]]:
    tally, settings = campaign.tally, campaign.settings
    total = tally.total
    if stop == "always-hangs":
        text = f"all {total} runs reached the time limit of {settings.timeout:g} s; try --timeout"
        return [("always-hangs", text)]
    if stop == "always-fails":
        runs = tally.runs[campaign.switch]
        return [("always-fails", _always_fails(runs, campaign.serial_failures))]
    if tally.first_failing is None and tally.labels["pass"]:
        # Runs at their time limit might still have failed (model/run.py).
        bound = bound_text(total - tally.labels["hang"])
        text = f"nothing failed in {_modes(tally)}: {bound}"
        return [("no-failure", text), *_too_few(campaign, stop)]
    return _too_few(campaign, stop)


def _always_fails(runs: int, serial: int) -> str:
    if not serial:
        return f"fails in every run ({runs}): with no passing run to compare, nothing was ranked"
    return (
        f"fails in every run ({runs}), also in the {serial} in which no thread was interrupted: "
        "not a matter of scheduling, so nothing was ranked"
    )


def _too_few(campaign: Campaign, stop: Stop) -> list[tuple[str, str]]:
    """A warning if a limit cut the hunt short."""
    tally = campaign.tally
    if stop == "enough":
        return []
    if stop == "interrupted":
        return [("budget-out", f"interrupted after {tally.total} runs")]
    what = "time" if stop == "time" else "number of runs"
    failing, passing = tally.best(campaign.switch)[1], tally.passing[campaign.switch]
    if tally.first_failing is None:
        if tally.labels["pass"] >= tally.want_pass:
            return []
        text = f"the {what} ran out after {tally.labels['pass']} passing runs"
        return [("budget-out", text)]
    text = (
        f"the {what} ran out with {failing} of {tally.want_fail} failing "
        f"and {passing} of {tally.want_pass} passing runs in hand"
    )
    return [("budget-out", text)]


def _modes(tally: Tally) -> str:
    return " and ".join(f"{count} {mode} runs" for mode, count in sorted(tally.runs.items()))


def _about_freedom(campaign: Campaign) -> list[tuple[str, str]]:
    if not campaign.is_free or campaign.tally.first_failing is not None:
        return []
    text = "threads ran freely, as they do without unsnarl: other orders were not tried"
    return [("free-runs", text)]


def _about_threads(tally: Tally, at_import: int, *, is_free: bool) -> list[tuple[str, str]]:
    found = []
    if at_import:
        text = f"the target starts {at_import} threads at import; the runs lack them"
        found.append(("threads-at-import", text))
    if uncontrolled(tally) and not is_free:
        missing = tally.threads_seen - tally.threads_controlled
        text = (
            f"{missing} of {tally.threads_seen} threads were not controlled in some runs; "
            "their interleaving was left to chance"
        )
        found.append(("uncontrolled-threads", text))
    if tally.counters["aliased"]:
        text = f"more than 64 threads at once in {tally.counters['aliased']} runs"
        found.append(("aliased-threads", text))
    if tally.labels["hang"] and tally.labels["hang"] < tally.total:
        found.append(
            ("hangs", f"{tally.labels['hang']} of {tally.total} runs reached the time limit")
        )
    return found


def _about_libraries(tally: Tally) -> list[tuple[str, str]]:
    if not tally.unlisted:
        return []
    names = ", ".join(sorted(tally.unlisted)[:MOST_NAMES])
    return [("library-not-listed", f"{names} was not observed; try --include")]


def _about_accesses(tally: Tally) -> list[tuple[str, str]]:
    if not tally.unseen:
        return []
    more = len(tally.unseen) - MOST_NAMES
    names = "; ".join(sorted(tally.unseen)[:MOST_NAMES])
    return [("accesses-not-seen", f"not seen: {names}" + (f"; {more} more" if more > 0 else ""))]


def _about_claims(campaign: Campaign) -> list[tuple[str, str]]:
    tally = campaign.tally
    if not tally.latent(tally.best("free")[0]):
        return []
    runs = tally.runs["gil"] + tally.support.total()
    return [
        (
            "latent",
            f"fails only with free switching; 0 of {runs} runs failed under the interpreter's lock",
        )
    ]


def _about_losses(campaign: Campaign, lost: int) -> list[tuple[str, str]]:
    tally, found = campaign.tally, []
    for name in LOSSES:
        if tally.counters[name]:
            what, verb = name.split("_")
            named = "accesses of their traces" if what == "trace" else what
            text = f"{named} were {verb} in {tally.counters[name]} runs"
            found.append((f"{what}-{verb}", text))
    if campaign.damaged:
        more = len(campaign.damaged) - MOST_NAMES
        names = "; ".join(campaign.damaged[:MOST_NAMES])
        text = names + (f"; and {more} more" if more > 0 else "")
        found.append(("damaged-runs", f"skipped: {text}"))
    if lost:
        found.append(("runs-lost", f"the fork server died {lost} times and was restarted"))
    return found
