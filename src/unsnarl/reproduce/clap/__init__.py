# SPDX-License-Identifier: Apache-2.0
"""CLAP: the order of a recorded run, solved from what its threads logged alone (ReCBuLC IV.B)."""
