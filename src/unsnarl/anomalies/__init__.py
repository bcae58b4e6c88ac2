# SPDX-License-Identifier: Apache-2.0
"""What watched programs did that their baselines do not have: read, compared, ranked, sent.

None of this runs inside a program: `python -m unsnarl.anomalies SPOOL` is the analyst, a process of
its own (watch/spool.py has the folder between the two).
"""
