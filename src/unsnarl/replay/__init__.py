# SPDX-License-Identifier: Apache-2.0
"""Stored failures, run again: schedules that survive edits, verification, debugging."""
