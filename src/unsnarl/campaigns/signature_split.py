# SPDX-License-Identifier: Apache-2.0
"""Failures that differ only in an exception that the program swallowed are different failures.

What a run's own signature says is the symptom. Which of the exceptions behind it matter shows only
when runs are compared, so signatures are split after the hunt; from then on runs are judged by the
same rule (docs/adr/0041).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from unsnarl.campaigns.store import Store
from unsnarl.campaigns.swallowed import NEARLY_ALL
from unsnarl.campaigns.tally import Tally
from unsnarl.execution.disk import storing
from unsnarl.execution.signatures import Split, distinguished

FILE = "swallowed.json"
# What the share of failing runs alone would bring about so often says nothing.
CHANCE = 0.01


def split_signatures(store: Store, tally: Tally) -> Split:
    """Rename the failures of a campaign whose runs swallowed different exceptions."""
    split = {**stored_split(store.folder)}
    for signature in sorted({name for _, name in tally.failing}):
        chosen = _chosen(signature, tally)
        if chosen:
            split[signature] = (*split.get(signature, ()), *chosen)
            _rename(signature, chosen, store, tally)
    if split:
        with storing(store.folder):
            (store.folder / FILE).write_bytes(msgspec.json.encode(split))
    return split


def stored_split(folder: Path) -> Split:
    """How the signatures of a campaign were split; {} if they were not."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=dict[str, tuple[str, ...]])
    except (OSError, msgspec.MsgspecError):
        return {}


def undivided(signature: str, split: Split) -> str:
    """The signature that a run had before signatures were split."""
    for whole, chosen in split.items():
        if signature in {distinguished(whole, (one,), (one,)) for one in chosen}:
            return undivided(whole, split)
    return signature


def _chosen(signature: str, tally: Tally) -> tuple[str, ...]:
    """The exceptions by which to split a signature, the most frequent first."""
    switch = tally.basis(signature)
    passing = tally.caught[switch, ""].values()
    failing = list(tally.caught[switch, signature].values())
    usual = {one for run in passing for one in run}
    return groups([[one for one in run if one not in usual] for run in failing], len(passing))


def groups(failing: Sequence[Collection[str]], passing: int) -> tuple[str, ...]:
    """The exceptions that divide failing runs; () if they are all alike.

    Args:
        failing: Of each run what no passing run has.
        passing: How many passing runs there are.
    """
    chance = len(failing) / max(1, len(failing) + passing)
    fewest = next(count for count in range(1, 1000) if chance**count < CHANCE or count == 999)
    found: list[str] = []
    left = list(failing)
    while left:
        counts = Counter(one for run in left for one in set(run))
        best, count = max(counts.items(), key=lambda item: (item[1], item[0]), default=("", 0))
        if count < fewest:
            break
        # Even those that have others, too: what most runs have is what they have in common.
        if not found and count >= NEARLY_ALL * len(failing):
            return ()
        found.append(best)
        left = [run for run in left if best not in run]
    return tuple(found) if len(found) > 1 or (found and len(left) >= fewest) else ()


def _rename(signature: str, chosen: Sequence[str], store: Store, tally: Tally) -> None:
    names: dict[int, str] = {}
    for (_, name), runs in tally.caught.items():
        if name == signature:
            for number, caught in runs.items():
                names[number] = distinguished(signature, caught, chosen)
    tally.rename(signature, names)
    store.rename(names)
