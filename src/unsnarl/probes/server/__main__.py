# SPDX-License-Identifier: Apache-2.0
"""`python -m unsnarl.probes.server FD`: the door to the fork server (service.py)."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # `-m` has put the current folder here: its json.py or queue.py is not ours to import
        del sys.path[0]
    from unsnarl.probes.server import service

    service.main(sys.argv[1:])
