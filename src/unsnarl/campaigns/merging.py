# SPDX-License-Identifier: Apache-2.0
"""Shards of a hunt put together: one campaign, as if one machine had made all runs.

A run is known by its number (shards.py), so merging is the union of what the shards have. It is the
same in whatever order and grouping it is done, and merging something twice changes nothing: of two
runs with one number, which machines that are not alike may both have made, the lesser record is
taken, and which files are kept follows from the numbers alone (tally.Sample).
"""

from __future__ import annotations

import dataclasses
import itertools
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import msgspec

from unsnarl import config
from unsnarl.campaigns.merged_sites import ShardSites, merge_sites, read_sites, write_sites
from unsnarl.campaigns.shards import WHOLE, Shard
from unsnarl.campaigns.signature_split import stored_split, undivided
from unsnarl.campaigns.stdin import FILE as STDIN
from unsnarl.campaigns.store import FOLDER, Description, Store, Stored, described
from unsnarl.campaigns.tally import HUNT, Tally
from unsnarl.config import Settings
from unsnarl.errors import ToolError, UsageError
from unsnarl.execution.disk import storing
from unsnarl.execution.signatures import Split
from unsnarl.model.run import RunRecord
from unsnarl.runfile.renumbering import Renumbering, renumber

# What decides which runs are made and what is seen of them.
SAME = ("seed", "fail", "passed", "include", "switch", "fail_if", "ok_exit", "heap_errors",
        "window", "granularity")  # fmt: skip


class ShardRun(NamedTuple):
    """Where one shard has a run, and whether its file is there."""

    record: RunRecord
    shard: int
    kept: bool


class MergedRun(NamedTuple):
    """A run of the merged campaign; the source has its file if that is kept."""

    record: RunRecord
    source: ShardRun | None


@dataclasses.dataclass(frozen=True)
class Part:
    """A shard as it is stored: a campaign, which may have been merged itself."""

    folder: Path
    description: Description
    runs: Sequence[Stored]
    sites: ShardSites
    stdin: bytes | None

    @property
    def shards(self) -> tuple[str, ...]:
        """The shards that are in it."""
        return self.description.shards or (str(self.description.options.get("shard", "")),)

    def is_like(self, other: Part) -> bool:
        """Whether they are shards of the same hunt."""
        return not _difference(self, other)


@dataclasses.dataclass(frozen=True)
class Merged:
    """The new campaign.

    Attributes:
        missing: Shards that nobody has given.
        foreign: How many pieces of code not all shards have.
        damaged: Files that could not be taken over.
    """

    store: Store
    missing: tuple[str, ...]
    foreign: int
    damaged: tuple[str, ...]


def merge(folders: Sequence[Path], base: Path) -> Merged:
    """A new campaign under `base` with the runs of several.

    Args:
        folders: Campaigns, or folders that hold the shards of a hunt.
    """
    parts = [part for folder in folders for part in found(folder, base)]
    for one, other in itertools.pairwise(parts):
        why = _difference(one, other)
        if why:
            raise UsageError(
                "not-mergeable",
                f"{one.folder} and {other.folder} are not of one hunt: {why}",
                "give the shards of one command, with the same settings and the same seed",
            )
    sites = merge_sites([part.sites for part in parts])
    store = _created(parts, base)
    try:
        with storing(store.folder):
            write_sites(store.folder, sites.sites)
        damaged = list(_stored(store, parts, sites.renumberings))
    except BaseException:
        store.close()
        shutil.rmtree(store.folder, ignore_errors=True)
        raise
    return Merged(store, missing(store.description.shards), sites.foreign, tuple(damaged))


def found(folder: Path, base: Path) -> list[Part]:
    """The campaign in a folder; else the shards of the newest hunt in it that has any."""
    if (folder / "campaign.json").exists():
        part = _part(folder, base)
        if part.shards == ("",):
            raise UsageError(
                "not-mergeable",
                f"{folder} is a whole hunt, not a shard of one",
                "hunt with --shard I/N",
            )
        return [part]
    inside = sorted((folder / FOLDER).glob("*/campaign.json")) or sorted(
        folder.glob("*/campaign.json")
    )
    parts = [part for file in inside if (part := _part(file.parent, base)).shards != ("",)]
    if not parts:
        raise UsageError(
            "no-campaign", f"{folder} holds no shard of a hunt", "hunt with --shard I/N first"
        )
    return [part for part in parts if part.is_like(parts[-1])]


def unite(runs: Iterable[ShardRun]) -> dict[int, list[ShardRun]]:
    """By number: all sources of the record that is taken."""
    found: dict[int, list[ShardRun]] = {}
    for one in runs:
        best = found.setdefault(one.record.number, [one])
        mine, other = (msgspec.json.encode(row.record) for row in (one, best[0]))
        if mine < other:
            found[one.record.number] = [one]
        elif mine == other and best[0] is not one:
            best.append(one)
    return found


def choose(sources: Mapping[int, Sequence[ShardRun]], tally: Tally) -> list[MergedRun]:
    """All runs by their numbers, and whose files are kept: as the tally of one hunt decides."""
    kept: set[int] = set()
    for number in sorted(sources):
        record = sources[number][0].record
        tally.count(record, HUNT)
        if any(one.kept for one in sources[number]):
            keeps, gone = tally.keep(record)
            kept |= {number} if keeps else set()
            kept -= {gone} if gone is not None else set()
    return [_chosen(sources[number], number in kept) for number in sorted(sources)]


def missing(shards: Iterable[str]) -> tuple[str, ...]:
    """The other shards of the hunts that these are of."""
    given = set(map(Shard.parse, shards))
    counts = {shard.count for shard in given}
    # Whoever has all shards of one division lacks nothing of another one.
    if any(all(Shard(at, count) in given for at in range(1, count + 1)) for count in counts):
        return ()
    wanted = (Shard(at, count) for count in sorted(counts) for at in range(1, count + 1))
    return tuple(str(one) for one in wanted if one not in given)


def _chosen(sources: Sequence[ShardRun], keeps: bool) -> MergedRun:
    with_file = [one for one in sources if one.kept]
    return MergedRun(sources[0].record, with_file[0] if keeps and with_file else None)


def _part(folder: Path, base: Path) -> Part:
    store = Store.open(folder, base)
    split = stored_split(folder)
    try:
        # Extra runs behind a claim (support) belong to who made the claim.
        runs = [_undivided(one, split) for one in store.runs() if one.phase == HUNT]
    finally:
        store.close()
    stdin = folder / STDIN
    return Part(
        folder,
        store.description,
        runs,
        read_sites(folder, PurePath(described(folder).root)),
        stdin.read_bytes() if stdin.exists() else None,
    )


def _undivided(one: Stored, split: Split) -> Stored:
    """Which signatures are to be split shows when all runs are together."""
    signature = undivided(one.record.signature, split)
    record = msgspec.structs.replace(one.record, signature=signature)
    return msgspec.structs.replace(one, record=record)


def _difference(one: Part, other: Part) -> str:
    """What two shards of one hunt would have in common, and these have not; "" for nothing."""
    ours, theirs = one.description, other.description
    if ours.command != theirs.command:
        return f"the commands are `{' '.join(ours.command)}` and `{' '.join(theirs.command)}`"
    for name in SAME:
        values = ours.options.get(name), theirs.options.get(name)
        if values[0] != values[1]:
            return f"the setting {name} is {values[0]!r} and {values[1]!r}"
    return "" if one.stdin == other.stdin else "they read different standard inputs"


def _created(parts: Sequence[Part], base: Path) -> Store:
    first = min(parts, key=lambda part: Shard.parse(part.shards[0]))
    description = first.description
    shards = {Shard.parse(one) for part in parts for one in part.shards}
    options: dict[str, Any] = {**description.options, "shard": WHOLE, "jobs": Settings().jobs}
    made = Store.create(
        base,
        description.command,
        Path(description.cwd),
        Path(description.root),
        options=options,
        python=description.python,
        shards=tuple(map(str, sorted(shards, key=lambda one: (one.count, one.index)))),
    )
    if first.stdin is not None:
        with storing(made.folder):
            (made.folder / STDIN).write_bytes(first.stdin)
    return made


def _stored(
    store: Store, parts: Sequence[Part], renumberings: Sequence[Renumbering]
) -> Iterator[str]:
    """Store all runs; gives what is wrong with files that cannot be taken over."""
    settings = config.override(store.description.options, {})
    rows = (
        ShardRun(one.record, at, one.kept) for at, part in enumerate(parts) for one in part.runs
    )
    chosen = choose(unite(rows), Tally(settings.fail, settings.passed, settings.seed))
    for record, source in chosen:
        if source is None:
            store.add(record, HUNT, kept=False)
            continue
        file = store.run_file(record.number)
        try:
            _copy(parts[source.shard].folder, record, store)
            if renumberings[source.shard]:
                renumber(file, renumberings[source.shard])
            is_there = True
        except (OSError, ValueError, ToolError) as error:
            yield f"{parts[source.shard].folder}: {error}"
            is_there = False
        store.add(record, HUNT, kept=is_there)


def _copy(folder: Path, record: RunRecord, store: Store) -> None:
    stem = f"{record.number:06d}"
    with storing(store.folder):
        shutil.copyfile(folder / "runs" / f"{stem}.run", store.run_file(record.number))
        output = folder / "runs" / f"{stem}.out"
        if record.label != "pass" and output.exists():
            shutil.copyfile(output, store.output_file(record.number))
