# SPDX-License-Identifier: Apache-2.0
"""What depends on the interpreter is marked `core`: it runs on every supported Python."""

from __future__ import annotations

from pathlib import Path

import pytest

CORE = {
    "conformance",
    "test_importer.py",
    "test_launcher.py",
    "test_replay.py",
    "test_rewriter.py",
    "test_rewriter_opcodes.py",
    "test_rewriter_property.py",
    "test_server.py",
    "test_splice.py",
    "test_switching.py",
    "test_sync.py",
    "test_threads.py",
    "test_transparency.py",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        path = Path(item.path)
        if path.name in CORE or path.parent.name in CORE:
            item.add_marker(pytest.mark.core)
