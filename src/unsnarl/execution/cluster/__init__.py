# SPDX-License-Identifier: Apache-2.0
"""Runs on more than one machine: an engine whose fork servers are those of a dask cluster."""
