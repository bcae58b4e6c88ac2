# SPDX-License-Identifier: Apache-2.0
"""What the walk does at each instruction: the handlers of these modules, in one table by opcode."""

from unsnarl.probes.python.rewriter import accesses, calls, containers
from unsnarl.probes.python.rewriter.walk import Handler

MODULES = (accesses, calls, containers)


def _table() -> list[Handler | None]:
    table: list[Handler | None] = [None] * 256
    for module in MODULES:
        for number, handler in module.handlers.items():
            assert table[number] is None, f"two handlers of opcode {number}"
            table[number] = handler
    return table


HANDLERS = _table()
