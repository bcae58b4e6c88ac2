# SPDX-License-Identifier: Apache-2.0
"""Drive a class from several threads, and find calls whose results no serial order gives."""
