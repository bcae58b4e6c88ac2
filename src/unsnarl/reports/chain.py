# SPDX-License-Identifier: Apache-2.0
"""The chain from the race to the symptom: exceptions that the program swallowed on the way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from unsnarl.campaigns.swallowed import Swallowed
from unsnarl.model.report import FailureReport, SourceLine, SwallowedException
from unsnarl.model.run import Caught, Frame
from unsnarl.model.sources import Sources
from unsnarl.reports.facts import FailingRun
from unsnarl.reports.paths import shown_path
from unsnarl.reports.steps import clean

LONGEST_MESSAGE = 100


def chain_of(
    swallowed: Sequence[Swallowed], run: FailingRun, sources: Sources
) -> tuple[SwallowedException, ...]:
    """The exceptions that led to the failure of a run."""
    counts = {one.kind: one for one in swallowed}
    return tuple(_exception(one, counts[one.kind], sources) for one in run.chain)


def _exception(one: Caught, counts: Swallowed, sources: Sources) -> SwallowedException:
    return SwallowedException(
        type=one.type,
        call=one.call,
        message=one.message,
        thread=one.thread,
        raised=_source_line(one.frames[-1] if one.frames else one.by, sources),
        caught=_source_line(one.by, sources),
        failing=counts.failing,
        passing=counts.passing,
    )


def _source_line(frame: Frame, sources: Sources) -> SourceLine:
    text = sources.line(frame.file, frame.line)
    return SourceLine(sources.relative(frame.file), frame.line, frame.function, text)


def chain_note(failure: FailureReport) -> str:
    """`after KeyError: 'x' at session.py:1144, caught at helpers.py:18; the run fails at :33`."""
    if not failure.chain:
        return ""
    links, file = [], ""
    for one in failure.chain:
        raised, file = _position(one.raised.file, one.raised.line, file)
        if one.call:
            links.append(f"{_named(one)} at {raised}{_seen_in(one, failure)}")
            continue
        caught, file = _position(one.caught.file, one.caught.line, file)
        links.append(f"{_named(one)} at {raised}, caught at {caught}{_seen_in(one, failure)}")
    symptom = _symptom(failure, file)
    return f"{', then '.join(links)}; {symptom}"


def _position(file: str, line: int, before: str) -> tuple[str, str]:
    """`session.py:1144`; only `:1150` in the file that was named before."""
    return (f":{line}" if file == before else f"{shown_path(file)}:{line}"), file


def _named(one: SwallowedException) -> str:
    if one.call:
        return f"{one.call} returned {one.type}"
    message = clean(one.message.split("\n")[0])
    if len(message) > LONGEST_MESSAGE:
        message = message[: LONGEST_MESSAGE - 1] + "…"
    return f"{one.type}: {message}" if message else one.type


def _seen_in(one: SwallowedException, failure: FailureReport) -> str:
    """Only where it is not as clear as the sentence has it."""
    if not one.passing:
        return ""
    shares = f"{one.failing}/{failure.failing} failing, {one.passing}/{failure.passing} passing"
    return f" (in {shares} runs)"


def _symptom(failure: FailureReport, before: str) -> str:
    if failure.kind == "deadlock":
        return "then no thread can continue"
    where = failure.where.partition(" in ")[0]
    if not where:
        return "the run fails later"
    file, _, line = where.rpartition(":")
    position, _ = _position(file, int(line), before) if line.isdigit() else (where, "")
    is_test = PurePath(file).name.startswith("test") and failure.kind != "exit"
    return f"the {'test' if is_test else 'run'} fails at {position}"


def type_in(message: str) -> str:
    """What failed, without what it says: `std::logic_error` of `std::logic_error: no such page`."""
    return message.split("\n", maxsplit=1)[0].split(": ", maxsplit=1)[0].removesuffix(":")
