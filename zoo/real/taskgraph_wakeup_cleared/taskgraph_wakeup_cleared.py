# SPDX-License-Identifier: Apache-2.0
"""A task is waited for, and its graph is closed and joined."""

import logging
import sys
import tempfile
import threading

import taskgraph

DONE = []


def reproject(name):
    DONE.append(name)


def work_off(folder):
    graph = taskgraph.TaskGraph(folder, 0)
    task = graph.add_task(func=reproject, args=("dem.tif",), task_name="reproject")
    task.join()
    graph.close()
    graph.join()


def main():
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        model = threading.Thread(target=work_off, args=(folder,), daemon=True)
        model.start()
        model.join(timeout=12)
        if model.is_alive():
            print("the graph is never joined; done:", DONE)
            return 1
    return 0 if DONE == ["dem.tif"] else 1


if __name__ == "__main__":
    sys.exit(main())
