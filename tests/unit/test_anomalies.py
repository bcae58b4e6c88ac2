# SPDX-License-Identifier: Apache-2.0
"""Batches of anomalies: what is read back, and what is refused."""

import msgspec
import pytest
from msgspec.structs import replace

from unsnarl.errors import UsageError
from unsnarl.model import anomaly
from unsnarl.model.anomaly import (
    Anomaly,
    AnomalyBatch,
    AnomalyContext,
    AnomalyPoint,
    WatchedProgram,
    anomaly_id,
)

POINTS = (
    AnomalyPoint("shop.py", 12, "Cart.add", "write", 1, "source", "Cart.total", "self.total = new"),
    AnomalyPoint("shop.py", 20, "Cart.pay", "read", 2, "sink", "Cart.total", "return self.total"),
)
ONE = Anomaly(
    id=anomaly_id("shop", POINTS),
    score=0.5,
    count=3,
    first_seen=1000.0,
    last_seen=2000.0,
    points=POINTS,
    contexts=(AnomalyContext("local read", "remote write, local read", 3),),
)
BATCH = AnomalyBatch(
    format=anomaly.FORMAT,
    id="0123456789abcdef",
    instance="fedcba9876543210",
    program=WatchedProgram("shop", "1.2", "CPython 3.11.9", "a" * 64),
    created=2000.5,
    anomalies=(ONE,),
)


def plain() -> dict[str, object]:
    found: dict[str, object] = msgspec.json.decode(anomaly.encoded(BATCH))
    return found


def test_a_batch_is_read_back() -> None:
    assert anomaly.decoded(anomaly.encoded(BATCH)) == BATCH


def test_an_id_survives_edits_elsewhere_and_is_another_for_other_code() -> None:
    moved = tuple(replace(one, line=one.line + 7, text=f"  {one.text}") for one in POINTS)
    assert anomaly_id("shop", moved) == ONE.id
    assert anomaly_id("bank", POINTS) != ONE.id
    assert anomaly_id("shop", POINTS[:1]) != ONE.id
    assert anomaly_id("shop", (replace(POINTS[0], op="read"), POINTS[1])) != ONE.id


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"format": 2}, "its format is 2"),
        ({"format": "1"}, "format"),
        ({"id": "not hexadecimal!"}, r"\$\.id"),
        ({"anomalies": [msgspec.to_builtins(ONE)] * 2}, "twice"),
        ({"anomalies": [msgspec.to_builtins(ONE)] * 201}, "length"),
        ({"anomalies": [msgspec.to_builtins(replace(ONE, id="0" * 16))]}, "not that of its"),
        ({"anomalies": [msgspec.to_builtins(replace(ONE, last_seen=1.0))]}, "before"),
        ({"anomalies": [msgspec.to_builtins(replace(ONE, count=0))]}, "count"),
        ({"anomalies": [msgspec.to_builtins(replace(ONE, points=()))]}, "points"),
        ({"program": {"name": ""}}, "name"),
        ({"program": {"name": "x" * 201}}, "name"),
        ({"program": {"name": "shop", "baseline": "zz"}}, "baseline"),
        ({"dropped": -1}, "dropped"),
        ({"overhead": -0.5}, "overhead"),
    ],
)
def test_a_wrong_batch_is_refused(change: dict[str, object], complaint: str) -> None:
    data = msgspec.json.encode({**plain(), **change})
    with pytest.raises(UsageError, match=complaint) as caught:
        anomaly.decoded(data)
    assert caught.value.slug == "bad-anomaly"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        anomaly.encoded(BATCH)[:-9],
        anomaly.encoded(BATCH).replace(b"0.5", b"1e999"),
        anomaly.encoded(BATCH).replace(b"0.5", b"NaN"),
        anomaly.encoded(BATCH).replace(b"Cart.pay", b"\\ud800pay"),
        b" " * (anomaly.BATCH_BYTES_MOST + 1),
    ],
)
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(UsageError) as caught:
        anomaly.decoded(data)
    assert caught.value.slug == "bad-anomaly"


def test_names_with_html_are_text() -> None:
    points = (replace(POINTS[0], function="<script>alert(1)</script>"),)
    one = replace(ONE, points=points, id=anomaly_id("<b>", points))
    batch = replace(BATCH, program=WatchedProgram("<b>"), anomalies=(one,))
    assert anomaly.decoded(anomaly.encoded(batch)) == batch
