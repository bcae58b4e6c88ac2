# SPDX-License-Identifier: Apache-2.0
"""The count of a campaign's runs, and which of their files are kept.

Kept passing runs are a uniform sample of all passing runs of a switching mode. The first ones would
come from other strategies than the failing runs, and the statistics would learn the scheduler.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, defaultdict
from collections.abc import Mapping

from unsnarl.model.run import RunRecord, Switch
from unsnarl.runfile import RunFile

# What the tables of a run may have had no room for.
LOSSES = ("cells_evicted", "edges_dropped", "patterns_dropped", "trace_dropped")
HUNT = "hunt"
SUPPORT = "support"
# With so many failing runs under the lock, more of them with free switching count for nothing.
ENOUGH_TO_RANK = 10
# A target that passes one run in ten would have passed by then: 0.9 ** 40 is 1.5 %.
RUNS_WITHOUT_A_PASS = 40
# Of passing runs so many times what is wanted are kept: while failures are rare they come by
# themselves, and a ranking is better with them.
KEPT_PASSING = 2


class Sample:
    """So many of the runs that are added, each as likely as any other.

    Every run draws a lot by its number alone, and the lowest lots stay. So it does not matter in
    which order runs come, nor in how many sessions or shards they were made: a sample of samples is
    the sample of all.
    """

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._seed = seed
        self._highest_first: list[tuple[float, int]] = []

    def add(self, number: int) -> int | None:
        """The run that has no room any more, perhaps this one; None if all have."""
        lot = random.Random(f"{self._seed}/{number}/kept").random()
        if len(self._highest_first) < self._size:
            heapq.heappush(self._highest_first, (-lot, number))
            return None
        return heapq.heappushpop(self._highest_first, (-lot, number))[1]


class Tally:
    """Runs by label, switching mode and signature."""

    def __init__(self, want_fail: int, want_pass: int, seed: int) -> None:
        self.want_fail = want_fail
        self.want_pass = want_pass
        self.labels: Counter[str] = Counter()
        self.passing: Counter[str] = Counter()
        self.failing: Counter[tuple[str, str]] = Counter()
        self.runs: Counter[str] = Counter()
        self.support: Counter[str] = Counter()
        self.counters: Counter[str] = Counter()
        self.unlisted: set[str] = set()
        self.unseen: set[str] = set()
        # By mode and signature ("" for runs that passed), by number: what a run swallowed.
        self.caught: dict[tuple[str, str], dict[int, tuple[str, ...]]] = defaultdict(dict)
        self.first_failing: RunRecord | None = None
        self.first: RunRecord | None = None
        self.threads_seen = 0
        self.threads_controlled = 0
        self.without_file = 0
        self.alone = 0
        most = KEPT_PASSING * want_pass
        self._kept_passing: dict[str, Sample] = defaultdict(lambda: Sample(most, seed))
        self._kept_failing: Counter[tuple[str, str]] = Counter()

    @property
    def total(self) -> int:
        """Runs of the hunt itself, without the extra ones behind a claim."""
        return self.labels.total()

    def count(self, record: RunRecord, phase: str) -> None:
        """Take in one finished run."""
        if phase == SUPPORT:
            self.support[record.signature if record.label != "pass" else ""] += 1
            return
        self.first = self.first or record
        self.labels[record.label] += 1
        self.runs[record.switch] += 1
        if record.label == "pass":
            self.passing[record.switch] += 1
        else:
            self.first_failing = self.first_failing or record
            self.failing[record.switch, record.signature] += 1
        self._count_threads(record)

    def _count_threads(self, record: RunRecord) -> None:
        """The run with most threads out of control stands for the campaign; else the largest."""
        seen, controlled = record.threads_seen, record.threads_controlled
        worst = (self.threads_seen - self.threads_controlled, self.threads_seen)
        if (seen - controlled, seen) > worst:
            self.threads_seen, self.threads_controlled = seen, controlled
        self.without_file += seen == 0
        self.alone += seen == 1

    def count_losses(self, run: RunFile) -> None:
        """Remember in how many runs something could not be recorded or controlled."""
        for name in (*LOSSES, "uncontrolled", "aliased"):
            self.counters[name] += run.counters[name] > 0
        self.unlisted.update(run.notes.unlisted)
        self.unseen.update(run.notes.unseen)

    def note_caught(self, record: RunRecord, exceptions: tuple[str, ...]) -> None:
        """Remember which exceptions a run of the hunt swallowed."""
        signature = "" if record.label == "pass" else record.signature
        self.caught[record.switch, signature][record.number] = exceptions

    def rename(self, signature: str, names: Mapping[int, str]) -> None:
        """Give runs of a signature others, by their numbers."""
        for switch in ("gil", "free"):
            for number in self.caught.pop((switch, signature), ()):
                self.failing[switch, signature] -= 1
                self.failing[switch, names[number]] += 1
        # Under which of the names the runs behind a claim would have failed is not known.
        for name in set(names.values()) if self.support[signature] else ():
            self.support[name] = self.support[signature]
        self.failing = +self.failing

    def best(self, switch: Switch) -> tuple[str, int]:
        """The most frequent signature of a mode and its count."""
        counts = {sig: n for (mode, sig), n in self.failing.items() if mode == switch}
        return max(counts.items(), key=lambda item: (item[1], item[0])) if counts else ("", 0)

    @property
    def always_fails(self) -> bool:
        """Whether no run passed, in so many that one in ten would have been seen."""
        return not self.labels["pass"] and self.total >= RUNS_WITHOUT_A_PASS

    def enough(self, switch: Switch, most: int) -> bool:
        """Whether the wanted numbers are in hand in this mode, or `most` if these are more."""
        failing, passing = self.best(switch)[1], self.passing[switch]
        return failing >= min(self.want_fail, most) and passing >= min(self.want_pass, most)

    def latent(self, signature: str) -> bool:
        """Whether a failure came only where the interpreter's lock would not allow it."""
        tried = self.runs["gil"] + self.support.total()
        seen = self.failing["gil", signature] + self.support[signature]
        return tried > 0 and not seen and self.failing["free", signature] > 0

    def basis(self, signature: str) -> Switch:
        """The mode whose runs explain a failure: under the lock, if it fails there often enough."""
        gil, free = (self.failing[mode, signature] for mode in ("gil", "free"))
        return "gil" if gil >= min(self.want_fail, ENOUGH_TO_RANK) or gil >= free else "free"

    def keep(self, record: RunRecord) -> tuple[bool, int | None]:
        """Whether to keep a run's file (asked after `count`), and which one must go for it."""
        if record.label != "pass":
            key = (record.switch, record.signature)
            self._kept_failing[key] += 1
            return self._kept_failing[key] <= self.want_fail, None
        gone = self._kept_passing[record.switch].add(record.number)
        return gone != record.number, gone if gone != record.number else None

    def restore(self, record: RunRecord, phase: str, kept: bool) -> None:
        """Take in a run of an earlier session."""
        self.count(record, phase)
        if kept and record.label == "pass":
            self._kept_passing[record.switch].add(record.number)
        elif kept:
            self._kept_failing[record.switch, record.signature] += 1
