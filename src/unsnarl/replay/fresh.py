# SPDX-License-Identifier: Apache-2.0
"""A fresh hunt of a campaign's target after an edit, with the same budget and other schedules."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from unsnarl import config
from unsnarl.campaigns import outcome
from unsnarl.campaigns.campaign import Campaign, Stop
from unsnarl.campaigns.signature_split import stored_split
from unsnarl.campaigns.store import Store
from unsnarl.campaigns.tally import Tally
from unsnarl.config import Settings
from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE, EXIT_OK, UnsnarlError
from unsnarl.execution.budget import Budget
from unsnarl.execution.runner import Runner, started
from unsnarl.model.report import Notice, RunCounts
from unsnarl.replay.replayer import keep_schedules, plain_signature


class Hunted(msgspec.Struct, frozen=True, rename={"repeated": "known"}):
    """The fresh hunt; `code` is its exit code.

    Attributes:
        repeated: How often signatures of the verified campaign came again; `known` in JSON.
        new: How often others came.
        latent: How often others came that the interpreter's lock prevents, if it did not prevent
            those of the verified campaign: the edit is not to blame for them.
        passing: How many runs passed, by switching mode.
        stopped: Why there was no hunt, or not a whole one.
    """

    campaign: str
    runs: RunCounts
    repeated: dict[str, int]
    new: dict[str, int]
    warnings: tuple[Notice, ...]
    code: int
    stopped: Notice | None = None
    passing: dict[str, int] = {}
    latent: dict[str, int] = {}

    @classmethod
    def none(cls, why: str) -> Hunted:
        """There was no hunt."""
        nothing = RunCounts(0, 0, 0, 0)
        return cls("", nothing, {}, {}, (), EXIT_INCONCLUSIVE, Notice("interrupted", why))


def fresh_settings(store: Store, flags: Mapping[str, Any]) -> Settings:
    """Those of the campaign; the schedules are others, and nothing is proven once more."""
    settings = config.override(store.description.options, flags)
    # A hunt with a time ends early if it finds something; this one should find nothing.
    if not flags.get("time"):
        most = settings.max_runs or config.RUNS_WITHOUT_A_TIME
        settings = dataclasses.replace(settings, max_runs=most)
    return dataclasses.replace(settings, seed=settings.seed + 1, confirm=0)


def fresh_hunt(
    store: Store, settings: Settings, progress: Callable[[Tally], None], budget: Budget
) -> Hunted:
    """Hunt again for what the campaign was after, in a campaign of its own, in the time left."""
    settings = dataclasses.replace(settings, time=min(settings.time, budget.left))
    description = store.description
    found = store.target()
    made = Store.create(
        store.folder.parent.parent,
        description.command,
        Path(description.cwd),
        found.root,
        options=dataclasses.asdict(settings),
        python=found.python.version,
        verifies=store.name,
    )
    campaign = Campaign(made, found, settings, progress)
    before = Before.of(store)
    try:
        with started(found, made.folder, settings) as runner:
            runner.distinguish(stored_split(store.folder))
            stop = _stop(campaign, runner, budget)
            code = outcome.exit_code(campaign, stop, runner)
            warnings = outcome.notices(campaign, stop, runner)
        keep_schedules(made)
        return summary(made.name, campaign.tally, before, code, warnings)
    except UnsnarlError as error:
        hunted = summary(made.name, campaign.tally, before, EXIT_INCONCLUSIVE, ())
        return msgspec.structs.replace(hunted, stopped=Notice(error.slug, error.message))
    finally:
        made.sweep()
        made.close()


def _stop(campaign: Campaign, runner: Runner, budget: Budget) -> Stop:
    """Why the hunt ended; Ctrl-C ends it like a limit."""
    try:
        return campaign.run(runner)
    except KeyboardInterrupt as raised:
        budget.interrupt(raised)
        return "interrupted"


class Before(NamedTuple):
    """How the runs of the verified campaign failed.

    Attributes:
        signatures: Plain, because it may have been hunted with another version of Python.
        freely: Whether any failed by a switch that the interpreter's lock forbids.
    """

    signatures: frozenset[str]
    freely: bool

    @classmethod
    def of(cls, store: Store) -> Before:
        """From what is stored."""
        failed = [one.record for one in store.runs() if one.record.label != "pass"]
        signatures = frozenset(plain_signature(one.signature) for one in failed)
        return cls(signatures, any(one.switch == "free" for one in failed))


def summary(
    campaign: str, tally: Tally, before: Before, code: int, warnings: tuple[Notice, ...]
) -> Hunted:
    """What to report of a hunt; `code` and `warnings` are those of any hunt."""
    counts: Counter[str] = Counter()
    for (_, signature), count in tally.failing.items():
        counts[signature] += count
    repeated = {one for one in counts if plain_signature(one) in before.signatures}
    latent = {one for one in counts if tally.latent(one) and not before.freely} - repeated
    new = set(counts) - repeated - latent
    passing = tally.passing + Counter(gil=tally.support[""])
    if latent and code == EXIT_FAILURE_FOUND and not repeated | new:
        code = EXIT_OK if passing["gil"] >= tally.want_pass else EXIT_INCONCLUSIVE
    return Hunted(
        campaign=campaign,
        runs=RunCounts(tally.total, *(tally.labels[name] for name in ("pass", "fail", "hang"))),
        repeated={name: counts[name] for name in counts if name in repeated},
        new={name: counts[name] for name in counts if name in new},
        warnings=warnings,
        code=code,
        passing=dict(passing),
        latent={name: counts[name] for name in counts if name in latent},
    )
