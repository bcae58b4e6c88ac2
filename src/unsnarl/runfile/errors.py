# SPDX-License-Identifier: Apache-2.0
"""The one error of this package."""

from __future__ import annotations

from pathlib import Path


class RunFileError(ValueError):
    """A file is damaged, cut short or not a run file; it is named, and nothing of it is used."""

    def __init__(self, path: Path | str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = Path(path)
        self.reason = reason
