# SPDX-License-Identifier: Apache-2.0
"""The papers' own figures, by the name that the program has in our zoo.

Recon: PLDI 2011; Bugaboo: MICRO 2009; Falcon: ICSE 2010. Their programs are full applications or
kernels of them in C, C++ and Java; ours are kernels of the same bugs in Python, C and C++.
"""

from __future__ import annotations

from typing import NamedTuple


class Table3(NamedTuple):
    """A row of Recon's table 3."""

    program: str
    rank: int
    relevant: int
    irrelevant: int
    ordered: bool
    missing: int
    with_5: int
    with_15: int
    collecting: str


class Table2(NamedTuple):
    """A row of Bugaboo's table 2, for BB-SW with words: inspections in code points and functions.

    `without` is whether the bug is found without contexts.
    """

    program: str
    without: bool
    labelled: tuple[float, float]
    unlabelled: tuple[float, float]


class Table4(NamedTuple):
    """A row of Falcon's table 4; rank 0 means that the bug was not found."""

    program: str
    highest: float
    patterns: int
    in_failing: int
    only_failing: int
    rank: int


class Table5(NamedTuple):
    """A row of Falcon's table 5: the pattern, Falcon's rank, and CCI's ranks of its accesses."""

    pattern: str
    rank: int
    cci: tuple[int, ...]


RECON_1 = {  # ReliefF of B, R, C
    "apachelog": ("apache", 0.99, 0.91, 0.16),
    "binlog": ("mysql", 0.20, 0.59, 0.76),
    "pbzip2": ("pbzip2", 0.26, 0.28, 0.28),
    "aget": ("aget", 0.84, 0.91, 0.16),
}

RECON_3 = {
    "logsweep": Table3("logandswp", 1, 6, 1, True, 0, 1, 1, ""),
    "circlist": Table3("circlist", 1, 3, 3, True, 0, 1, 1, ""),
    "txtframe": Table3("textreflow", 1, 8, 0, True, 0, 1, 1, ""),
    "strlen": Table3("jsstrlen", 1, 7, 0, True, 0, 1, 1, ""),
    "apachelog": Table3("apache", 1, 5, 5, True, 0, 1, 1, "0:27:32"),
    "binlog": Table3("mysql", 1, 8, 7, True, 0, 34, 9, "0:07:08"),
    "pbzip2": Table3("pbzip2", 1, 11, 0, True, 1, 2, 1, "1:51:56"),
    "aget": Table3("aget", 1, 4, 2, True, 0, 8, 1, "0:59:41"),
    "strbuf": Table3("stringbuffer", 1, 6, 0, True, 0, 1, 1, ""),
    "vector": Table3("vector", 1, 6, 0, True, 0, 1, 1, ""),
    "weblech": Table3("weblech", 1, 6, 28, True, 0, 4, 1, "0:13:36"),
}

BUGABOO_2 = {
    "bank": Table2("BankAcct", False, (3.6, 1.4), (4.8, 1.2)),
    "circlist": Table2("CircularList", False, (2.6, 1.2), (2.0, 1.0)),
    "logsweep": Table2("LogAndSweep", False, (1.0, 1.0), (2.0, 1.0)),
    "multiorder": Table2("MultiOrder", False, (1.0, 1.0), (1.0, 1.0)),
    "strlen": Table2("Moz-jsStr", False, (1.0, 1.0), (1.4, 1.0)),
    "jsinterp": Table2("Moz-jsInterp", False, (1.8, 1.0), (2.8, 2.0)),
    "macnetio": Table2("Moz-macNetIO", False, (3.0, 1.6), (4.8, 3.4)),
    "txtframe": Table2("Moz-TxtFrame", False, (3.4, 1.0), (2.4, 2.2)),
    "idinit": Table2("MySQL-IdInit", True, (1.0, 1.0), (1.0, 1.0)),
    "binlog": Table2("MySQL-BinLog", False, (34.2, 21.2), (16.0, 10.8)),
    "apachelog": Table2("Apache-LogSz", False, (13.2, 10.8), (142.0, 61.4)),
    "pbzip2": Table2("PBZip2-Order", False, (6.6, 2.0), (3.4, 1.6)),
    "aget": Table2("AGet-MultVar", False, (1.0, 1.0), (1.0, 1.0)),
}

# Table 4 of Bugaboo: inspections with contexts of 0 to 5 events; None where the bug is not found.
# Its last column also settles which figures of table 2 are the labelled ones.
BUGABOO_4: dict[str, tuple[float | None, ...]] = {
    "bank": (None, 2.0, 2.0, 2.4, 3.4, 3.6),
    "circlist": (None, None, 7.2, 3.4, 3.2, 2.6),
    "logsweep": (None, None, 2.2, 2.8, 1.6, 1.0),
    "multiorder": (None, None, 2.8, 1.0, 1.0, 1.0),
    "strlen": (None, 1.0, 1.0, 1.0, 1.0, 1.0),
    "jsinterp": (None, None, None, 1.6, 1.8, 1.8),
    "macnetio": (None, 1.2, 1.0, 1.4, 2.2, 3.0),
    "txtframe": (None, None, 3.4, 2.8, 2.8, 3.4),
    "idinit": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    "binlog": (None, None, 522.6, 128.8, 60.0, 34.2),
    "apachelog": (None, 25.2, 6.4, 7.2, 9.8, 13.2),
    "pbzip2": (None, None, None, None, 6.6, 6.6),
    "aget": (None, 3.8, 3.8, 1.4, 1.0, 1.0),
}

# Table 2 of Bugaboo, BB-HW: labelled and unlabelled inspections, in code points and functions.
BUGABOO_2_HARDWARE: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "bank": ((1.4, 1.0), (2.2, 1.2)),
    "circlist": ((2.2, 1.2), (2.0, 1.6)),
    "logsweep": ((1.0, 1.0), (1.0, 1.0)),
    "multiorder": ((1.0, 1.0), (1.0, 1.0)),
    "strlen": ((1.8, 1.0), (5.8, 3.2)),
    "jsinterp": ((1.0, 1.0), (1.4, 1.2)),
    "macnetio": ((1.4, 1.0), (2.8, 2.6)),
    "txtframe": ((1.0, 1.0), (2.8, 2.4)),
    "idinit": ((1.0, 1.0), (1.0, 1.0)),
    "binlog": ((34.0, 24.4), (19.2, 11.0)),
    "apachelog": ((12.0, 10.6), (80.2, 49.8)),
    "pbzip2": ((14.5, 4.8), (5.2, 1.6)),
    "aget": ((1.0, 1.0), (1.0, 1.0)),
}

# Table 3: code points that are missing, in percent: with lines; with lines and evictions.
BUGABOO_3 = {
    "aget": (16.67, 33.33),
    "apachelog": (25.57, 59.09),
    "binlog": (27.43, 54.51),
    "pbzip2": (26.32, 59.65),
}


class Table5Hardware(NamedTuple):
    """A row of Bugaboo's table 5: per 10,000 accesses (traps: 10 million), then graph sizes."""

    read_misses: float
    write_misses: float
    coherence_misses: float
    metadata_writes: float
    table_writes: float
    traps: float
    plain: tuple[int, int]
    with_context: tuple[int, int]


BUGABOO_5 = {
    "blackscholes": Table5Hardware(
        212.41, 53.93, 0.02, 266.36, 212.55, 11.3, (51, 104), (230, 472)
    ),
    "canneal": Table5Hardware(429.33, 15.23, 0.0, 444.57, 429.33, 6.2, (216, 437), (2025, 4055)),
    "dedup": Table5Hardware(5.0, 0.49, 0.05, 5.53, 5.09, 0.1, (227, 750), (3784, 11570)),
    "ferret": Table5Hardware(33.7, 23.96, 0.08, 57.74, 33.78, 0.0, (398, 821), (572, 1216)),
    "aget": Table5Hardware(10.5, 0.25, 8.39, 19.14, 18.91, 0.0, (58, 135), (154, 376)),
    "pbzip2": Table5Hardware(0.02, 0.0, 0.0, 0.03, 0.02, 0.0, (59, 145), (208, 451)),
    "apachelog": Table5Hardware(3.27, 3.78, 0.03, 7.08, 3.31, 0.0, (672, 1361), (1797, 3635)),
    "binlog": Table5Hardware(
        129.15, 32.85, 0.18, 162.18, 129.41, 6.3, (1303, 3271), (20435, 48861)
    ),
}

FALCON_4 = {
    "account": Table4("Account", 0.8, 11, 10, 7, 2),
    "airlines": Table4("AirlinesTickets", 0.33, 4, 1, 0, 1),
    "bubblesort": Table4("BubbleSort2", 1, 4, 4, 1, 1),
    "bufwriter": Table4("BufWriter", 0.33, 105, 71, 25, 1),
    "lottery": Table4("Lottery", 0.1, 4, 4, 4, 1),
    "mergesort": Table4("MergeSort", 0.9, 76, 63, 42, 1),
    "shop": Table4("Shop", 0.16, 10, 2, 0, 2),
    "arraylist": Table4("ArrayList", 1, 1, 1, 1, 1),
    "hashset": Table4("HashSet", 1, 7, 3, 3, 1),
    "strbuf": Table4("StringBuffer", 1, 2, 1, 1, 1),
    "treeset": Table4("TreeSet", 1, 9, 5, 3, 2),
    "vector": Table4("Vector", 1, 1, 1, 1, 1),
    "cache4j": Table4("Cache4j", 0.51, 23, 12, 2, 1),
    "hedc": Table4("Hedc", 0.01, 2, 2, 0, 0),
    "philo": Table4("Philo", 0, 9, 0, 0, 0),
    "raytracer": Table4("RayTracer", 1, 14, 14, 14, 2),
    "tsp": Table4("Tsp", 0, 24, 0, 0, 0),
}

FALCON_5 = {
    "account": Table5("R1-W2-R1", 2, (6, 4, 6)),
    "airlines": Table5("R1-W2-R1", 1, (2, 5, 4)),
    "bubblesort": Table5("W1-R2-W1", 1, (1, 7, 2)),
    "bufwriter": Table5("R1-W2-R1", 1, (5, 1, 5)),
    "lottery": Table5("R1-W2-R1", 1, (1, 7, 4)),
    "mergesort": Table5("W1-R2-W1", 1, (1, 3, 12)),
    "shop": Table5("R1-W2-R1", 2, (15, 12, 15)),
    "arraylist": Table5("R1-W2-R1", 1, (4, 4, 4)),
    "hashset": Table5("R1-W2-R1", 1, (15, 15, 1)),
    "strbuf": Table5("R1-W2-R1", 1, (14, 2, 1)),
    "treeset": Table5("R1-W2-R1", 2, (10, 5, 10)),
    "vector": Table5("R1-W2-R1", 1, (2, 2, 2)),
    "cache4j": Table5("W1-R2", 1, (79, 2)),
    "raytracer": Table5("R1-W2-W1", 2, (4, 4, 3)),
}

# Where the zoo's program in C goes by the paper's name and the one in Python does not.
for _in_c, _in_python in (
    ("logandswp", "logsweep"),
    ("textreflow", "txtframe"),
    ("jsstrlen", "strlen"),
):
    RECON_3[_in_c] = RECON_3[_in_python]
    BUGABOO_2[_in_c] = BUGABOO_2[_in_python]
    BUGABOO_2_HARDWARE[_in_c] = BUGABOO_2_HARDWARE[_in_python]
    BUGABOO_4[_in_c] = BUGABOO_4[_in_python]

# ReCBuLC (ICSE 2015): table IV, minimum and maximum of two tests; figure 13: lowest and highest
# estimate of an hour, and their sample variance.
RECBULC_4 = {
    "fig. 5(a)": (-114, 112, -116, 120),
    "fig. 5(b)": (-190, 182, -180, 188),
    "fig. 5(c)": (-128, 128, -124, 126),
    "fig. 5(d)": (-116, 120, -120, 110),
    "together": (-114, 112, -116, 110),
}
RECBULC_13 = (-0.0885, 0.1827, "0.001379")
