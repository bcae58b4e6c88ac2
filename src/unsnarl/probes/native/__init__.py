# SPDX-License-Identifier: Apache-2.0
"""The probe for C and C++: what Python has to do for it (native/probe_c does the rest)."""
