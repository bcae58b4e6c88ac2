# SPDX-License-Identifier: Apache-2.0
"""Watch a few hosts: they report that they are alive, a monitor looks for the silent ones."""

import threading

LIMIT = 30


class Presence:
    """When each host was last heard of, in seconds."""

    def __init__(self):
        self.lock = threading.Lock()
        self.last_seen = {}
        self.beats = 0

    def beat(self, host, now):
        with self.lock:
            self.beats += 1
        self.last_seen[host] = now

    def silent(self, now):
        late = []
        for host, seen in self.last_seen.items():
            if now - seen > LIMIT:
                late.append(host)
        return late


class Monitor(threading.Thread):
    def __init__(self, presence, times):
        super().__init__()
        self.presence = presence
        self.times = times
        self.alarms = []

    def run(self):
        for now in self.times:
            self.alarms.extend(self.presence.silent(now))


class Host(threading.Thread):
    def __init__(self, presence, name, times):
        super().__init__(name=name)
        self.presence = presence
        self.times = times

    def run(self):
        for now in self.times:
            self.presence.beat(self.name, now)


def main():
    presence = Presence()
    presence.beat("printer", 0)
    presence.beat("gateway", 50)
    monitor = Monitor(presence, [60])
    hosts = [Host(presence, "laptop", [55, 60]), Host(presence, "gateway", [60])]
    for thread in (monitor, *hosts):
        thread.start()
    for thread in (monitor, *hosts):
        thread.join()
    print("silent", monitor.alarms, "of", presence.beats, "reports")


if __name__ == "__main__":
    main()
