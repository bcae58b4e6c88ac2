# SPDX-License-Identifier: Apache-2.0
"""Sparse keys become dense numbers, by a table or by a search."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from unsnarl.analyses.recon.keys import Keys, distinct, tally

Numbers = npt.NDArray[np.int32]

_TABLE_FACTOR = 4


class Numbering:
    """Numbers keys densely, in their order."""

    def __init__(self, limit: int, entries: int) -> None:
        # A table by key is several times faster than a search, where memory stays linear.
        self._present = np.zeros(limit, dtype=bool) if limit <= _TABLE_FACTOR * entries else None
        self._sets: list[Keys] = []

    def add(self, keys: Keys) -> None:
        """Adds keys, before the first number is asked for."""
        if self._present is not None:
            self._present[keys] = True
        else:
            self._sets.append(distinct(keys)[0])

    @cached_property
    def _sorted(self) -> Keys:
        keys, _ = tally(self._sets)
        return keys

    @cached_property
    def _table(self) -> Numbers:
        assert self._present is not None
        table: Numbers = np.cumsum(self._present, dtype=np.int32)
        table -= 1
        return table

    def keys(self) -> Keys:
        """All keys in order."""
        if self._present is None:
            return self._sorted
        return np.flatnonzero(self._present).astype(np.uint64)

    def of(self, keys: Keys) -> Numbers:
        """The numbers of keys that were added."""
        if self._present is not None:
            return self._table[keys]
        # Looked up in order: several times faster in large sets.
        order = np.argsort(keys)
        numbers = np.empty(len(keys), dtype=np.int32)
        numbers[order] = np.searchsorted(self._sorted, keys[order])
        return numbers
