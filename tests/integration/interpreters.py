# SPDX-License-Identifier: Apache-2.0
"""The interpreter that targets run in: ours, or the one that UNSNARL_TEST_PYTHON names.

unsnarl's own dependencies do not support every interpreter that its probes do (msgspec: no
free-threaded 3.13).
"""

import os
import subprocess
import sys

PYTHON = os.environ.get("UNSNARL_TEST_PYTHON", sys.executable)


def version() -> str:
    """Its version, as the server says it."""
    ask = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
    command = [PYTHON, "-c", ask]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
