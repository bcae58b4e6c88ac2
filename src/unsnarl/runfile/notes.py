# SPDX-License-Identifier: Apache-2.0
"""The notes of a run: one JSON object a line, written by the target's process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from unsnarl.model.record import Recorded
from unsnarl.model.run import Failure
from unsnarl.runfile.codes import Code


class Notes(msgspec.Struct, frozen=True):
    """All notes of one run, gathered by key."""

    plan: dict[str, Any]
    failures: tuple[Failure, ...]
    variables: dict[int, str]
    codes: tuple[Code, ...]
    values: tuple[Any, ...]
    places: dict[int, Any] = {}  # by site, where a C program was (native/probe_c/names.c)
    captured: tuple[Any, ...] = ()  # by a C program: values that still lack names
    unlisted: tuple[str, ...] = ()  # instrumented libraries whose sites are not known
    record: Recorded | None = None
    replaced: str = ""  # what the target set in place of our own (native/binding/replaced.c)


class _Line(msgspec.Struct, frozen=True):
    """One line. Keys that are not known here are a later writer's, and are left alone."""

    run: dict[str, Any] | None = None
    failure: Failure | None = None
    variables: dict[int, str] | None = None
    codes: tuple[Code, ...] = ()
    values: tuple[Any, ...] = ()
    places: dict[int, Any] | None = None
    captured: tuple[Any, ...] = ()
    unlisted: str = ""
    record: Recorded | None = None
    replaced: str = ""


_DECODER = msgspec.json.Decoder(_Line)


def parse_notes(text: bytes) -> Notes:
    """Parses the payload of a NOTES section; raises ValueError with the number of a bad line."""
    plan: dict[str, Any] = {}
    failures: list[Failure] = []
    variables: dict[int, str] = {}
    places: dict[int, Any] = {}
    codes: list[Code] = []
    values: list[Any] = []
    captured: list[Any] = []
    unlisted: list[str] = []
    record: Recorded | None = None
    replaced = ""
    for line in _lines(text):
        plan.update(line.run or {})
        failures.extend([line.failure] if line.failure else [])
        variables.update(line.variables or {})
        places.update(line.places or {})
        codes.extend(line.codes)
        values.extend(line.values)
        captured.extend(line.captured)
        unlisted.extend([line.unlisted] if line.unlisted else [])
        record = line.record or record
        replaced = line.replaced or replaced
    lists = tuple(codes), tuple(values), places, tuple(captured), tuple(unlisted)
    return Notes(plan, tuple(failures), variables, *lists, record, replaced)


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
