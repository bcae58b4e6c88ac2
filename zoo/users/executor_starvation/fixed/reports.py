# SPDX-License-Identifier: Apache-2.0
"""Reports are rendered by an executor, each of them in parts."""

from concurrent.futures import ThreadPoolExecutor

PARTS = ("head", "body")


class Reports:
    def __init__(self, workers=2):
        self._pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="report")
        self._parts = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="part")

    def start(self, name):
        return self._pool.submit(self._render, name)

    def _render(self, name):
        parts = [self._parts.submit(self._render_part, name, part) for part in PARTS]
        return " ".join(part.result(timeout=5) for part in parts)

    def _render_part(self, name, part):
        return f"{part} of {name}"

    def close(self):
        self._pool.shutdown(wait=True)
        self._parts.shutdown(wait=True)
