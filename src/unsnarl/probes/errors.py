# SPDX-License-Identifier: Apache-2.0
"""The error that the fork server reports to the parent. Raised inside targets: stdlib only."""

from __future__ import annotations


class TargetError(Exception):
    """The target cannot be prepared; nothing was run."""

    def __init__(self, slug: str, message: str) -> None:
        super().__init__(message)
        self.slug = slug
        self.message = message
