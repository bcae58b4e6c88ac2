# SPDX-License-Identifier: Apache-2.0
"""Where an answer lies in a run: its events, their threads, the locks and code around them."""
