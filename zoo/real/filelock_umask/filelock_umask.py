# SPDX-License-Identifier: Apache-2.0
"""Two exporters write their files under locks of their own; what they leave must stay private."""

import os
import stat
import sys
import tempfile
import threading
from pathlib import Path

from filelock import FileLock


def export(folder, name):
    with FileLock(folder / f"{name}.lock"):
        (folder / f"{name}.csv").write_text("id,amount\n")


def main():
    before = os.umask(0o077)
    try:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            exporters = [
                threading.Thread(target=export, args=(folder, name)) for name in ("orders", "refunds")
            ]
            for exporter in exporters:
                exporter.start()
            for exporter in exporters:
                exporter.join()
            summary = folder / "summary.csv"
            summary.write_text("files\n2\n")
            mode = stat.S_IMODE(summary.stat().st_mode)
    finally:
        os.umask(before)
    if mode != 0o600:
        print(f"the summary has mode {mode:o}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
