# SPDX-License-Identifier: Apache-2.0
"""`unsnarl collect` in a real browser: list, search, one anomaly in lanes, its trend."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import expect, sync_playwright
from tests.integration.collected import batch, collecting, send
from tests.integration.served import HOSTILE
from tests.web.test_page import AXE, OPTIONS

DAY = 86_400


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A page that has come in with the token, of a collector that has something to show."""
    folder, now = tmp_path_factory.mktemp("collector"), time.time()
    sent = [batch(at, at + 1, function="Cart.common", seen=now - at * DAY) for at in range(9)]
    sent += [batch(1, 7, function="Cart.rare", version="2.0", score=4.0)]
    sent += [batch(at, function=f"Job.{at}", program="jobs", score=0.02) for at in range(60)]
    sent += [batch(1, function=HOSTILE, program=HOSTILE, version=HOSTILE, score=0.001)]
    with collecting(folder) as server, sync_playwright() as playwright:
        assert {send(server, folder, one).status for one in sent} == {202}
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=OPTIONS)
        page = browser.new_page()
        troubles = []
        page.on("console", lambda line: troubles.append(line.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.goto(server.address)
        assert page.url == f"http://127.0.0.1:{server.port}/"
        yield page
        assert not troubles
        browser.close()


@pytest.fixture
def tab(opened):
    """The list."""
    opened.set_viewport_size({"width": 1200, "height": 800})
    opened.goto(opened.evaluate("location.origin") + "/")
    return opened


def test_the_list_is_ranked_and_goes_on(tab):
    rows = tab.locator("tbody tr")
    expect(rows).to_have_count(50)
    expect(rows.nth(0)).to_contain_text("Cart.rare")
    expect(rows.nth(0)).to_contain_text("1 of 9")
    tab.get_by_role("link", name="next").click()
    expect(rows).to_have_count(13)
    tab.get_by_role("link", name="previous").click()
    expect(rows.nth(0)).to_contain_text("Cart.rare")


def test_a_search_finds_words_and_keeps_its_filters(tab):
    tab.get_by_label("search").fill("common shop.py")
    tab.keyboard.press("Enter")
    expect(tab.locator("tbody tr")).to_have_count(1)
    tab.get_by_label("search").fill("")
    tab.get_by_label("program").select_option("shop")
    tab.get_by_role("button", name="show").click()
    expect(tab.locator("tbody tr")).to_have_count(2)
    tab.get_by_label("version").select_option("2.0")
    tab.get_by_role("button", name="show").click()
    expect(tab.locator("tbody tr")).to_have_count(1)
    expect(tab.get_by_label("program")).to_have_value("shop")
    tab.get_by_label("search").fill("nothing has this")
    tab.keyboard.press("Enter")
    expect(tab.locator("main")).to_contain_text("Nothing matches.")


def test_one_anomaly_stands_in_lanes_below_each_other(tab):
    tab.get_by_role("link", name="Cart.common").click()
    first, second = tab.locator(".lanes li").all()
    assert "Cart.common" in first.inner_text() and "self.total = new" in first.inner_text()
    assert "return self.total" in second.inner_text()
    above, below = first.bounding_box(), second.bounding_box()
    assert below["x"] >= above["x"] + above["width"] - 1
    assert below["y"] >= above["y"] + above["height"] - 1
    expect(tab.locator("main")).to_contain_text("seen 45 times in 9 of 9 instances")
    expect(tab.locator(".versions tbody tr")).to_have_count(1)
    expect(tab.locator(".instances tbody tr")).to_have_count(9)
    expect(tab.locator(".contexts")).to_contain_text("remote write, local read")


def test_the_trend_has_a_bar_for_every_day_on_which_it_was_seen(tab):
    tab.get_by_role("link", name="Cart.common").click()
    bars = tab.locator(".trend.large rect")
    expect(bars).to_have_count(9)
    assert bars.last.locator("title").text_content().endswith(": 1")  # today
    heights = [float(one.get_attribute("height")) for one in bars.all()]
    assert heights == sorted(heights, reverse=True)
    expect(tab.get_by_role("img")).to_have_attribute(
        "aria-label", "45 in 30 days, at most 9 in one"
    )


def test_hostile_names_are_shown_as_they_are(tab):
    tab.get_by_label("search").fill("onerror")
    tab.keyboard.press("Enter")
    expect(tab.locator("tbody tr")).to_have_count(1)
    assert "<img src=x onerror=alert(1)>" in tab.locator("tbody").inner_text()
    tab.locator("tbody a").click()
    assert "<img src=x onerror=alert(1)>" in tab.locator("h1").inner_text()
    assert tab.locator("img, b, script").count() == 0


@pytest.mark.parametrize("path", ["list", "anomaly"])
def test_a_phone_needs_not_to_scroll_sideways(tab, path):
    tab.set_viewport_size({"width": 360, "height": 700})
    if path == "anomaly":
        tab.goto(tab.evaluate("location.origin") + "/?search=onerror")
        tab.locator("tbody a").click()
        tab.wait_for_load_state()  # with its style
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["list", "anomaly"])
def test_no_serious_problem_of_accessibility(tab, path, scheme):
    tab.emulate_media(color_scheme=scheme)
    if path == "anomaly":
        tab.locator("tbody a").first.click()
        tab.wait_for_load_state()
    # Not as an element of the page, which its policy would not run.
    tab.evaluate(AXE.read_text(encoding="utf-8"))
    found = tab.evaluate("async () => (await axe.run()).violations")
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
