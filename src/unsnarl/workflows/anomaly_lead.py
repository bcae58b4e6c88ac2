# SPDX-License-Identifier: Apache-2.0
"""A hunt that is led by an anomaly: where its points are in the program, and what came of it."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path

from unsnarl.errors import UsageError
from unsnarl.model import anomaly
from unsnarl.model.anomaly import Anomaly, AnomalyPoint
from unsnarl.model.report import Finding, Notice, Report, numbered
from unsnarl.model.sources import Sources
from unsnarl.runfile import SiteTable

TIMEOUT = 10.0


def load(source: str) -> Anomaly:
    """An anomaly of a batch, from a file or a URL: the first, or the one after `#`."""
    address, _, wanted = source.partition("#")
    found = anomaly.decoded(_read(address))
    for one in found.anomalies:
        if one.id.startswith(wanted):
            return one
    raise UsageError("bad-anomaly", f"{address} has no anomaly {wanted}".rstrip())


def _read(address: str) -> bytes:
    try:
        if not address.startswith(("http://", "https://")):
            return Path(address).read_bytes()
        with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
            data: bytes = answer.read(anomaly.BATCH_BYTES_MOST + 1)
            return data
    except (OSError, ValueError) as error:
        raise UsageError("bad-anomaly", f"{address} cannot be read: {error}") from None


def sites_of(one: Anomaly, table: SiteTable, sources: Sources) -> list[int]:
    """The ids of the sites on the anomaly's lines, in the program as it is now."""
    found = []
    for number, site in table.listed():
        text = sources.line(site.file, site.line)
        if any(_is_at(point, site.file, site.function, text) for point in one.points):
            found.append(number)
    return found


def _is_at(point: AnomalyPoint, file: str, function: str, text: str) -> bool:
    words = " ".join(text.split())
    return (file, function, words) == (point.file, point.function, " ".join(point.text.split()))


def notice(one: Anomaly, report: Report, found: Iterable[int]) -> Notice:
    """Whether the anomaly became a proof."""
    where = " and ".join(f"{point.file}:{point.line}" for point in one.points)
    if not list(found):
        return Notice("anomaly-gone", f"anomaly {one.id} ({where}): its lines are not there")
    for _, _, finding in numbered(report):
        if finding.status == "confirmed" and _has(finding, one):
            return Notice("anomaly-proved", f"anomaly {one.id} ({where}) is {finding.id}")
    return Notice("anomaly-unproved", f"anomaly {one.id} ({where}) is in no confirmed finding")


def _has(finding: Finding, one: Anomaly) -> bool:
    lines = [*finding.points, *finding.explanation]
    return all(
        any(_is_at(point, line.file, line.function, line.text) for line in lines)
        for point in one.points
    )
