# SPDX-License-Identifier: Apache-2.0
"""A fresh hunt of a campaign's target after an edit, with the same budget and other schedules."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from unsnarl import config
from unsnarl.campaigns import outcome, target
from unsnarl.campaigns.campaign import Campaign
from unsnarl.campaigns.engine import Engine
from unsnarl.campaigns.store import Store
from unsnarl.campaigns.tally import Tally
from unsnarl.config import Settings
from unsnarl.errors import EXIT_INCONCLUSIVE, UnsnarlError
from unsnarl.model.finding import Notice, RunCounts
from unsnarl.reproduce.replay import keep_schedules, plain_signature

# In the options of the campaign that a verification makes: the one that is verified.
VERIFIES = "verifies"


class Hunted(msgspec.Struct, frozen=True):
    """The fresh hunt; `code` is its exit code.

    Attributes:
        known: How often signatures of the verified campaign came again.
        new: How often others came.
        stopped: Why there was no hunt, or not a whole one.
    """

    campaign: str
    runs: RunCounts
    known: dict[str, int]
    new: dict[str, int]
    warnings: tuple[Notice, ...]
    code: int
    stopped: Notice | None = None


def fresh_settings(store: Store, flags: Mapping[str, Any]) -> Settings:
    """Those of the campaign; the schedules are others, and nothing is proven once more."""
    settings = config.override(store.description.options, flags)
    return dataclasses.replace(settings, seed=settings.seed + 1, confirm=0)


def fresh_hunt(store: Store, settings: Settings, progress: Callable[[Tally], None]) -> Hunted:
    """Hunt again for what the campaign was after, in a campaign of its own."""
    description = store.description
    found = target.parse(description.command, Path(description.cwd))
    made = Store.create(
        store.folder.parent.parent,
        description.command,
        Path(description.cwd),
        found.root,
        options={**dataclasses.asdict(settings), VERIFIES: store.name},
        python=found.python.version,
    )
    campaign = Campaign(made, found, settings, progress)
    known = {plain_signature(one.record.signature) for one in store.runs()}
    try:
        with Engine(found, made.folder, settings.jobs, settings.include) as engine:
            stop = campaign.run(engine)
            code = outcome.exit_code(campaign, stop, engine)
            warnings = outcome.notices(campaign, stop, engine)
        keep_schedules(made)
        return _hunted(made, campaign.tally, known, code, warnings)
    except UnsnarlError as error:
        hunted = _hunted(made, campaign.tally, known, EXIT_INCONCLUSIVE, ())
        return msgspec.structs.replace(hunted, stopped=Notice(error.slug, error.message))
    finally:
        made.sweep()
        made.close()


def _hunted(
    made: Store, tally: Tally, known: set[str], code: int, warnings: tuple[Notice, ...]
) -> Hunted:
    counts: Counter[str] = Counter()
    for (_, signature), count in tally.failing.items():
        counts[signature] += count
    return Hunted(
        campaign=made.name,
        runs=RunCounts(tally.total, *(tally.labels[name] for name in ("pass", "fail", "hang"))),
        known={name: count for name, count in counts.items() if plain_signature(name) in known},
        new={name: count for name, count in counts.items() if plain_signature(name) not in known},
        warnings=warnings,
        code=code,
    )
