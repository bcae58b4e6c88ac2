# SPDX-License-Identifier: Apache-2.0
"""Falcon: access patterns ranked by how much better they go with failing runs than with passing.

The tracker's windows note, per run, which conflicting pairs and unserialisable triples of accesses
of one cell occurred. A pattern is its kind and its points; the more failing and the fewer passing
runs have it, the more suspicious it is. Park, Vuduc, Harrold: Falcon: Fault Localization in
Concurrent Programs, ICSE 2010, sections 2.1 and 3.

Where we depart: equal scores are ordered by the number of failing runs and then by site, so that a
ranking can be repeated; patterns that no failing run has are counted (`table`) but never answered.
`FalconOptions.fine` adds the patterns that the paper's windows merge away
(native/tracker/windows.c).
"""

from unsnarl.analyses.falcon.ranking import FalconOptions, answers
from unsnarl.analyses.falcon.scores import Formula, suspiciousness
from unsnarl.analyses.falcon.table import Table, table

__all__ = ["FalconOptions", "Formula", "Table", "answers", "suspiciousness", "table"]
