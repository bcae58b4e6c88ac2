# SPDX-License-Identifier: Apache-2.0
"""Records from two threads go straight to the handler of a shared log file; every line must arrive."""

import logging
import threading

import pytest
from concurrent_log_handler import ConcurrentRotatingFileHandler


@pytest.fixture
def handler(tmp_path):
    handler = ConcurrentRotatingFileHandler(str(tmp_path / "app.log"), "a", keep_file_open=False)
    handler.errors = []
    handler.handleError = handler.errors.append
    yield handler
    handler.close()


def record(text):
    return logging.LogRecord("app", logging.INFO, __file__, 1, text, (), None)


def test_no_line_is_lost(handler):
    writers = [threading.Thread(target=handler.emit, args=(record(text),)) for text in ("ann came", "bob left")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(timeout=5)

    with open(handler.baseFilename) as log:
        assert sorted(log.read().splitlines()) == ["ann came", "bob left"]
    assert handler.errors == []
