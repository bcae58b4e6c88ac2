# SPDX-License-Identifier: Apache-2.0
"""`unsnarl serve` in a real browser: list, campaign, and what moves while a hunt runs."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect, sync_playwright
from tests.integration.served import CONFIRMED, HOSTILE, campaign, serving
from tests.web.test_page import AXE, OPTIONS

from unsnarl.campaigns.store import Store
from unsnarl.workflows.campaign_report import save_report
from unsnarl.workflows.progress import RunProgress
from unsnarl.workflows.progress_file import ProgressFile


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "spider.py").write_text("\n" * 40)
    campaign(folder, "pytest", "tests/test_queue.py")
    campaign(folder, "python", HOSTILE)
    return folder


@pytest.fixture(scope="module")
def opened(project):
    """A page that has come in with the token."""
    with serving(project) as server, sync_playwright() as playwright:
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
    """The list of campaigns."""
    opened.goto(opened.evaluate("location.origin") + "/")
    return opened


def test_a_campaign_is_one_click_away_with_its_report(tab):
    tab.get_by_role("link", name="pytest tests/test_queue.py").click()
    report = tab.frame_locator("iframe")
    expect(report.locator("h1")).to_contain_text("check-then-act on Queue.size")
    report.locator(".controls button").nth(2).click()
    expect(report.locator("output")).to_have_text("step 1 of 4")
    tab.get_by_role("link", name="the report alone").click()
    expect(tab.locator("h1")).to_contain_text("CONFIRMED")


def test_hostile_commands_are_shown_as_they_are(tab):
    tab.get_by_role("link", name="onerror").click()
    assert "<img src=x onerror=alert(1)>" in tab.locator("h1").first.inner_text()
    assert tab.locator("img").count() == 0


def test_a_hunt_is_watched_from_its_begin_to_its_report(tab, project):
    """The list finds a new campaign by itself, numbers move, and the report comes at the end."""
    folder = campaign(project, "python", "running.py", made=None)
    row = tab.locator("tr", has_text="running.py")
    expect(row).to_contain_text("no report")
    file = ProgressFile(folder)
    file.take(RunProgress(7, 3, 4, 0, 0, 0.2))
    expect(row).to_contain_text("running hunting")
    row.get_by_role("link").click()
    expect(tab.locator("section")).to_contain_text("7 runs · 3 failing · 4 passing")
    tab.wait_for_timeout(300)  # more often than this it is not written
    file.take(RunProgress(60, 25, 35, 0, 0, 1.0, "minimising", 12))
    expect(tab.locator("section")).to_contain_text("minimising · 60 runs · 25 failing")
    expect(tab.locator("section")).to_contain_text("12 trials")
    assert tab.locator("iframe").count() == 0
    store = Store.open(folder)
    save_report(store, CONFIRMED)
    store.close()
    file.end()
    expect(tab.frame_locator("iframe").locator("h1")).to_contain_text("CONFIRMED")
    expect(tab.locator("section")).not_to_contain_text("running minimising")


def test_no_serious_problem_of_accessibility(tab):
    # Not as an element of the page, which its policy would not run.
    tab.evaluate(AXE.read_text(encoding="utf-8"))
    found = tab.evaluate("async () => (await axe.run()).violations")
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
