# SPDX-License-Identifier: Apache-2.0
"""Analyses: each ranks the possible causes of one signature from labelled runs."""
