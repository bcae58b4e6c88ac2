# SPDX-License-Identifier: Apache-2.0
"""PRES as one of the methods of `unsnarl reproduce`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unsnarl.replay.target_process import TargetProcess
from unsnarl.reproduce.methods import Outcome
from unsnarl.reproduce.pres.search import Found, Search
from unsnarl.reproduce.pres.sketch import Sketch, sketch_of
from unsnarl.reproduce.recorded import Case


def reproduce(
    case: Case, process: TargetProcess, tries: int, progress: Callable[[int], None]
) -> Outcome:
    """Search along the sketch of a record."""
    sketch = sketch_of(case)
    search = Search(sketch, case, process.trials, process.codes.parent, progress)
    found = search.run(tries)
    last = found.reproduced
    return Outcome(
        tries=len(found.tries),
        trial=last.trial if last else None,
        replayed=found.replayed,
        flaky=found.flaky,
        facts=_facts(sketch, found),
        lines=tuple(_lines(sketch, found)),
    )


def _facts(sketch: Sketch, found: Found) -> dict[str, Any]:
    last = found.reproduced
    return {
        "events": sketch.total,
        "orders": sketch.demands,
        "clocks": sketch.has_ranges,
        "followed": (last.passed if last else found.farthest),
        "diverged": last.diverged if last else min((t.diverged for t in found.tries), default=0),
        "flipped": len(last.flips) if last else 0,
    }


def _lines(sketch: Sketch, found: Found) -> list[str]:
    lines = []
    if not sketch.has_ranges:
        lines.append(
            "the clocks of some cores were not measured, and prove no order: unsnarl clocks"
        )
    last = found.reproduced
    if last is not None:
        turned = len(last.flips)
        how = f"{turned} racing pair{'s' * (turned != 1)} turned round" if turned else "as stamped"
        if not turned and last.trial.plan.strategy != "sketch":
            how = "what was not recorded drawn by chance"
        lines.append(f"along {last.passed} of {sketch.total} recorded events, {how}")
    else:
        lines.append(f"the best try followed {found.farthest} of {sketch.total} recorded events")
    return lines
