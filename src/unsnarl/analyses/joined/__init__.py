# SPDX-License-Identifier: Apache-2.0
"""The default ranking: what several methods say of the same accesses is one answer.

Falcon's patterns are exact about who touched a cell between whose accesses, and blind to bugs of
two variables; Recon's reconstructions see both and are vague about the rest. Here patterns are
ranked with what neither of them uses: the order that starting and joining threads enforces anyway
is no suspect, the accesses of one line are one, and two conflicts of two threads that close
a cycle are one interleaving, on one variable or on two. Reconstructions and Falcon's own patterns
about the same accesses support an answer; what only Recon sees comes along (docs/adr/0010).
"""

from unsnarl.analyses.joined.ranking import answers

__all__ = ["answers"]
