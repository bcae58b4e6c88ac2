# SPDX-License-Identifier: Apache-2.0
"""ReliefF: how well single features separate two classes (Recon 4.2, table 1).

A feature is worth something if the nearest neighbours of another class differ in it and the nearest
ones of the own class do not. Kononenko: Estimating Attributes, ECML 1994, for two classes, with
the defaults of Weka, which the paper used: every instance counts, ten neighbours of each class,
all neighbours alike.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

NEIGHBOURS = 10

Table = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def scaled(features: Table) -> Table:
    """Every column from 0 to 1; a column of one value becomes 0."""
    low, high = features.min(axis=0), features.max(axis=0)
    column: Table = (features - low) / np.where(high > low, high - low, 1.0)
    return column


def weights(features: Table, positive: Flags, neighbours: int = NEIGHBOURS) -> Table | None:
    """The weight of every column, from -1 to 1; None unless both classes have two instances.

    Args:
        features: One row per instance, one column per feature.
        positive: The class of every instance.
        neighbours: So many of each class, or as many as there are.
    """
    if min(int(positive.sum()), int((~positive).sum())) < 2:
        return None
    values = scaled(features)
    total = np.zeros(values.shape[1])
    for at, row in enumerate(values):
        apart = np.abs(values - row)
        distance = apart.sum(axis=1)
        distance[at] = np.inf  # no instance is its own neighbour
        for same in (True, False):
            rows = np.flatnonzero(positive == (positive[at] == same))
            rows = rows[np.isfinite(distance[rows])]
            nearest = rows[np.argsort(distance[rows], kind="stable")[:neighbours]]
            total += (-1 if same else 1) * apart[nearest].mean(axis=0)
    mean: Table = total / len(values)
    return mean
