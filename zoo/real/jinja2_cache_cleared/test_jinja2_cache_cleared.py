# SPDX-License-Identifier: Apache-2.0
"""Pages are rendered from templates with a bytecode cache, and a deployment clears the cache meanwhile."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from jinja2 import DictLoader, Environment, FileSystemBytecodeCache

TEMPLATES = {
    "home.html": "<h1>{{ title }}</h1>",
    "news.html": "<ul>{% for item in items %}<li>{{ item }}</li>{% endfor %}</ul>",
}
PAGES = ["<h1>Home</h1>", "<ul><li>one</li><li>two</li></ul>"]


@pytest.fixture
def environment(tmp_path):
    cache = FileSystemBytecodeCache(str(tmp_path))
    return Environment(loader=DictLoader(TEMPLATES), bytecode_cache=cache, cache_size=0)


@pytest.fixture
def pages(environment):
    def render():
        values = {"title": "Home", "items": ["one", "two"]}
        return [environment.get_template(name).render(values) for name in TEMPLATES]

    return render


def test_pages_are_rendered_while_the_cache_is_cleared(environment, pages):
    assert pages() == PAGES
    with ThreadPoolExecutor(2) as executor:
        rendered = executor.submit(pages)
        cleared = executor.submit(environment.bytecode_cache.clear)
        cleared.result(timeout=5)
        assert rendered.result(timeout=5) == PAGES
