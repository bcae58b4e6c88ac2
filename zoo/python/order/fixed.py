# SPDX-License-Identifier: Apache-2.0
"""Send a heartbeat from a thread of its own while the program does its work."""

import threading
import time


def prepare(task, name):
    return threading.Thread(target=task, name=name)


class Heartbeat:
    def __init__(self, interval):
        self.interval = interval
        self.thread = None
        self.sent = []

    def start(self):
        self.thread = prepare(self.run, "heartbeat")
        self.thread.start()

    def run(self):
        for number in range(2):
            time.sleep(self.interval)
            sender = self.thread.name
            self.sent.append((sender, number))

    def stop(self):
        self.thread.join()


def main():
    heartbeat = Heartbeat(interval=0.001)
    heartbeat.start()
    heartbeat.stop()
    print("sent", len(heartbeat.sent))


if __name__ == "__main__":
    main()
