# SPDX-License-Identifier: Apache-2.0
"""What runs printed: each keeps so much of it that a campaign's folder stays small."""

from __future__ import annotations

from pathlib import Path

# The end says more than the beginning: that is where a run failed.
HEAD_BYTES = 64 << 10
TAIL_BYTES = 192 << 10


def shorten(path: Path) -> None:
    """Cut the middle out of a long output, and say so there."""
    try:
        size = path.stat().st_size
        left_out = size - HEAD_BYTES - TAIL_BYTES
        if left_out <= 0:
            return
        with path.open("r+b") as file:
            file.seek(size - TAIL_BYTES)
            tail = file.read()
            file.seek(HEAD_BYTES)
            file.write(f"\n[unsnarl: {left_out:,} bytes left out here]\n".encode() + tail)
            file.truncate()
    except OSError:
        return  # no output, or nowhere to write: both show elsewhere
