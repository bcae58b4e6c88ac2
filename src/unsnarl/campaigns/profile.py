# SPDX-License-Identifier: Apache-2.0
"""What a campaign takes from a run file: the profile for later plans, and who waited where."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unsnarl.campaigns.rotation import Profile
from unsnarl.model.run import Frame, in_cycle
from unsnarl.model.site import Op
from unsnarl.runfile import RunFile, SiteTable

LOCK_OPS = (Op.ACQUIRE, Op.RELEASE, Op.WAIT)


def profile_of(run: RunFile) -> Profile:
    """The profile that the rotation learns from."""
    counts: dict[str, dict[int, int]] = {thread.path: {} for thread in run.threads}
    heads: dict[int, int] = {}
    for thread, site, count, head, *_ in run.counts.tolist():
        counts[run.threads[thread].path][site] = count
        heads[site] = head
    shared = frozenset(run.shared.tolist())
    sources = {(point >> 4, point & 15) for point in np.unique(run.edges["source_point"]).tolist()}
    return Profile(
        steps=run.counters["steps"],
        shared=shared,
        counts=counts,
        heads=heads,
        edges=_site_pairs(run),
        contested=frozenset(s for s, op in sources if s in shared or op in LOCK_OPS),
    )


def _site_pairs(run: RunFile) -> tuple[tuple[int, int], ...]:
    source = run.edges["source_point"].astype(np.uint64) >> np.uint64(4)
    sink = run.edges["sink_point"].astype(np.uint64) >> np.uint64(4)
    pairs = np.unique(source << np.uint64(32) | sink).tolist()
    return tuple((pair >> 32, pair & 0xFFFF_FFFF) for pair in pairs)


def waiting_frames(run: RunFile, codes: Path, root: Path) -> list[Frame]:
    """Where the threads of a deadlock wait for each other.

    Only the threads of a cycle count, where there is one: which others happen to wait for them
    differs from run to run.
    """
    if not run.waits:
        return []
    table = SiteTable.load(codes, root).for_run(run)
    sites = [table.site(wait.point >> 4) for wait in in_cycle(run.waits) or run.waits]
    return [Frame(str(root / s.file), s.line, s.function) for s in sites if s.line]
