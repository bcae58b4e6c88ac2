# SPDX-License-Identifier: Apache-2.0
"""What our servers have in common: who may ask, what browsers may do, pages, listening."""
