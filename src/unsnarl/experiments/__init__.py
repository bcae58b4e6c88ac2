# SPDX-License-Identifier: Apache-2.0
"""Experiments: runs of the target under plans that a finding suggests, and what they prove."""
