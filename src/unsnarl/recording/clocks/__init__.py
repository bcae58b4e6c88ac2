# SPDX-License-Identifier: Apache-2.0
"""How far the clocks of a machine's cores are apart, and what order their stamps prove.

ReCBuLC (ICSE 2015), section III. Every core has a counter of its own; the difference of two of
them, d, is not known, but a *clock range* that surely contains it can be measured. Stamps further
apart than the range are ordered, others are not. `docs/adr/0019` says where we depart from the
paper: tests that take turns in having the cache line, the counter's step as a margin, and what a
virtual machine does to all this.
"""

from unsnarl.recording.clocks.ranges import ClockRange, Clocks, Estimate, Stamp, TestRange

__all__ = ["ClockRange", "Clocks", "Estimate", "Stamp", "TestRange"]
