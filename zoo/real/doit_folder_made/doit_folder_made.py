# SPDX-License-Identifier: Apache-2.0
"""Two tasks that run in parallel put their results into the same folder, and both make sure that it is there."""

import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from doit.tools import create_folder


def build(folder, name):
    create_folder(folder)
    with open(os.path.join(folder, name), "w") as target:
        target.write("built")


def main():
    with tempfile.TemporaryDirectory() as root:
        folder = os.path.join(root, "out", "html")
        with ThreadPoolExecutor(max_workers=2) as tasks:
            builds = [tasks.submit(build, folder, name) for name in ("index.html", "about.html")]
        failures = [task.exception() for task in builds if task.exception()]
        built = sorted(os.listdir(folder))
    if failures or built != ["about.html", "index.html"]:
        print("built %r, failed %r" % (built, failures))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
