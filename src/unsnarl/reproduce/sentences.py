# SPDX-License-Identifier: Apache-2.0
"""What is said of replays and of a verification, in words."""

from __future__ import annotations

from unsnarl.reports.remarks import failure_bound, plural
from unsnarl.reproduce.constraints import Constrained
from unsnarl.reproduce.fresh import Hunted
from unsnarl.reproduce.replay import Replayed, Track
from unsnarl.reproduce.verify import Verified

UNMET = "the events that its constraints order no longer happen"


def remarks(told: Replayed) -> list[str]:
    """Where the program, or the run, is no longer what it was, and what was tried then."""
    found = []
    if told.changed is not None:
        found.append(f"the program has changed: {at_step(told.changed)}, {told.changed.message}")
    if told.left is not None:
        found.append(left_sentence(told.left))
    if told.loose:
        found.append("followed again without the waits inside of libraries, which have changed")
    if not told.failed:
        found += fallback_lines(told)
    return found


def at_step(track: Track) -> str:
    """`at step 4 of 20, thread 0.1`."""
    return f"at step {track.step} of {track.steps}, thread {track.thread}"


def left_sentence(track: Track) -> str:
    """Where a replay left the track."""
    where = f"{track.function}, {track.file}:{track.line} [{track.text}]"
    return (
        f"left the recorded track at step {track.step} of {track.steps}: "
        f"thread {track.thread} did not come to {where if track.file else 'its end'} as it did then"
    )


def fallback_lines(told: Replayed) -> list[str]:
    """What came of the minimised constraints."""
    tried = told.constrained
    if tried is None:
        return ["it has no minimised constraints that could be tried instead"]
    lines = [f"a constraint cannot be tried, its code is gone: {gone}" for gone in tried.gone]
    if not tried.runs:
        return lines
    whose = "its" if tried.run == told.run else f"run {tried.run}'s"
    under = f"under {whose} {constraints_of(tried)}: {tried.failed} of {plural(tried.runs, 'run')}"
    if tried.failed:
        return [*lines, f"the failure comes back {under}"]
    return [*lines, f"the failure does not come back {under}; {effect(tried)}"]


def constraints_of(tried: Constrained) -> str:
    """`2 minimised constraints`, `2 of 3 minimised constraints` if one could not be tried."""
    left = tried.constraints - len(tried.gone)
    noun = plural(tried.constraints, "minimised constraint")
    return f"{left} of {noun}" if tried.gone else noun


def effect(tried: Constrained) -> str:
    """Whether the runs did what the constraints ask for."""
    if tried.kept:
        return f"{_kept(tried)}, and no longer leads to the failure"
    if tried.released:
        return f"the order is now impossible: {_given_up(tried)}"
    return UNMET


def _kept(tried: Constrained) -> str:
    return f"the order was kept in {tried.kept} of {plural(tried.runs, 'run')}"


def _given_up(tried: Constrained) -> str:
    return (
        f"in {tried.released} of {plural(tried.runs, 'run')} it had to be given up, because no "
        "other thread could go on"
    )


def statement(verified: Verified) -> str:
    """What is known of one failure after the edit."""
    tried = verified.constrained
    what = f"the {'proven' if tried else 'recorded'} interleaving"
    if verified.verdict == "fails":
        return f"{what} still fails: {_counts(verified)}"
    if verified.verdict == "differs":
        return f"{what} now fails in another way: {'; '.join(_other_ends(verified))}"
    if verified.verdict == "untested":
        return f"{what} was not tested: {_why_untested(verified)}"
    if verified.verdict == "impossible":
        why = _given_up(tried) if tried else _left(verified)
        return f"{what} is now impossible: {_counts(verified)} fail; {why}"
    why = effect(tried) if tried else _followed(verified)
    return f"{what} no longer fails: {_counts(verified)} fail; {why}"


def _counts(verified: Verified) -> str:
    tried = verified.constrained
    counts = f"{verified.failed} of {plural(len(verified.runs), 'replay')}"
    if tried is None or not tried.runs:
        return counts
    runs = plural(tried.runs, "run")
    return f"{counts} and {tried.failed} of {runs} under its {constraints_of(tried)}"


def _other_ends(verified: Verified) -> list[str]:
    """The ways in which replays, and runs under constraints, fail now."""
    tried = verified.constrained
    replays = plural(len(verified.runs), "replay")
    found = [f"{n} of {replays}: {name}" for name, n in verified.signatures.items() if name]
    if tried is not None:
        under = f"{plural(tried.runs, 'run')} under its {constraints_of(tried)}"
        found += [f"{n} of {under}: {name}" for name, n in tried.signatures.items() if name]
    return found


def _why_untested(verified: Verified) -> str:
    tried = verified.constrained
    if tried is not None and tried.gone:
        return f"its code is gone: {'; '.join(tried.gone)}"
    if tried is not None:
        return UNMET
    changed = verified.changed
    return f"{at_step(changed)}, {changed.message}" if changed else "its code is gone"


def _left(verified: Verified) -> str:
    where = left_sentence(verified.left) if verified.left else "none follows its schedule"
    return f"{where}; it has no minimised constraints, so nothing is said of others like it"


def _followed(verified: Verified) -> str:
    return f"{verified.followed} of {len(verified.runs)} followed the recorded schedule to its end"


def hunt_statement(hunted: Hunted) -> list[str]:
    """What the fresh hunt adds: failures, else the bound."""
    runs = plural(hunted.runs.total, "run")
    lines = [f"the same failure in {n} of {runs}: {name}" for name, n in hunted.known.items()]
    lines += [f"a new failure in {n} of {runs}: {name}" for name, n in hunted.new.items()]
    if hunted.stopped is not None:
        head = hunted.stopped.message.partition("\n")[0]
        lines.append(f"ended after {runs}: {head} [{hunted.stopped.slug}]")
    elif not lines:
        lines.append(failure_bound(hunted.runs))
    return lines
