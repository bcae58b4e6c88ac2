# SPDX-License-Identifier: Apache-2.0
"""The target of `unsnarl stress`, a function for `python -m unsnarl.probes.call`.

Importing this module imports the class that is named by the argument, so that every run is forked
with it.
"""

import sys

from unsnarl.probes.python.driver import Driver

drive = Driver(sys.argv[2]).drive
