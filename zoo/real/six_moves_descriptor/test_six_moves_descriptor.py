# SPDX-License-Identifier: Apache-2.0
import importlib
import sys
import threading

import pytest


@pytest.fixture
def moves(monkeypatch):
    """six.moves of a six that nobody has used yet."""
    for name in [name for name in sys.modules if name == "six" or name.startswith("six.")]:
        monkeypatch.delitem(sys.modules, name)
    finders = list(sys.meta_path)
    yield importlib.import_module("six").moves
    sys.meta_path[:] = finders


@pytest.mark.parametrize("name", ["range", "StringIO"])
def test_lazy_name_is_resolved_by_many_threads(moves, name):
    line_up = threading.Barrier(3)
    results, errors = [], []

    def look():
        line_up.wait(timeout=5)
        try:
            results.append(getattr(moves, name))
        except AttributeError as error:
            errors.append(error)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(set(results)) == 1
