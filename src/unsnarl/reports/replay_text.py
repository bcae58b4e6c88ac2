# SPDX-License-Identifier: Apache-2.0
"""Replays and verifications, in words."""

from __future__ import annotations

import math

from unsnarl.replay.constraints import Constrained
from unsnarl.replay.fresh import Hunted
from unsnarl.replay.regress import Regressed
from unsnarl.replay.replayer import Replayed, Track
from unsnarl.replay.verify import FEWEST_CONSTRAINED, Verified
from unsnarl.reports.remarks import failure_bound, plural

UNMET = "the events that its constraints put in order no longer happen"


def remarks(replayed: Replayed) -> list[str]:
    """Where the program, or the run, is no longer what it was, and what was tried instead."""
    found = []
    if replayed.changed is not None:
        found.append(
            f"the program has changed: {at_segment(replayed.changed)}, {replayed.changed.message}"
        )
    if replayed.left is not None:
        found.append(left_sentence(replayed.left))
    if replayed.loose:
        found.append("replayed without the waits inside libraries, which have changed")
    if not replayed.failed and (replayed.constrained or not replayed.cut):
        found += fallback_lines(replayed)
    return found


def at_segment(track: Track) -> str:
    """`in segment 4 of 20, thread 0.1`."""
    return f"in segment {track.step} of {track.steps}, thread {track.thread}"


def left_sentence(track: Track) -> str:
    """Where a replay left its schedule."""
    where = f"{track.function}, {track.file}:{track.line} [{track.text}]"
    return (
        f"left the recorded schedule in segment {track.step} of {track.steps}: "
        f"thread {track.thread} did not reach {where if track.file else 'its end'} as recorded"
    )


def fallback_lines(replayed: Replayed) -> list[str]:
    """What came of the minimised constraints."""
    tried = replayed.constrained
    if tried is None:
        return ["it has no minimised constraints to try instead"]
    lines = [f"a constraint cannot be tried, its code is gone: {gone}" for gone in tried.gone]
    if not tried.runs:
        return lines
    whose = "its" if tried.run == replayed.run else f"run {tried.run}'s"
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
        f"in {tried.released} of {plural(tried.runs, 'run')} it was given up because no other "
        "thread could go on"
    )


def statement(verified: Verified) -> str:
    """What became of one failure after the edit."""
    tried = verified.constrained
    what = f"the {'proven' if tried else 'recorded'} interleaving"
    if verified.verdict == "fails":
        return f"{what} still fails: {_counts(verified)}"
    if verified.verdict == "differs":
        return f"{what} now fails in another way: {'; '.join(_other_ends(verified))}"
    if verified.verdict == "unmet":
        return f"{what} could not be tried: {_why_untested(verified)}. {_why_unmet(verified)}"
    if verified.verdict == "untested":
        return f"{what} was not tested: {_why_untested(verified)}{_needed(verified)}"
    if verified.verdict == "impossible":
        why = _given_up(tried) if tried else _left(verified)
        return f"{what} is now impossible: {_counts(verified)} fail; {why}"
    why = effect(tried) if tried else _followed(verified)
    return f"{what} no longer fails: {_counts(verified)} fail; {why}"


def kept_statement(one: Regressed) -> str:
    """What became of a kept interleaving."""
    tried = one.tried
    runs = plural(tried.runs, "run")
    if one.state == "fails":
        freely = ", with free switching only" if one.free else ""
        return f"fails under its {constraints_of(tried)}{freely}: {one.signature}"
    if one.state == "differs":
        return f"fails in another way under its {constraints_of(tried)}: {one.signature}"
    if one.state == "gone":
        return f"no longer applies, its code is gone: {tried.gone[0]}"
    if one.state == "unreached":
        return f"could not be tried in {runs}: {UNMET}"
    if one.avoided and not tried.kept and not tried.released:
        return "passes: under its orders the program no longer does what led to the failure"
    return f"passes: {effect(tried)}"


def _counts(verified: Verified) -> str:
    tried = verified.constrained
    counts = f"{verified.failed} of {plural(len(verified.runs), 'replay')}"
    if tried is None or not tried.runs:
        return counts
    runs = plural(tried.runs, "run")
    text = f"{counts} and {tried.failed} of {runs} under its {constraints_of(tried)}"
    if not tried.free_failed:
        return text
    return f"{text}, and {tried.free_failed} of {tried.free_runs} with free switching"


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
    if tried is not None and tried.runs < FEWEST_CONSTRAINED:
        return f"only {plural(tried.runs, 'run')} under its {constraints_of(tried)} were made"
    if tried is not None:
        return UNMET
    if not verified.runs:
        return "there was no time for a replay"
    changed = verified.changed
    return f"{at_segment(changed)}, {changed.message}" if changed else "its code is gone"


def _why_unmet(verified: Verified) -> str:
    """Why fresh runs suffice."""
    rate = verified.before
    if rate is None:
        return ""
    chance = rate.chance_to_miss(verified.fresh)
    exponent = max(-99, math.ceil(math.log10(chance))) if chance else -99
    before = f"before, {rate.failed} of {plural(rate.runs, rate.switch + ' run')} failed"
    now = f"now, 0 of {verified.fresh}"
    return f"{before}; {now}: had nothing changed, the chance of that would be below 1e{exponent}"


def _needed(verified: Verified) -> str:
    """How many fresh runs would suffice."""
    rate = verified.before
    if rate is None or verified.fresh >= rate.runs_needed:
        return ""
    runs = f"{rate.runs_needed} {rate.switch} runs"
    return f". {runs} without a failure would rule it out, {verified.fresh} passed (--time)"


def _left(verified: Verified) -> str:
    where = left_sentence(verified.left) if verified.left else "none follows its schedule"
    return f"{where}; without minimised constraints, similar schedules remain untested"


def _followed(verified: Verified) -> str:
    return f"{verified.followed} of {len(verified.runs)} followed the recorded schedule to its end"


def hunt_statement(hunted: Hunted) -> list[str]:
    """What the fresh hunt adds: failures, else the bound."""
    runs = plural(hunted.runs.total, "run")
    lines = [f"the same failure in {n} of {runs}: {name}" for name, n in hunted.repeated.items()]
    lines += [f"a new failure in {n} of {runs}: {name}" for name, n in hunted.new.items()]
    lines += [
        f"only with free switching, {n} of {runs}: {name}" for name, n in hunted.latent.items()
    ]
    if hunted.stopped is not None:
        head = hunted.stopped.message.partition("\n")[0]
        lines.append(f"ended after {runs}: {head} [{hunted.stopped.slug}]")
    elif not lines:
        lines.append(failure_bound(hunted.runs))
    elif hunted.latent and not hunted.repeated and not hunted.new:
        passed = hunted.passing.get("gil", 0)
        lines.append(f"0 failures in {plural(passed, 'run')} under the interpreter's lock")
    return lines
