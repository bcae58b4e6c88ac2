# SPDX-License-Identifier: Apache-2.0
"""Standard output and error of the process that the target runs in."""

from __future__ import annotations

import contextlib
import sys


def flush_quietly() -> None:
    """Flush sys.stdout and sys.stderr, whatever the target put there."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
