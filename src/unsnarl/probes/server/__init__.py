# SPDX-License-Identifier: Apache-2.0
"""The fork server: loads a target once and forks one process per run, for every kind of probe."""
