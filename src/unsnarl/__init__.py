# SPDX-License-Identifier: Apache-2.0
"""From a flaky multi-threaded program to the interleaving that breaks it."""
