# SPDX-License-Identifier: Apache-2.0
"""How the core ends a process when the program does not.

The numbers of native/include/unsnarl/exit_status.def, for both sides of the protocol. Only the
standard library here: this is imported inside targets.
"""

from typing import Final

DEADLOCK: Final = 96
TIMEOUT: Final = 97
REFUSED: Final = 98

# How the reason of a refusal begins that has a slug of its own.
GIL_ENABLED: Final = "on this free-threaded build the interpreter's lock was switched on by "
