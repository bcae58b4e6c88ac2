# SPDX-License-Identifier: Apache-2.0
"""The points of two teams, counted by several umpires."""

import threading

WORTH = {"try": 5, "goal": 2}


def worth(kind):
    return WORTH[kind]


class Scoreboard:
    def __init__(self):
        self.lock = threading.Lock()
        self.points = {"home": 0, "away": 0}
        self.calls = []

    def home(self, kind):
        with self.lock:
            self.calls.append(("home", kind))
        self.points["home"] = self.points["home"] + worth(kind)

    def away(self, kind):
        with self.lock:
            self.calls.append(("away", kind))
        self.points["away"] = self.points["away"] + worth(kind)

    def is_right(self):
        return sum(self.points.values()) == sum(worth(kind) for _, kind in self.calls)
