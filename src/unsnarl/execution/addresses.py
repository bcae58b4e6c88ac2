# SPDX-License-Identifier: Apache-2.0
"""Processes whose memory is laid out alike.

Objects that define no hash of their own are hashed by their address: the order of a set of threads,
connections or callbacks is that of their addresses. With addresses drawn by the system, the same
schedule leads another process along another path (docs/adr/0049).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

# From sys/personality.h.
ADDR_NO_RANDOMIZE = 0x0040000
ASK = 0xFFFFFFFF


@contextmanager
def steady_addresses() -> Iterator[None]:
    """Processes that this thread starts meanwhile have the same addresses every time.

    Some sandboxes refuse that; then they are started as they are.
    """
    personality = ctypes.CDLL(None).personality
    before = personality(ASK)
    if before < 0 or personality(before | ADDR_NO_RANDOMIZE) < 0:
        yield
        return
    try:
        yield
    finally:
        personality(before)
