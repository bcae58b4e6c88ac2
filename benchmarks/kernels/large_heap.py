# SPDX-License-Identifier: Apache-2.0
"""The constraint solver on problems so large that their cells overflow the tracker's table."""

from constraints import chain, projection
from teams import in_threads


def run(size, threads=4):
    return sum(in_threads(threads, lambda place: chain(size) + projection(size)))
