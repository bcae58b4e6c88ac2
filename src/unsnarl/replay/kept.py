# SPDX-License-Identifier: Apache-2.0
"""Kept interleavings: the proof of a bug as a small file of the project, to be replayed for ever.

The file has what a reviewer wants to read: what it shows, which command it belongs to, and the few
orders that make the failure certain, by function and text of the line. It is an anchored schedule
without its segments (anchors.py), so it survives edits as a stored one does.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from unsnarl.errors import UsageError
from unsnarl.model.constraint import Actor
from unsnarl.model.event import Op
from unsnarl.model.run import Switch
from unsnarl.replay import anchors as anchored
from unsnarl.replay.anchors import (
    Anchor,
    AnchoredConstraint,
    AnchoredEvent,
    AnchoredSchedule,
)
from unsnarl.replay.portable import portable_file

FOLDER = Path("tests") / "interleavings"
VERSION = 1
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class KeptEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a thread does; the fields are the keys of the file.

    Attributes:
        line: The text of the line; `nth` distinguishes lines of the function with the same text.
        does: The operation, and `name` what is touched by it.
        time: It is the `time`-th time that the thread does this.
        equal: Any thread that the same code starts to run the same function may do it; `role` then
            says which of these do.
        shift: How far behind the instruction that touches the name it is.
        part: Which of the line's instructions it is, and how many there are.
    """

    thread: str
    file: str
    function: str
    line: str
    does: str
    name: str = ""
    nth: int = 0
    time: int = 1
    equal: bool = False
    role: int = 0
    shift: int = 0
    part: tuple[int, int] = (0, 1)

    @property
    def anchor(self) -> Anchor:
        """Its anchor; a kept interleaving knows no numbers of lines."""
        op = Op[self.does.upper()]
        return Anchor(self.file, self.function, 0, self.line, self.nth, self.name, op, self.shift)


class KeptOrder(msgspec.Struct, frozen=True):
    """The thread of `waits` waits there, and so before `then`, until `first` has happened."""

    first: KeptEvent
    waits: KeptEvent
    then: KeptEvent


class Kept(msgspec.Struct, frozen=True, omit_defaults=True, rename={"orders": "order"}):
    """A kept interleaving, as its file has it.

    Attributes:
        shows: What goes wrong, in a sentence.
        failure: The signature of the failure.
        command: What is run, in `folder` below the project's root.
        include: Installed packages that are instrumented.
        timeout: Seconds that one run may take.
    """

    version: int
    shows: str
    failure: str
    command: tuple[str, ...]
    orders: tuple[KeptOrder, ...]
    folder: str = "."
    switch: Switch = "gil"
    include: tuple[str, ...] = ()
    fail_if: str = ""
    ok_exit: tuple[int, ...] = ()
    timeout: float = 10.0

    @property
    def schedule(self) -> AnchoredSchedule:
        """Its constraints, as replays know them; there are no segments to follow."""
        anchors: dict[Anchor, int] = {}

        def event(one: KeptEvent) -> AnchoredEvent:
            at = anchors.setdefault(one.anchor, len(anchors))
            return AnchoredEvent(one.thread, at, one.time, *one.part)

        constraints = tuple(
            AnchoredConstraint(event(one.first), event(one.waits), event(one.then))
            for one in self.orders
        )
        actors = tuple((_actor(one.first), _actor(one.waits)) for one in self.orders)
        return AnchoredSchedule(
            version=anchored.VERSION,
            run=0,
            signature=self.failure,
            switch=self.switch,
            seed=0,
            python="",
            anchors=tuple(anchors),
            segments=(),
            constraints=constraints,
            actors=actors,
        )


def _actor(event: KeptEvent) -> Actor:
    return Actor(event.thread, event.equal, event.role)


def orders_of(schedule: AnchoredSchedule) -> tuple[KeptOrder, ...]:
    """The constraints of a stored schedule, as a file has them."""
    pairs = schedule.actors or tuple(
        (Actor(one.before.path), Actor(one.hold.path)) for one in schedule.constraints
    )

    def kept(event: AnchoredEvent, actor: Actor) -> KeptEvent:
        anchor = schedule.anchors[event.anchor]
        return KeptEvent(
            thread=actor.path,
            file=portable_file(anchor.file),
            function=anchor.function,
            line=anchor.text,
            does=Op(anchor.op).word,
            name=anchor.name,
            nth=anchor.nth,
            time=event.occurrence,
            equal=actor.equal,
            role=actor.role,
            shift=anchor.shift,
            part=(event.site, event.sites),
        )

    return tuple(
        KeptOrder(kept(one.before, early), kept(one.hold, late), kept(one.after, late))
        for one, (early, late) in zip(schedule.constraints, pairs, strict=True)
    )


def kept_files(root: Path) -> list[Path]:
    """The kept interleavings of a project."""
    return sorted((root / FOLDER).glob("*.toml"))


def kept_file(root: Path, name: str) -> Path:
    """Where the interleaving of this name is, or will be."""
    if not NAME.fullmatch(name):
        raise UsageError("bad-argument", f"{name!r} is no name of a file")
    return root / FOLDER / f"{name}.toml"


def read_kept(file: Path) -> Kept:
    """Read the file of a kept interleaving, with checks."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        kept = msgspec.convert(content, Kept)
        if kept.version != VERSION:
            raise ValueError(f"it has version {kept.version}, this unsnarl reads {VERSION}")
        _ = kept.schedule  # every operation must be one
    except (OSError, ValueError, KeyError, msgspec.ValidationError) as error:
        raise UsageError("bad-kept", f"cannot read {file}: {error}") from None
    return kept


def text_of(kept: Kept, name: str) -> str:
    """The content of the file: small, and for people."""
    values = {key: value for key, value in msgspec.to_builtins(kept).items() if key != "order"}
    rows = [
        f"# A thread bug, kept by `unsnarl keep {name}`. It is replayed by",
        "# `pytest --unsnarl-regress` and by `unsnarl verify`: it fails while the bug is there.",
        *_pairs(values),
    ]
    for order in kept.orders:
        rows += ["", "[[order]]"]
        for key in KeptOrder.__struct_fields__:
            rows += [f"[order.{key}]", *_pairs(msgspec.to_builtins(getattr(order, key)))]
    return "\n".join(rows) + "\n"


def _pairs(values: dict[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        yield f"{key} = {_toml(value)}"


def _toml(value: Any) -> str:
    """A value of TOML: JSON has the same texts, numbers, truths and lists."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)
