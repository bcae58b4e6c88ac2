# SPDX-License-Identifier: Apache-2.0
"""A fix as an edit of the source: written, run in the original's stead, and hunted."""
