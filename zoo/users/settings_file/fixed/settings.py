# SPDX-License-Identifier: Apache-2.0
"""Settings of an application in a JSON file that people may edit, too."""

import json
import threading
from pathlib import Path


class Settings:
    def __init__(self, path):
        self.path = Path(path)
        self._lock = threading.Lock()

    def load(self):
        if not self.path.exists():
            return {}
        return json.loads(self.path.read_text())

    def get(self, name, default=None):
        return self.load().get(name, default)

    def set(self, name, value):
        with self._lock:
            values = self.load()
            values[name] = value
            self._store(values)

    def _store(self, values):
        self.path.write_text(json.dumps(values, indent=2))
