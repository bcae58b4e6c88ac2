# SPDX-License-Identifier: Apache-2.0
"""Hunts that are led by an anomaly."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.unit.test_anomalies import BATCH, ONE, POINTS

from unsnarl.errors import UsageError
from unsnarl.model import anomaly
from unsnarl.model.report import Finding, FindingPoint
from unsnarl.model.sources import Sources
from unsnarl.runfile import SiteTable
from unsnarl.runfile.codes import Code, SiteEntry
from unsnarl.workflows import anomaly_lead


def test_one_is_chosen_from_a_batch(tmp_path: Path) -> None:
    file = tmp_path / "batch.json"
    file.write_bytes(anomaly.encoded(BATCH))
    assert anomaly_lead.load(str(file)) == ONE
    assert anomaly_lead.load(f"{file}#{ONE.id[:4]}") == ONE
    with pytest.raises(UsageError, match="has no anomaly zz"):
        anomaly_lead.load(f"{file}#zz")
    with pytest.raises(UsageError, match="cannot be read"):
        anomaly_lead.load(str(tmp_path / "missing.json"))


def test_its_lines_are_found_where_they_are_now(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("\n\n    self.total = new\n    other()\n")
    entries = tuple(SiteEntry(at, "attr_write", "total", line) for at, line in ((2, 3), (5, 4)))
    code = Code(base=100, size=10, file="shop.py", function="Cart.add", line=1, sites=entries)
    table = SiteTable([code], tmp_path)
    assert anomaly_lead.sites_of(ONE, table, Sources(tmp_path)) == [102]


def _finding(*points: anomaly.AnomalyPoint) -> Finding:
    shown = tuple(
        FindingPoint(p.file, 1, p.function, "0.1", 1, p.op, "", "source", 1.0, text=p.text)
        for p in points
    )
    return Finding(1, "joined", 1.0, {}, "atomicity", (), shown, 1, id="total-1234")


def test_all_of_its_lines_must_be_in_the_finding() -> None:
    assert anomaly_lead._has(_finding(*POINTS), ONE)
    assert not anomaly_lead._has(_finding(POINTS[0]), ONE)
    assert not anomaly_lead._has(_finding(POINTS[0], replace(POINTS[1], text="other")), ONE)
