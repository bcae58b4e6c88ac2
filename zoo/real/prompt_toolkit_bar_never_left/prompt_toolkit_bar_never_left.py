# SPDX-License-Identifier: Apache-2.0
"""A short job shows a progress bar; exit 1 if the bar is never left."""

import asyncio
import os
import sys
import threading
import time

from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from prompt_toolkit.shortcuts import ProgressBar


def job(finished):
    asyncio.set_event_loop(asyncio.new_event_loop())
    copied = []
    with ProgressBar(title="copy", input=create_pipe_input(), output=DummyOutput()) as bar:
        for name in bar(["a.txt", "b.txt"]):
            time.sleep(0.1)
            copied.append(name)
    finished.set()


def main():
    finished = threading.Event()
    worker = threading.Thread(target=job, args=(finished,), daemon=True)
    worker.start()
    if not finished.wait(timeout=10):
        print("the job is done, but its bar is never left")
        sys.stdout.flush()
        os._exit(1)  # the thread of the bar would keep the process alive
    worker.join(timeout=10)
    return 0


if __name__ == "__main__":
    sys.exit(main())
