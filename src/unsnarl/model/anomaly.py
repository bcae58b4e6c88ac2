# SPDX-License-Identifier: Apache-2.0
"""Anomalies: communication of a deployed program that its baseline does not have.

A watched program leaves them in batches: in files of its spool, and in what it sends to a
collector. Both have these bytes, and neither is trusted: `decoded` checks them before anybody looks
at a field. Fields may be added, with a default; none is renamed or removed within one format.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from unsnarl.errors import UsageError

FORMAT = 1
BATCH_BYTES_MOST = 1 << 20
ANOMALIES_MOST = 200  # of a batch
POINTS_MOST = 16
CONTEXTS_MOST = 64
COUNT_MOST = 1 << 53  # JSON's numbers are exact up to here

# Anything a program's source may have, but bounded: long lines are cut by who writes them.
Text = Annotated[str, msgspec.Meta(max_length=1000)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Id = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
Digest = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{64})?$")]
Count = Annotated[int, msgspec.Meta(ge=1, le=COUNT_MOST)]
Number = Annotated[int, msgspec.Meta(ge=0, le=COUNT_MOST)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e11)]
Score = Annotated[float, msgspec.Meta(ge=0)]


class AnomalyPoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """One end of the communication: as a finding's point, without what only a replay knows.

    Attributes:
        file: Relative to the program's folder where it is in there.
        role: Which thread of the anomaly: 1 or 2.
        variable: The attribute, name or container; "" if the code does not name it.
        text: The line of the source; "" if it was not to be had.
    """

    file: Text
    line: Number
    function: Text
    op: Name
    role: Annotated[int, msgspec.Meta(ge=0, le=POINTS_MOST)]
    region: Literal["source", "sink"]
    variable: Text = ""
    text: Text = ""


class AnomalyContext(msgspec.Struct, frozen=True):
    """The contexts of both ends, the newest event first: `remote write, local read`."""

    source: Annotated[str, msgspec.Meta(max_length=100)]
    sink: Annotated[str, msgspec.Meta(max_length=100)]
    count: Count = 1


class Anomaly(msgspec.Struct, frozen=True):
    """Code points whose communication the baseline lacks, in one instance of the program.

    Attributes:
        id: Of the program's name and the code points (`anomaly_id`): the same in every instance
            and version in which these lines are the same.
        score: What the unlabelled method gives it, 1/rank: higher is more unusual.
        count: How often it was seen, by this instance, since it started.
        bursts: In how many bursts.
        first_seen: In seconds since 1970, as `last_seen`.
        contexts: Those that the baseline does not have; the most frequent ones if they are many.
        edge: Whether the baseline does not even have the two points together, in any context.
    """

    id: Id
    score: Score
    count: Count
    first_seen: Seconds
    last_seen: Seconds
    points: Annotated[tuple[AnomalyPoint, ...], msgspec.Meta(min_length=1, max_length=POINTS_MOST)]
    contexts: Annotated[tuple[AnomalyContext, ...], msgspec.Meta(max_length=CONTEXTS_MOST)] = ()
    bursts: Count = 1
    edge: bool = False


class WatchedProgram(msgspec.Struct, frozen=True):
    """Which program, in which version, on which interpreter.

    Attributes:
        interpreter: `CPython 3.11.9`, or "native" for a C or C++ program.
        baseline: The SHA-256 of the baseline's content; "" if there was none.
    """

    name: Name
    version: Annotated[str, msgspec.Meta(max_length=200)] = ""
    interpreter: Annotated[str, msgspec.Meta(max_length=200)] = ""
    baseline: Digest = ""


class AnomalyBatch(msgspec.Struct, frozen=True):
    """What is written to the spool, and sent, at once.

    A later batch of the same instance may have an anomaly once more, with greater counts: they
    replace the earlier ones, they are not added to them.

    Attributes:
        id: Random: a batch that comes twice has the same one.
        instance: Random: one for each process that is watched.
        created: In seconds since 1970.
        dropped: How many anomalies this instance saw and left out, because they were too many.
        overhead: The measured share of the program's time that watching took, up to now.
        bursts: How many bursts it took, up to now.
    """

    format: int
    id: Id
    instance: Id
    program: WatchedProgram
    created: Seconds
    anomalies: Annotated[tuple[Anomaly, ...], msgspec.Meta(max_length=ANOMALIES_MOST)]
    dropped: Number = 0
    overhead: Score = 0.0
    bursts: Number = 0


class _Head(msgspec.Struct):
    format: int = 0


def anomaly_id(program: str, points: tuple[AnomalyPoint, ...]) -> str:
    """The stable name of an anomaly: of the program and its code points, without line numbers.

    Nor does the variable count: how it is called is known only once it was seen.
    """
    claim = [
        (one.file, one.function, one.op, " ".join(one.text.split()), one.region) for one in points
    ]
    return hashlib.sha256(msgspec.json.encode([program, claim])).hexdigest()[:16]


def encoded(batch: AnomalyBatch) -> bytes:
    """The bytes of a batch, as `decoded` reads them."""
    return msgspec.json.encode(batch)


def decoded(data: bytes) -> AnomalyBatch:
    """Read a batch from untrusted bytes; raises UsageError (`bad-anomaly`) that says what is wrong.

    What it returns is of this format, within all limits, has no anomaly twice, and ids that are
    those of its points. msgspec itself refuses infinite numbers and text that is not UTF-8.
    """
    if len(data) > BATCH_BYTES_MOST:
        raise _bad(f"it has {len(data)} bytes, {BATCH_BYTES_MOST} are allowed")
    try:
        found = msgspec.json.decode(data, type=_Head).format
        if found != FORMAT:
            raise _bad(f"its format is {found}, this version of unsnarl reads {FORMAT}")
        batch = msgspec.json.decode(data, type=AnomalyBatch)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _bad(str(error)) from None
    for complaint in _complaints(batch):
        raise _bad(complaint)
    return batch


def _complaints(batch: AnomalyBatch) -> Iterator[str]:
    """What the types cannot say."""
    ids = [one.id for one in batch.anomalies]
    if len(set(ids)) < len(ids):
        yield "it has an anomaly twice"
    for number, one in enumerate(batch.anomalies):
        if one.id != anomaly_id(batch.program.name, one.points):
            yield f"the id of anomaly {number} is not that of its program and points"
        if one.first_seen > one.last_seen:
            yield f"anomaly {number} was last seen before it was first seen"


def _bad(complaint: str) -> UsageError:
    return UsageError("bad-anomaly", f"this is no batch of anomalies: {complaint}")
