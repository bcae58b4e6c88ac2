# SPDX-License-Identifier: Apache-2.0
"""One door to a run: a plan goes in, a result comes out."""
