# SPDX-License-Identifier: Apache-2.0
"""A run along recorded branches, with symbols for what shared integers were (CLAP proper)."""
