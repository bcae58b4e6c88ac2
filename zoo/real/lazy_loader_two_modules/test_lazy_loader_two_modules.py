# SPDX-License-Identifier: Apache-2.0
"""A lazily loaded module is one object, whoever asks first."""

import sys
from concurrent.futures import ThreadPoolExecutor

import lazy_loader
import pytest


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    (tmp_path / "colour_plugin.py").write_text("COLOURS = ['red', 'green']\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "colour_plugin"
    sys.modules.pop("colour_plugin", None)


def test_threads_get_the_same_module(plugin):
    with ThreadPoolExecutor(max_workers=2) as pool:
        first, second = pool.map(lazy_loader.load, [plugin, plugin])
    assert first is second
    assert sys.modules[plugin] is first
