# SPDX-License-Identifier: Apache-2.0
"""Recorded runs: real parallel runs, logged with the clocks of the cores."""
