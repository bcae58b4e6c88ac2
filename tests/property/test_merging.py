# SPDX-License-Identifier: Apache-2.0
"""Merging shards is a union: the same in any order and grouping, and twice is once."""

import json
from pathlib import PurePath

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unsnarl.campaigns.merged_sites import ShardSites, merge_sites, read_sites, write_sites
from unsnarl.campaigns.merging import ShardRun, choose, unite
from unsnarl.campaigns.shards import Shard
from unsnarl.campaigns.tally import HUNT, Tally
from unsnarl.model.event import PRIVATE_SITES
from unsnarl.model.run import RunRecord
from unsnarl.runfile.codes import CODES_FILE, Code, CodesFile, SiteEntry

WANTED = 4
LABELS = st.lists(st.sampled_from(["pass", "fail", "hang"]), min_size=1, max_size=80)


def record(number: int, label: str) -> RunRecord:
    signature = "" if label == "pass" else f"{label} {number % 2}"
    return RunRecord(number, label, signature, "walk", number, "gil", 0, 0, 0.1, 2, 2, None)


def hunted(records: list[RunRecord]) -> dict[int, bool]:
    """By number, whether a hunt of these runs kept the file."""
    tally, kept = Tally(WANTED, WANTED, 7), {}
    for one in records:
        tally.count(one, HUNT)
        kept[one.number], gone = tally.keep(one)
        if gone is not None:
            kept[gone] = False
    return kept


def sources(records: list[RunRecord]) -> list[ShardRun]:
    kept = hunted(records)
    return [ShardRun(one, 0, kept[one.number]) for one in records]


def merged(*parts: list[ShardRun]) -> list[ShardRun]:
    rows = choose(unite(one for part in parts for one in part), Tally(WANTED, WANTED, 7))
    return [ShardRun(record, 0, source is not None) for record, source in rows]


@given(labels=LABELS, count=st.integers(1, 9), data=st.data())
def test_shards_merged_are_the_one_hunt_however_they_are_grouped(labels, count, data):
    whole = [record(number, label) for number, label in enumerate(labels, 1)]
    parts = [
        sources([one for one in whole if Shard(at, count).owns(one.number)])
        for at in range(1, count + 1)
    ]
    expected = sources(whole)
    assert merged(*parts) == expected
    # In any order, in any grouping, some of them twice.
    left = data.draw(st.permutations(parts + data.draw(st.lists(st.sampled_from(parts)))))
    while len(left) > 1:
        at = data.draw(st.integers(2, len(left)))
        left = [merged(*left[:at]), *left[at:]]
    assert merged(*left) == expected
    assert merged(expected, expected) == expected


@given(labels=LABELS, other=LABELS)
def test_of_two_different_runs_with_one_number_both_orders_take_the_same(labels, other):
    one, two = (
        sources([record(number, label) for number, label in enumerate(some, 1)])
        for some in (labels, other)
    )
    taken = [[row.record for row in merged(*parts)] for parts in ((one, two), (two, one))]
    assert taken[0] == taken[1]


WATERMARK = 500


def code(index: int, base: int = 0) -> Code:
    entries = (SiteEntry(1, "read", f"x{index}", 10 * index), SiteEntry(3, "write", "y", 5))
    return Code(base, 5 + index, f"m{index}.py", f"f{index}", 10 * index, entries)


def spaced(indexes: list[int], start: int) -> list[Code]:
    """Code in the order in which it was loaded."""
    found = []
    for index in indexes:
        found.append(code(index, start))
        start += found[-1].size
    return found


def shard_sites(folder, listed: list[int], late: list[int]) -> ShardSites:
    """As a target's processes leave them."""
    folder.mkdir()
    file = CodesFile(1, WATERMARK, tuple(spaced(listed, 1)), shared=WATERMARK + 400)
    (folder / CODES_FILE).write_bytes(msgspec.json.encode(file))
    rows = [{"key": f"k{one.file}", **msgspec.to_builtins(one)} for one in spaced(late, WATERMARK)]
    for row in rows:
        row["file"] = f"/project/{row['file']}"
    lines = [{"codes": "x"}, *rows]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / (CODES_FILE + ".late")).write_text(text)
    return read_sites(folder, PurePath("/project"))


def resolved(sites: ShardSites, ids: list[int]) -> list[tuple[str, int]]:
    """What code each id is, and which of its sites."""
    listed = msgspec.json.decode(sites.text, type=CodesFile).codes
    codes = [*listed, *(line.code for line in sites.late)]
    found = []
    for one in ids:
        (owner,) = [code for code in codes if code.base <= one < code.base + code.size]
        found.append((owner.file, one - owner.base))
    return found


INDEXES = st.lists(st.integers(1, 8), unique=True)


@given(
    listed=st.lists(st.lists(st.integers(10, 13), min_size=1, unique=True), min_size=1, max_size=3),
    late=st.lists(INDEXES, min_size=3, max_size=3),
    data=st.data(),
)
def test_ids_of_all_shards_are_of_the_same_code_after_merging(tmp_path_factory, listed, late, data):
    folder = tmp_path_factory.mktemp("sites")
    shards = [
        shard_sites(folder / str(at), data.draw(st.sampled_from(listed)), late[at])
        for at in range(3)
    ]
    together = merge_sites(shards)
    for shard, renumbering in zip(shards, together.renumberings, strict=True):
        codes = msgspec.json.decode(shard.text, type=CodesFile).codes
        all_codes = [*codes, *(line.code for line in shard.late)]
        ids = [one.base + at for one in all_codes for at in range(one.size)]
        moved = renumbering.sites(np.array(ids, dtype=np.uint32)).tolist()
        assert resolved(together.sites, moved) == resolved(shard, ids)
        private = np.array([PRIVATE_SITES + 5], dtype=np.uint32)
        assert renumbering.sites(private).tolist() == private.tolist()
    # In two steps, the same list; written and read back as well.
    order = data.draw(st.permutations(shards))
    first = merge_sites(order[:2]).sites
    (folder / "merged").mkdir()
    write_sites(folder / "merged", first)
    stored = read_sites(folder / "merged", PurePath("/project"))
    in_steps = merge_sites([stored, order[2]]).sites
    assert in_steps.text == together.sites.text
    assert [line.code for line in in_steps.late] == [line.code for line in together.sites.late]
    assert merge_sites([in_steps, *shards]).sites == in_steps
