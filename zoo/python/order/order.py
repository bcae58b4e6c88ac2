# SPDX-License-Identifier: Apache-2.0
"""Send a heartbeat from a thread of its own while the program does its work."""

import threading
import time


def launch(task, name):
    thread = threading.Thread(target=task, name=name)
    thread.start()
    return thread


class Heartbeat:
    def __init__(self, interval):
        self.interval = interval
        self.thread = None
        self.sent = []

    def start(self):
        self.thread = launch(self.run, "heartbeat")

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
