# SPDX-License-Identifier: Apache-2.0
"""What each reproducer has values of its own for."""

from typing import Any

TARGET: tuple[str, list[str]] = ("script", [])
OPTIONS: list[str] = []
FAILURE = ""
DEADLOCK = False
FAIL_IF = ""
OK_EXIT: list[int] = [0]
STDIN = ""
PATIENCE = 2.0
ORDERS: list[list[dict[str, Any]]] = []
