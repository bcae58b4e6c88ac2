# SPDX-License-Identifier: Apache-2.0
"""Smaller programs: a thread less, a call less, simpler arguments."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from unsnarl.stress.program import CallProgram, MethodCall

Calls = tuple[MethodCall, ...]
# The simplest arguments of a call.
Simplest = Callable[[MethodCall], tuple[tuple[str, str], ...]]


def smallest(
    program: CallProgram, fails: Callable[[CallProgram], bool], simplest: Simplest, make: str
) -> CallProgram:
    """The first program without a smaller one that fails, the largest steps first."""
    left = smaller(program, simplest, make)
    for candidate in left:
        if fails(candidate):
            return smallest(candidate, fails, simplest, make)
    return program


def smaller(program: CallProgram, simplest: Simplest, make: str) -> Iterator[CallProgram]:
    """Programs that are one step smaller; `make` is the simplest text that makes an object."""
    if len(program.threads) > 2:
        for at in range(len(program.threads)):
            yield replace(program, threads=program.threads[:at] + program.threads[at + 1 :])
    if program.before and program.after:
        yield replace(program, before=(), after=())
    if len(program.before) > 1:
        yield replace(program, before=())
    if len(program.after) > 1:
        yield replace(program, after=())
    if max(map(len, program.threads)) > 1:
        yield from _single(program)
    for before in _without_one(program.before):
        yield replace(program, before=before)
    for after in _without_one(program.after):
        yield replace(program, after=after)
    for threads in _changed(program.threads, _without_one):
        if all(threads):
            yield replace(program, threads=threads)
    if program.make != make:
        yield replace(program, make=make)
    yield from _simpler(program, simplest)


def _single(program: CallProgram) -> Iterator[CallProgram]:
    """With one call of each thread."""
    plain = [[call for call in calls if call.takes is None] for calls in program.threads]
    for chosen in itertools.product(*plain):
        yield replace(program, threads=tuple((call,) for call in chosen))


def _simpler(program: CallProgram, simplest: Simplest) -> Iterator[CallProgram]:
    def change(calls: Calls) -> Iterator[Calls]:
        return _simplified(calls, simplest)

    for before in change(program.before):
        yield replace(program, before=before)
    for threads in _changed(program.threads, change):
        yield replace(program, threads=threads)
    for after in change(program.after):
        yield replace(program, after=after)


def _changed(
    threads: tuple[Calls, ...], change: Callable[[Calls], Iterator[Calls]]
) -> Iterator[tuple[Calls, ...]]:
    for at, calls in enumerate(threads):
        for changed in change(calls):
            yield (*threads[:at], changed, *threads[at + 1 :])


def _without_one(calls: Calls) -> Iterator[Calls]:
    """Without each of the calls, and without those that take what it gave."""
    for at in range(len(calls)):
        gone: set[int] = {at}
        kept: dict[int, int] = {}
        found: list[MethodCall] = []
        for index, call in enumerate(calls):
            if index in gone or call.takes in gone:
                gone.add(index)
                continue
            kept[index] = len(found)
            takes = None if call.takes is None else kept[call.takes]
            found.append(replace(call, takes=takes))
        yield tuple(found)


def _simplified(calls: Calls, simplest: Simplest) -> Iterator[Calls]:
    for at, call in enumerate(calls):
        for index, wanted in enumerate(simplest(call)):
            if index < len(call.arguments) and call.arguments[index] != wanted:
                arguments = (*call.arguments[:index], wanted, *call.arguments[index + 1 :])
                yield (*calls[:at], replace(call, arguments=arguments), *calls[at + 1 :])
