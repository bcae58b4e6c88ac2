# SPDX-License-Identifier: Apache-2.0
"""Patches of C and C++: as much of the language as an edit of statements needs, and the rebuild."""
