# SPDX-License-Identifier: Apache-2.0
"""`make docs`: the site is built without a warning, and a link that leads nowhere is one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
MAKEFILE = REPOSITORY / "Makefile"
OPTIONS = ("-W", "--keep-going", "-q", "-c", "docs/site")


def build(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """What `make docs` does, elsewhere."""
    folders = ("-d", str(target / "doctrees"), str(source), str(target / "site"))
    command = [sys.executable, "-m", "sphinx", *OPTIONS, *folders]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)


def test_the_tests_build_what_make_builds():
    assert f"-m sphinx {' '.join(OPTIONS)} -d" in MAKEFILE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The whole site."""
    folder = tmp_path_factory.mktemp("site")
    made = build(REPOSITORY, folder)
    assert made.returncode == 0, made.stderr
    return folder / "site"


@pytest.mark.slow
def test_the_front_page_leads_to_every_part(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    for page in ("tutorial", "how-to/cmake", "explanation/recon", "reference/json", "comparison"):
        assert f'href="docs/{page}.html"' in text
        assert (site / "docs" / f"{page}.html").is_file()


@pytest.mark.slow
def test_generated_parts_and_drawings_are_in_the_pages(site):
    text = (site / "docs" / "reference" / "options.html").read_text(encoding="utf-8")
    assert 'id="hunt"' in text and "--fail-if" in text
    text = (site / "docs" / "comparison.html").read_text(encoding="utf-8")
    assert "bugaboo-unlabelled" in text
    assert (site / "_images" / "recon.svg").is_file()
    assert 'src="../../_images/recon.svg"' in (
        site / "docs" / "explanation" / "recon.html"
    ).read_text(encoding="utf-8")


@pytest.mark.slow
def test_pages_load_nothing_from_elsewhere(site):
    loads = re.compile(r'(?:<(?:script|img|iframe)[^>]+src|<link[^>]+href|url\()="?(?:https?:)?//')
    files = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert [path for path in files if loads.search(path.read_text(encoding="utf-8"))] == []


def test_links_that_lead_nowhere_are_errors_and_others_are_not(tmp_path):
    right = ("page.md#a-heading", "../file.py", "https://example.org/missing")
    wrong = ("missing.md", "page.md#no-such-heading", "../missing.py", "#nowhere")
    made = links(tmp_path, *right, *wrong)
    assert made.returncode != 0
    named = [line.rpartition(": ")[2] for line in made.stderr.splitlines()]
    assert [name.partition(" [")[0].strip("'") for name in named] == [
        "missing.md",
        "no-such-heading",
        "../missing.py",
        "nowhere",
    ]


def links(folder: Path, *some: str) -> subprocess.CompletedProcess[str]:
    source = folder / "source"
    (source / "docs").mkdir(parents=True)
    (source / "file.py").write_text("")
    (source / "README.md").write_text("# Front\n")
    (source / "docs" / "README.md").write_text("# Docs\n\n## All\n\n- [page](page.md): all\n")
    text = "\n".join(f"- [one]({link})" for link in some)
    (source / "docs" / "page.md").write_text(f"# Page\n\n## A heading\n\n{text}\n")
    return build(source, folder)
