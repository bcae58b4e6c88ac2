# SPDX-License-Identifier: Apache-2.0
"""Frozen value types that every later stage shares."""
