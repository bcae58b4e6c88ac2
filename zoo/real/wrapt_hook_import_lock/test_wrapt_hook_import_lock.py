# SPDX-License-Identifier: Apache-2.0
"""Post-import hooks that import something themselves, while another thread imports as well."""

import importlib
import sys
import threading
import uuid

import pytest
import wrapt


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """Two modules nobody has imported, with names that are used only once."""
    stem = "plug_%s_" % uuid.uuid4().hex
    names = [stem + "driver", stem + "backend"]
    for name in names:
        (tmp_path / (name + ".py")).write_text("state = 'loaded'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield names
    for name in names:
        sys.modules.pop(name, None)


def test_hook_may_import_what_another_thread_imports(plugins):
    driver, backend = plugins
    fired = []

    def driver_loaded(module):
        fired.append(importlib.import_module(backend).state)

    def backend_loaded(module):
        fired.append(module.state)

    wrapt.register_post_import_hook(driver_loaded, driver)
    wrapt.register_post_import_hook(backend_loaded, backend)

    importers = [
        threading.Thread(target=importlib.import_module, args=(name,), daemon=True) for name in plugins
    ]
    for importer in importers:
        importer.start()
    for importer in importers:
        importer.join(timeout=3)

    assert [importer.name for importer in importers if importer.is_alive()] == []
    assert fired == ["loaded", "loaded"]
