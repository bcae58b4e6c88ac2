# SPDX-License-Identifier: Apache-2.0
"""What a finished hunt may claim: its warnings and its exit code."""

from __future__ import annotations

from unsnarl.campaigns.campaign import Campaign, Stop
from unsnarl.campaigns.engine import Engine
from unsnarl.campaigns.tally import Tally
from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE, EXIT_OK
from unsnarl.model.finding import Notice

MOST_NAMES = 5


def exit_code(campaign: Campaign, stop: Stop, engine: Engine) -> int:
    """1 if something failed; 0 if nothing did, in enough runs with every thread controlled."""
    tally = campaign.tally
    if stop == "always-hangs":
        return EXIT_INCONCLUSIVE
    if tally.first_failing is not None:
        return EXIT_FAILURE_FOUND
    wanted = min(campaign.settings.passed, campaign.settings.max_runs)
    if uncontrolled(tally) or engine.ready.threads or tally.labels["pass"] < wanted:
        return EXIT_INCONCLUSIVE
    return EXIT_OK


def uncontrolled(tally: Tally) -> bool:
    """Whether a thread escaped control in any run."""
    return tally.counters["uncontrolled"] > 0 or tally.threads_controlled < tally.threads_seen


def notices(campaign: Campaign, stop: Stop, engine: Engine) -> tuple[Notice, ...]:
    """All warnings, in the order of their weight."""
    found = [
        *_about_the_end(campaign, stop),
        *_about_threads(campaign.tally, engine.ready.threads),
        *_about_libraries(campaign.tally),
        *_about_claims(campaign),
        *_about_losses(campaign, engine.deaths),
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
        text = f"all {runs} runs failed; with no passing run to compare, no cause can be ranked"
        return [("always-fails", text)]
    if tally.first_failing is None and tally.labels["pass"]:
        text = f"nothing failed in {_modes(tally)}: failure rate below {3 / total:.2g} at 95 %"
        return [("no-failure", text), *_too_few(campaign, stop)]
    return _too_few(campaign, stop)


def _too_few(campaign: Campaign, stop: Stop) -> list[tuple[str, str]]:
    """Said where the limits cut the hunt short of what was wanted."""
    tally = campaign.tally
    if stop == "enough":
        return []
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


def _about_threads(tally: Tally, at_import: int) -> list[tuple[str, str]]:
    found = []
    if at_import:
        text = f"the target starts {at_import} threads at import; they are missing in the runs"
        found.append(("threads-at-import", text))
    if uncontrolled(tally):
        missing = tally.threads_seen - tally.threads_controlled
        text = (
            f"{missing} of {tally.threads_seen} threads ran out of control in some runs; "
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
    return [("library-not-listed", f"what {names} does was not observed; try --include with it")]


def _about_claims(campaign: Campaign) -> list[tuple[str, str]]:
    tally = campaign.tally
    if not tally.latent(tally.best("free")[0]):
        return []
    runs = tally.runs["gil"] + tally.support.total()
    return [("latent", f"fails only with free switching; 0 of {runs} runs failed under the lock")]


def _about_losses(campaign: Campaign, lost: int) -> list[tuple[str, str]]:
    tally, found = campaign.tally, []
    if tally.counters["edges_dropped"]:
        text = f"edges were dropped in {tally.counters['edges_dropped']} runs"
        found.append(("edges-dropped", text))
    if campaign.damaged:
        more = len(campaign.damaged) - MOST_NAMES
        names = "; ".join(campaign.damaged[:MOST_NAMES])
        text = names + (f"; and {more} more" if more > 0 else "")
        found.append(("damaged-runs", f"skipped: {text}"))
    if lost:
        found.append(("runs-lost", f"the fork server died {lost} times and was restarted"))
    return found
