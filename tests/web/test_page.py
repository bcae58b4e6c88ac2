# SPDX-License-Identifier: Apache-2.0
"""The HTML report in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import sync_playwright
from tests.unit.reports_of_values import finding, patch, point, report

from unsnarl.model.report import Replay
from unsnarl.model.sources import Sources
from unsnarl.model.trace import RunTrace, TracedEvent
from unsnarl.reports.page import page
from unsnarl.reports.render.html import html

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
HOSTILE = "</script><img src=x onerror=alert(1)>\"' \u202eevil\u202c <b>" + "x" * 1_000_000
SOURCE = [f"line_{number} = {number}  # a comment" for number in range(1, 40)]


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=OPTIONS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Reports as files, by name."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "spider.py").write_text("\n".join(SOURCE))
    held = {"locks": ("Queue.lock",), "sections": (1,)}
    other = {"locks": ("Queue.lock",), "sections": (2,)}
    points = (
        point(14, 1, value="1", text="return self.size", **held),
        point(19, 2, "write", value="0", text="self.size -= 1", **other),
        point(17, 1, value="0", text="if self.size == 0:", stack=("spider.py:25 in run",)),
        point(29, 1, "fail", value="AttributeError", variable="", text="item.lower()"),
    )
    features = {"B": 26.0, "C": 1.0, "R": 0.7}
    proved = finding(
        points=points, explanation=points, orders=((1, 2), (2, 3)), patch=patch(),
        replay=Replay("000022", 2, 100, 100), features=features,
    )  # fmt: skip
    second = finding(rank=2, id="other-1", status="untested", features={"B": 2, "C": 0, "R": 1})
    bad = finding(points=tuple(replace(one, text=HOSTILE, value=HOSTILE) for one in points[:3]))
    reports = {
        "plain": (report(proved, second), events(40)),
        "large": (report(proved), events(100_000)),
        "hostile": (report(replace(bad, summary=HOSTILE[:300])), events(4)),
        "none": (report(failures=()), None),
    }
    made = {}
    for name, (value, traced) in reports.items():
        made[name] = folder / f"{name}.html"
        labels = "pf" * 25
        shown = page(value, Sources(folder), labels=labels, trace=traced)
        made[name].write_bytes(html(shown, "plain text"))
    return made


def events(count):
    """Two threads that write and read one variable in turn, on the lines of the finding."""
    turns = itertools.cycle(
        [("0.1", "read", 14), ("0.2", "write", 19), ("0.1", "read", 17), ("0.1", "read", 17)]
    )
    some, latest = [], -1
    for thread, op, line in itertools.islice(turns, count):
        source = latest if op == "read" else -1
        latest = len(some) if op == "write" else latest
        text = SOURCE[line - 1]
        some.append(TracedEvent(thread, op, "spider.py", line, "f", text, "Queue.size", 1, source))
    return RunTrace(22, "s", {"0.1": "Thread-1", "0.2": "Thread-2"}, "0.1", tuple(some))


class Opened:
    """A page in the browser, with all that went wrong in it."""

    def __init__(self, browser, file, **more):
        self.troubles = []
        self.tab = browser.new_context(bypass_csp=more.pop("bypass_csp", False), **more).new_page()
        self.tab.on("console", lambda line: self.troubles.append(line.text))
        self.tab.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.tab.on("dialog", lambda dialog: self.troubles.append(dialog.message))
        self.tab.on(
            "request", lambda one: self.troubles.append(one.url) if "http" in one.url else 0
        )
        self.tab.goto(file.as_uri())

    def texts(self, selector):
        return self.tab.locator(selector).all_inner_texts()


@pytest.fixture
def opened(browser, files):
    pages = []

    def open_page(name="plain", **more):
        pages.append(Opened(browser, files[name], **more))
        return pages[-1]

    yield open_page
    for one in pages:
        assert not one.troubles
        one.tab.context.close()


def test_the_first_screen_has_the_answer(opened):
    one = opened(viewport={"width": 1280, "height": 900})
    assert one.texts("h1") == ["CONFIRMED check-then-act on Queue.size"]
    assert "Thread-1 checked Queue.size." in one.texts(".verdict")
    assert one.tab.locator(".card").count() == 4
    box = one.tab.locator(".card").last.bounding_box()
    assert box["y"] + box["height"] < 900


def test_the_keyboard_goes_through_the_steps(opened):
    one = opened()
    for key, position in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1)):
        one.tab.keyboard.press(key)
        assert one.texts("output") == [f"step {position} of 4"]
        assert one.tab.locator(".current .card").count() == 1
    assert (
        one.tab.locator(".card").nth(1).locator("xpath=..").get_attribute("class").endswith("later")
    )
    one.tab.keyboard.press("Escape")
    assert one.texts("output") == ["4 steps"] and one.tab.locator(".later").count() == 0


def test_values_are_those_of_the_step(opened):
    one = opened()
    seen = []
    for _ in range(3):
        one.tab.keyboard.press("ArrowRight")
        seen.append(one.texts(".values dd"))
    assert seen == [["1"], ["0"], ["0"]]


def test_play_stops_at_the_last_step(opened):
    one = opened()
    one.tab.clock.install()
    one.tab.get_by_title("play the steps").click()
    one.tab.clock.run_for(10_000)
    assert one.texts("output") == ["step 4 of 4"]
    assert one.texts(".controls button")[1] == "▶ play"


def test_a_step_opens_its_source_and_its_callers(opened):
    one = opened()
    card = one.tab.locator(".card").nth(2)
    assert not card.locator(".more").is_visible()
    card.locator("button").press("Enter")
    assert card.locator(".more .here").inner_text().replace("\n", " ").startswith("17")
    assert card.locator(".stack").inner_text() == "spider.py:25 in run"
    assert card.locator(".s-comment").count() > 0


def test_locks_are_bars_and_reads_have_arrows(opened):
    one = opened(viewport={"width": 1280, "height": 900})
    assert one.tab.locator(".lock").count() == 2
    assert one.tab.locator(".arrows > path").count() == 1


def test_every_part_is_there(opened):
    one = opened()
    ids = one.tab.evaluate("[...document.querySelectorAll('section')].map((one) => one.id)")
    assert ids == ["experiments", "patch", "timeline", "graph", "others", "runs", "coverage"]
    assert one.tab.locator(".diff .added").count() and one.tab.locator(".diff .removed").count()
    assert one.tab.locator(".strip .fail").count() == 25


def test_another_finding_can_be_chosen(opened):
    one = opened()
    one.tab.locator(".findings button").click()
    assert one.texts("h1")[0].startswith("SUSPECTED")


def test_the_graph_zooms_and_finds(opened):
    one = opened()
    graph = one.tab.locator("svg.graph")
    before = graph.get_attribute("viewBox")
    one.tab.locator("#graph").get_by_role("button", name="zoom in").click()
    assert graph.get_attribute("viewBox") != before
    one.tab.get_by_title("show the whole graph").click()
    assert graph.get_attribute("viewBox") == before
    one.tab.get_by_role("searchbox").fill("spider.py:19")
    assert one.tab.locator(".node.found").count() == 1


def test_the_timeline_shows_the_window_that_matters(opened):
    one = opened("large")
    assert one.tab.locator(".timeline .at").count() == 3
    whole = one.tab.locator(".timeline .turn").count()
    assert whole < 4000
    one.tab.get_by_title("show the steps of the explanation").click()
    assert one.tab.locator(".timeline .turn").count() < 20


def test_hostile_text_stays_text(opened):
    one = opened("hostile", viewport={"width": 1280, "height": 900})
    assert one.tab.locator("main img").count() == 0
    assert "</script><img src=x" in one.texts(".verdict")[0]
    assert one.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("name", ["plain", "none"])
def test_a_phone_needs_no_scrolling_sideways(opened, name):
    one = opened(name, viewport={"width": 360, "height": 740})
    assert one.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_dark_and_light_differ(opened):
    colour = "getComputedStyle(document.body).backgroundColor"
    light, dark = opened(color_scheme="light"), opened(color_scheme="dark")
    assert light.tab.evaluate(colour) != dark.tab.evaluate(colour)


def test_paper_has_no_buttons(opened):
    one = opened()
    one.tab.emulate_media(media="print")
    assert not one.tab.locator(".controls").first.is_visible()
    assert one.tab.locator(".card").first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_no_serious_problem(opened, scheme, width):
    size = {"width": width, "height": 900}
    one = opened(bypass_csp=True, color_scheme=scheme, viewport=size)
    for card in one.tab.locator(".step").all():
        card.click()
    one.tab.keyboard.press("Escape")
    one.tab.add_script_tag(path=AXE)
    found = one.tab.evaluate("axe.run()")["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    nodes = [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in serious]
    assert nodes == []


def test_without_scripts_there_is_the_text(browser, files):
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(files["plain"].as_uri())
    assert tab.locator("noscript, pre").first.inner_text().strip() == "plain text"
    context.close()


def test_a_page_of_a_small_bug_is_small(files):
    assert files["plain"].stat().st_size < 450_000
