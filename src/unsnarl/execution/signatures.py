# SPDX-License-Identifier: Apache-2.0
"""Signatures: what distinguishes one failure from another.

A signature is a text that a person can read and that is the same for every run with the same bug:
`AttributeError in spider.py:work [item.get_d()]: '…' object has no attribute '…'`. It holds no line
number, so edits elsewhere in the file do not change it, and no value, which differs from run to
run; the text of the failing line keeps two bugs of one function apart.
"""

from __future__ import annotations

import linecache
import re
import signal
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from unsnarl.model.run import Caught, Failure, Frame

MESSAGE_LENGTH = 120
# By a signature: the swallowed exceptions that divide its runs, the most frequent first.
Split = Mapping[str, tuple[str, ...]]
OBJECT_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+\b")
# The order matters: addresses before numbers, quoted texts before what they contain.
NORMAL = (
    (re.compile(r"\bat 0x[0-9a-fA-F]+\b|\b0x[0-9a-fA-F]+\b"), "@…"),
    (re.compile(r"'(?:[^'\\]|\\.)*'"), "'…'"),
    (re.compile(r'"(?:[^"\\]|\\.)*"'), "'…'"),
    (re.compile(r"(?<![A-Za-z_0-9.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"), "N"),
    (re.compile(r"\b(?:True|False|None)\b"), "V"),
    # A list, set or dict of any length is one value.
    (re.compile(r"(?:N|V|'…')(?:\s*[,:]\s*(?:N|V|'…'))+"), "…"),
    (re.compile(r"[\[({]\s*(?:N|V|'…'|…)?\s*,?\s*[\])}]"), "[…]"),
    (re.compile(r"\s+"), " "),
)


def without_addresses(message: str) -> str:
    """A message without the addresses of objects: they are others in the next run."""
    return OBJECT_ADDRESS.sub("at 0x…", message)


def normalise(message: str) -> str:
    """The first line of a message with everything that changes from run to run taken out."""
    text = message.strip().partition("\n")[0]
    for pattern, replacement in NORMAL:
        text = pattern.sub(replacement, text)
    return text[:MESSAGE_LENGTH].strip()


def location(frame: Frame, root: Path) -> str:
    """`file:function`, with the file relative to the project where it is inside it."""
    path = Path(frame.file)
    if path.is_relative_to(root):
        path = path.relative_to(root)
    elif path.is_absolute():
        path = Path(*path.parts[-2:])
    return f"{path.as_posix()}:{frame.function}"


def point(frame: Frame, root: Path) -> str:
    """`file:function [text of the line]`."""
    text = linecache.getline(frame.file, frame.line).strip()
    return f"{location(frame, root)} [{text}]" if text else location(frame, root)


def of_exception(failure: Failure, root: Path) -> str:
    """Type, innermost user frame, normalised message; also for failed assertions."""
    name = failure.type or failure.kind
    where = f" in {point(failure.frames[-1], root)}" if failure.frames else ""
    message = normalise(failure.message)
    # pytest's own text of a failed assert restates the line, with values.
    if message.startswith("assert ") and failure.frames:
        message = ""
    return f"{name}{where}: {message}" if message else f"{name}{where}"


def of_signal(number: int, failure: Failure | None, root: Path) -> str:
    """The signal's name and, where noted, the frame it struck."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    if failure is not None and failure.frames:
        return f"{name} in {point(failure.frames[-1], root)}"
    return name


def of_deadlock(waiting: Iterable[Frame], root: Path) -> str:
    """The sorted set of the points at which threads wait for each other."""
    points = sorted({point(frame, root) for frame in waiting})
    return "deadlock: " + " | ".join(points) if points else "deadlock"


def of_hang(failure: Failure | None, root: Path) -> str:
    """A time-out, with the function where the run was if the run itself noted it."""
    if failure is not None and failure.frames:
        return f"hang in {location(failure.frames[-1], root)}"
    return "hang"


def of_exit(status: int, failure: Failure | None, root: Path) -> str:
    """A status other than 0 that no exception explains, and where the program chose it."""
    name = f"exit status {status}"
    if failure is None:
        return name
    where = f" in {point(failure.frames[-1], root)}" if failure.frames else ""
    message = normalise(failure.message)
    return f"{name}{where}" + ("" if message.startswith("exit status") else f": {message}")


def of_output(found: str) -> str:
    """What `--fail-if` matched."""
    return f"output: {normalise(found)}"


def of_caught(caught: Caught, root: Path) -> str:
    """An exception that the program swallowed: its type and where it was raised."""
    return f"{caught.type} in {point(caught.frames[-1], root)}" if caught.frames else caught.type


def distinguished(signature: str, swallowed: Collection[str], dividing: Iterable[str]) -> str:
    """The signature of a run that swallowed some exceptions, of which `dividing` matter."""
    found = next((one for one in dividing if one in swallowed), "")
    return f"{signature} after {found}" if found else signature
