# SPDX-License-Identifier: Apache-2.0
"""PRES on local clocks: from a sketch of a failing run to a schedule that fails (ReCBuLC IV.A)."""
