# SPDX-License-Identifier: Apache-2.0
"""Probes for Python. Runs inside the target: standard library and `unsnarl._core` only."""
