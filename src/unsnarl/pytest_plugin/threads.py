# SPDX-License-Identifier: Apache-2.0
"""Whether a test starts threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class StartedThreads:
    """How many threads were started so far."""

    count = 0


@contextmanager
def counting_threads() -> Iterator[StartedThreads]:
    """Count the threads that are started meanwhile, by whatever library."""
    started = StartedThreads()
    start = threading.Thread.start

    def counted(thread: threading.Thread, *arguments: Any) -> None:
        started.count += 1
        start(thread, *arguments)

    threading.Thread.start = counted  # type: ignore[method-assign,assignment]
    try:
        yield started
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]
