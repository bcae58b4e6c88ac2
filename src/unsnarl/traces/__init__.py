# SPDX-License-Identifier: Apache-2.0
"""Access traces: kept compressed, tracked again offline, run through simulated hardware."""
