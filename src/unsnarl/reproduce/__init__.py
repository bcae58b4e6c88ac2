# SPDX-License-Identifier: Apache-2.0
"""Reproduce: repeat a stored failing run in a new process, also after the code was edited."""
