# SPDX-License-Identifier: Apache-2.0
"""Files are read, with a progress bar each; a file with a bad row is given up in the middle."""

import io
import sys
import threading
import time

from tqdm import tqdm

FILES = {"prices": [3, 5, 9], "stock": [4, 8, None, 2], "orders": [7, 1]}


def read(name, rows):
    bar = tqdm(total=len(rows), desc=name, file=io.StringIO())
    for row in rows:
        if row is None:
            return False
        time.sleep(0.01)
        bar.update()
    bar.close()
    return True


def read_all(results):
    with tqdm(total=len(FILES), desc="files", file=io.StringIO()) as files:
        for name, rows in FILES.items():
            results[name] = read(name, rows)
            files.update()


def main():
    tqdm.monitor_interval = 0.1
    results = {}
    reading = threading.Thread(target=read_all, args=(results,), daemon=True)
    reading.start()
    reading.join(timeout=5)
    if reading.is_alive():
        print("stuck; read so far:", results)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
