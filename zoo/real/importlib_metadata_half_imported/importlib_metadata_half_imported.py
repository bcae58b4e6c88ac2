# SPDX-License-Identifier: Apache-2.0
"""A plugin loader lists what is installed while another thread imports the backport."""

import importlib
import importlib.metadata
import sys
import threading
import traceback


def list_installed(importer, failures):
    try:
        while importer.is_alive():
            list(importlib.metadata.distributions(path=[]))
    except Exception as exc:
        failures.append(exc)


def main():
    failures = []
    importer = threading.Thread(target=importlib.import_module, args=("importlib_metadata",), name="importer")
    loader = threading.Thread(target=list_installed, args=(importer, failures), name="loader")
    importer.start()
    loader.start()
    importer.join(30)
    loader.join(30)
    assert "importlib_metadata" in sys.modules, "the backport is not installed"
    for exc in failures:
        traceback.print_exception(exc)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
