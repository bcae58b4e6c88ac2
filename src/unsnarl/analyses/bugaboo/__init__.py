# SPDX-License-Identifier: Apache-2.0
"""Bugaboo: code points ranked by how rare the contexts are in which they communicate.

A code point that ran often, but in few contexts of few runs, did something unusual there. Labelled
runs are compared first: only what no passing run has is ranked. Lucia, Ceze: Finding Concurrency
Bugs with Context-Aware Communication Graphs, MICRO 2009, section 5.

Where we depart: a code point is a site, and the contexts are those in which it was an end of an
edge, since others are not recorded (the paper's BB-HW records as much). An answer is one code point
and, for the reader, the one it communicated with most. The lower the paper's rank, the better; an
answer's score is 1/rank, so that higher is better as everywhere, and the rank is a feature.
"""

from unsnarl.analyses.bugaboo.answers import answers
from unsnarl.analyses.bugaboo.graphs import BugabooOptions
from unsnarl.analyses.bugaboo.ranking import SiteRanking, ranking

__all__ = ["BugabooOptions", "SiteRanking", "answers", "ranking"]
