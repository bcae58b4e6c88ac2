# SPDX-License-Identifier: Apache-2.0
"""Reproduce: from the record of a free run that failed to a schedule that always fails."""
