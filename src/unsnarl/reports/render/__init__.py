# SPDX-License-Identifier: Apache-2.0
"""One module per output form, all from the one report."""
