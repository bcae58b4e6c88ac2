# SPDX-License-Identifier: Apache-2.0
"""Two workers ask the injector for the service that nobody has needed before."""

import sys
import threading

import inject


class Mailer:
    def __init__(self):
        self.outbox = {name: [] for name in ("urgent", "normal", "bulk")}


def main():
    inject.clear_and_configure(lambda binder: binder.bind_to_constructor(Mailer, Mailer))
    mailers = [0, 0]

    def work(number):
        mailers[number] = inject.instance(Mailer)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=10)
    if not all(isinstance(mailer, Mailer) for mailer in mailers):
        print("a worker was given", mailers)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
