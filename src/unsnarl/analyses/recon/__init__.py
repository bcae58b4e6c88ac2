# SPDX-License-Identifier: Apache-2.0
"""Recon: ranked reconstructions of the interleaving that failing runs share.

Runs are compared by their communication graphs. An edge that failing runs have and passing runs
lack is suspicious; what happened just before, between and just after its two ends, aggregated over
the failing runs, is a reconstruction. Lucia, Wood, Ceze: Isolating and Understanding Concurrency
Errors Using Reconstructed Execution Fragments, PLDI 2011, sections 3 to 5.

Where we depart: synchronisation operations are nodes too, and are left out of reconstructions
around data edges (`ReconOptions.sync`); what is shown is trimmed after ranking (`focus`), the score
is the paper's.
"""

from unsnarl.analyses.answer import Line
from unsnarl.analyses.recon.focus import Focus, Focused, focus
from unsnarl.analyses.recon.ranking import rank
from unsnarl.analyses.recon.reconstruction import Node, ReconOptions, Reconstruction

__all__ = ["Focus", "Focused", "Line", "Node", "ReconOptions", "Reconstruction", "focus", "rank"]
