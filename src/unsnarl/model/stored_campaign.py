# SPDX-License-Identifier: Apache-2.0
"""A stored campaign, as lists show it."""

from __future__ import annotations

import msgspec


class StoredCampaign(msgspec.Struct, frozen=True):
    """A campaign in one line.

    Attributes:
        size: Bytes of all its files.
        damaged: Why it cannot be read; then nothing but its name and size is known.
        verifies: The campaign that it was hunted to verify.
    """

    name: str
    size: int
    created: str = ""
    command: tuple[str, ...] = ()
    runs: int = 0
    failing: int = 0
    signatures: tuple[str, ...] = ()
    verifies: str = ""
    damaged: str = ""
