# SPDX-License-Identifier: Apache-2.0
"""A function of the calling process in the place of a command."""

from __future__ import annotations

from unsnarl.execution.functions import Function, command_of

__all__ = ["Function", "command_of"]
