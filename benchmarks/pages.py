# SPDX-License-Identifier: Apache-2.0
"""The HTML report of a long run in Chromium: how long until a key moves the steps, and its size."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from tests.unit.reports_of_values import finding, patch, report

from benchmarks.figures import Figure, median
from unsnarl.model.sources import Sources
from unsnarl.model.trace import RunTrace, TracedEvent
from unsnarl.reports.page import page
from unsnarl.reports.render.html import html

EVENTS = 100_000
LINES = 400  # code points
SECONDS, KILOBYTES = 1.0, 450.0


def figures(quick: bool) -> Iterator[Figure]:
    """Seconds until a key has chosen a step; kilobytes of a small bug."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        large = _written(Path(folder, "large.html"), EVENTS)
        small = _written(Path(folder, "small.html"), 80)
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        took = [_opened(browser, large) for _ in range(3 if quick else 9)]
        browser.close()
        size = large.stat().st_size / 1e6
        details = {"events": EVENTS, "megabytes": round(size, 1)}
        yield median("pages: usable after", took, unit="s", bar=SECONDS, details=details)
        yield median("pages: small bug", [small.stat().st_size / 1e3], unit="kB", bar=KILOBYTES)


def _opened(browser: Browser, file: Path) -> float:
    tab = browser.new_page()
    begin = time.monotonic()
    tab.goto(file.as_uri())
    tab.keyboard.press("ArrowRight")
    tab.locator(".current .card").wait_for()
    took = time.monotonic() - begin
    tab.close()
    return took


def _written(file: Path, count: int) -> Path:
    shown = page(
        report(finding(patch=patch())), Sources(file.parent), labels="pf", trace=_run(count)
    )
    file.write_bytes(html(shown, ""))
    return file


def _run(count: int) -> RunTrace:
    """Two threads in short turns over many lines; every third access is read by the other one."""
    events: list[TracedEvent] = []
    for at in range(count):
        thread, line = f"0.{1 + at // 5 % 2}", 1 + at * 7 % LINES
        source = at - 5 if at % 3 == 0 and at >= 5 else -1
        op = "read" if source >= 0 else "write"
        text = f"self.items[{line}] = value"
        events.append(
            TracedEvent(thread, op, "spider.py", line, "f", text, "Queue.items", at, source)
        )
    return RunTrace(1, "s", {"0.1": "Thread-1", "0.2": "Thread-2"}, "0.1", tuple(events))
