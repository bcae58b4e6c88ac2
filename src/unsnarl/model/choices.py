# SPDX-License-Identifier: Apache-2.0
"""What users choose by name. Nothing is imported here, so that `--help` stays fast."""

from __future__ import annotations

from typing import Literal, get_args

# What a record logs besides locks and threads, and how it puts events of all threads in order.
Level = Literal["sync", "func", "loop", "funcloop", "block", "access"]
Order = Literal["clocks", "global"]
LEVELS: tuple[Level, ...] = get_args(Level)
ORDERS: tuple[Order, ...] = get_args(Order)
# Rankings (analyses/methods.py), and the formulas that Falcon's takes.
# Repeated here so that --help and completion do not load numpy.
METHODS = ("joined", "recon", "falcon", "bugaboo", "bugaboo-unlabelled", "cci", "avio")
UNLABELLED = "bugaboo-unlabelled"
FORMULAS = ("jaccard", "tarantula", "ochiai")
# Ways to reproduce a recorded failure (reproduce/methods.py).
REPRODUCTIONS = ("pres", "clap")
