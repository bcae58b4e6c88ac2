# SPDX-License-Identifier: Apache-2.0
"""Probes: how a target's accesses and synchronisation reach the core."""
