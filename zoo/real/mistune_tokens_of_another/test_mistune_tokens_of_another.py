# SPDX-License-Identifier: Apache-2.0
"""The comments of a page are rendered by several threads with one Markdown object."""

import threading
from concurrent.futures import ThreadPoolExecutor

import mistune
import pytest

COMMENTS = {
    "# Agreed\n\nI think so, *too*.": ["<h1>Agreed</h1>", "<p>I think so, <em>too</em>.</p>"],
    "# Not me\n\nRead the `manual`.": ["<h1>Not me</h1>", "<p>Read the <code>manual</code>.</p>"],
}


@pytest.fixture
def markdown():
    renderer = getattr(mistune, "HTMLRenderer", None) or mistune.Renderer  # its name since 2.0
    return mistune.Markdown(renderer())


def test_two_comments_at_the_same_time(markdown):
    ready = threading.Barrier(len(COMMENTS))

    def render(comment):
        ready.wait(timeout=5)
        return markdown(comment).split("\n")

    with ThreadPoolExecutor(len(COMMENTS)) as pool:
        rendered = list(pool.map(render, COMMENTS))

    assert [lines[:2] for lines in rendered] == list(COMMENTS.values())
