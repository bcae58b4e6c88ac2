# SPDX-License-Identifier: Apache-2.0
"""The notes of a run: one JSON object a line, written by the target's process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from unsnarl.model.record import Recorded
from unsnarl.model.run import Caught, Failure
from unsnarl.runfile.codes import Code


class Notes(msgspec.Struct, frozen=True):
    """All notes of one run, gathered by key."""

    plan: dict[str, Any]
    failures: tuple[Failure, ...]
    variables: dict[int, str]
    codes: tuple[Code, ...]
    values: tuple[Any, ...]
    locations: dict[int, Any] = {}  # by site, what a C program touched (native/probe_c/names.c)
    captured: tuple[Any, ...] = ()  # by a C program: values that still lack names
    unlisted: tuple[str, ...] = ()  # instrumented libraries whose sites are not known
    record: Recorded | None = None
    replaced: str = ""  # what the target set instead of our own (native/binding/replaced.c)
    unseen: tuple[str, ...] = ()  # accesses that no probe could see (native/binding/unseen.c)
    caught: tuple[Caught, ...] = ()  # exceptions, up to the failure, oldest first
    outcome: dict[str, Any] | None = None  # what the calls of a program of `stress` gave


class _Line(msgspec.Struct, frozen=True):
    """One line. Keys that are not known here are a later writer's, and are left alone."""

    run: dict[str, Any] | None = None
    failure: Failure | None = None
    variables: dict[int, str] | None = None
    codes: tuple[Code, ...] = ()
    values: tuple[Any, ...] = ()
    # The key is part of the format (native/probe_c/names.c), whatever it is called here.
    locations: dict[int, Any] | None = msgspec.field(default=None, name="places")
    captured: tuple[Any, ...] = ()
    unlisted: str = ""
    record: Recorded | None = None
    replaced: str = ""
    unseen: tuple[str, ...] = ()
    caught: Caught | None = None
    outcome: dict[str, Any] | None = None


_DECODER = msgspec.json.Decoder(_Line)


def parse_notes(text: bytes) -> Notes:
    """Parses the payload of a NOTES section; raises ValueError with the number of a bad line."""
    plan: dict[str, Any] = {}
    failures: list[Failure] = []
    variables: dict[int, str] = {}
    locations: dict[int, Any] = {}
    codes: list[Code] = []
    values: list[Any] = []
    captured: list[Any] = []
    unlisted: list[str] = []
    unseen: list[str] = []
    caught: list[Caught] = []
    record: Recorded | None = None
    replaced = ""
    outcome: dict[str, Any] | None = None
    for line in _lines(text):
        plan.update(line.run or {})
        failures.extend([line.failure] if line.failure else [])
        variables.update(line.variables or {})
        locations.update(line.locations or {})
        codes.extend(line.codes)
        values.extend(line.values)
        captured.extend(line.captured)
        unlisted.extend([line.unlisted] if line.unlisted else [])
        unseen.extend(line.unseen)
        # What is caught after the failure (in a teardown, say) is no part of it.
        caught.extend([line.caught] if line.caught and not failures else [])
        record = line.record or record
        replaced = line.replaced or replaced
        outcome = line.outcome or outcome
    lists = tuple(codes), tuple(values), locations, tuple(captured), tuple(unlisted)
    rest = record, replaced, tuple(unseen), tuple(caught), outcome
    return Notes(plan, tuple(failures), variables, *lists, *rest)


def _lines(text: bytes) -> Iterator[_Line]:
    for number, raw in enumerate(text.split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            yield _decode(raw)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"note {number} cannot be read: {error}") from error


def _decode(raw: bytes) -> _Line:
    try:
        return _DECODER.decode(raw)
    # A subclass of DecodeError: JSON that is right but of another shape is not read again.
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # An exception's message may hold lone surrogates (undecodable file names); the standard
        # library writes and reads them as escapes, msgspec refuses them.
        return msgspec.convert(_printable(json.loads(raw)), _Line, strict=False)


def _printable(value: Any) -> Any:
    """Replaces lone surrogates, so that the text can be written out again."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, list):
        return [_printable(item) for item in value]
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    return value
