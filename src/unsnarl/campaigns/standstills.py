# SPDX-License-Identifier: Apache-2.0
"""Which standstill of a failing run became its failure (docs/adr/0032).

A run that timed out somewhere has often timed out elsewhere, too: a loop that polls a queue does so
all the time. A cycle of waits can be ended by nobody but a time limit, whatever other threads do; a
run may still pass by luck after that. Of other waits the last ones count, from which the program
went on to its failure, if every thread was among them and no passing run comes there. Where it had
failed before, they only came of that: a pool that was opened twice is closed once. A short limit
that runs out in a thread which does not fail is a timer: what it was to do comes next. So is a long
one that also runs out in passing runs: who polls every second for its work does so in all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from unsnarl.model.run import Standstill, in_cycle
from unsnarl.runfile import Interner, RunFile

# A cycle that more than this share of the passing runs has is how the program works: it takes its
# locks with a time limit, and tries again.
COMMON = 0.8
# Seconds: the gate lets shorter waits end by choice, too (docs/adr/0025).
SHORT = 0.5
# Where those wait that cannot go on, by campaign-wide points.
Waiting = frozenset[int]


def assign_standstills(
    failing: Sequence[RunFile], passing: Sequence[RunFile], interner: Interner
) -> int:
    """Gives each failing run the standstill that became its failure, if there is one.

    Returns how many passing runs came to the most frequent one of these.
    """

    def waiting(one: Standstill, run: RunFile) -> Waiting:
        raw = np.array(sorted(one.waiting), dtype=np.uint32)
        return frozenset(interner.indexes(raw, run).tolist())

    def ran_out(one: Standstill, run: RunFile) -> tuple[int, float | None]:
        raw = next(wait.point for wait in one.waits if wait.thread == one.ran_out)
        index = interner.indexes(np.array([raw], dtype=np.uint32), run)[0]
        return int(index), one.limits.get(one.ran_out)

    failed, passed = (_counts(runs, waiting) for runs in (failing, passing))
    usual = {ran_out(one, run) for run in passing for one in run.standstills}

    def is_timer(one: Standstill) -> bool:
        """Whether the wait that ended is short, or usual, and its thread did not fail."""
        path = run.threads[one.ran_out].path
        others = {run.failing_thread, *(run.threads[thread].path for thread in run.ends)}
        is_short = one.limits.get(one.ran_out, SHORT) < SHORT
        return path not in others and (is_short or ran_out(one, run) in usual)

    def is_cause(one: Standstill, way: Waiting) -> bool:
        if any(time < one.time for time in run.ends.values()):
            return False  # it had failed before: who waits then waits for what never comes
        if not in_cycle(one.waits):
            came_of_it = one.time > min(run.ends.values(), default=one.time)
            is_last = one is run.standstills[-1] and not came_of_it
            return is_last and one.is_alone and not passed[way] and not is_timer(one)
        share = passed[way] / max(len(passing), 1)
        return share <= COMMON and share < failed[way] / len(failing)

    chosen: Counter[Waiting] = Counter()
    for run in failing:
        ways = [(one, waiting(one, run)) for one in run.standstills if not _is_deadlock(run)]
        run.standstill, way = next((pair for pair in ways if is_cause(*pair)), (None, None))
        chosen.update([way] if way else [])
    return passed[max(chosen, key=lambda way: chosen[way])] if chosen else 0


def _counts(
    runs: Sequence[RunFile], waiting: Callable[[Standstill, RunFile], Waiting]
) -> Counter[Waiting]:
    """How many of the runs come to wait somewhere."""
    return Counter(way for run in runs for way in {waiting(one, run) for one in run.standstills})


def _is_deadlock(run: RunFile) -> bool:
    """Whether no time limit ended it: then its waits are those at the end."""
    return any(failure.kind == "deadlock" for failure in run.failures)
