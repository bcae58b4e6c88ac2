# SPDX-License-Identifier: Apache-2.0
"""Proofs for those who do not have unsnarl: one file that forces the proven orders."""
