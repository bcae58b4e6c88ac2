# SPDX-License-Identifier: Apache-2.0
"""The programs that are timed: ordinary modules, each with `run(size, threads)` and a result.

The result does not depend on the schedule, so that a run with probes can be checked against a plain
one. Nothing here knows that it is watched.
"""
