# SPDX-License-Identifier: Apache-2.0
"""How good the answers are: the rank of the true cause on bugs whose cause is known."""
