# SPDX-License-Identifier: Apache-2.0
"""Campaigns: all runs of one target with one command line."""
