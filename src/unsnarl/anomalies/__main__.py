# SPDX-License-Identifier: Apache-2.0
"""`python -m unsnarl.anomalies SPOOL`: started by watched programs."""

import os
import sys
from pathlib import Path

from unsnarl.anomalies.analyst import work

if __name__ == "__main__":
    os.nice(19)
    sys.exit(work(Path(sys.argv[1])))
