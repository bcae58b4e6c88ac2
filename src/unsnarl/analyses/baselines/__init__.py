# SPDX-License-Identifier: Apache-2.0
"""Baselines that the papers compare themselves with: CCI (predicates) and AVIO (triples)."""
