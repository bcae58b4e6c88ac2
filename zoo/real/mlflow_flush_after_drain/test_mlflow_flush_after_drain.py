# SPDX-License-Identifier: Apache-2.0
"""A program ends, and flushes its traces, while a request is still writing one."""

import atexit
import threading

import pytest
from mlflow.tracing.export.async_export_queue import AsyncTraceExportQueue, Task


@pytest.fixture
def exports(monkeypatch):
    monkeypatch.setenv("MLFLOW_ASYNC_TRACE_LOGGING_MAX_WORKERS", "1")
    queue = AsyncTraceExportQueue()
    yield queue
    atexit.unregister(queue._at_exit_callback)


def test_flush_while_a_trace_is_put(exports):
    exported = []

    def slow_export(name):
        exports._stop_event.wait()  # the worker is busy until the flush has begun
        exported.append(name)

    exports.put(Task(slow_export, ["start"]))
    exports.put(Task(exported.append, ["login"]))

    flusher = threading.Thread(target=exports.flush, kwargs={"terminate": True}, daemon=True)
    request = threading.Thread(target=exports.put, args=(Task(exported.append, ["logout"]),))
    flusher.start()
    request.start()
    request.join()
    flusher.join(timeout=3)
    assert not flusher.is_alive()
    assert sorted(exported) == ["login", "logout", "start"]
