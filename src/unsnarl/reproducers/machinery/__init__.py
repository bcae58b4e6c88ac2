# SPDX-License-Identifier: Apache-2.0
"""What forces orders on a plain interpreter. These texts are part of every reproducer.

They run without unsnarl: standard library only, Python 3.11 and later. writing.py puts them into
one file, each from its line `# ----` on, below the values of values.py. They have no annotations:
whoever reads a reproducer wants it short.
"""
