# SPDX-License-Identifier: Apache-2.0
"""The bars of the project as ratios taken in one run: `python -m benchmarks [name...]`."""
