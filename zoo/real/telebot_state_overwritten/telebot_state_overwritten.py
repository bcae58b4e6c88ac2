# SPDX-License-Identifier: Apache-2.0
"""Two people of one group talk to the bot at the same time, and the bot remembers where each of them is."""

import os
import sys
import tempfile
import threading

from telebot.storage import StatePickleStorage

GROUP = -100


def main():
    with tempfile.TemporaryDirectory() as folder:
        storage = StatePickleStorage(os.path.join(folder, "states.pkl"))
        ready = threading.Barrier(2)

        def begin(user):
            ready.wait(timeout=5)
            storage.set_state(GROUP, user, "asked for a name")

        people = [threading.Thread(target=begin, args=(user,)) for user in (1, 2)]
        for person in people:
            person.start()
        for person in people:
            person.join(timeout=10)
        states = [storage.get_state(GROUP, user) for user in (1, 2)]
    if states != ["asked for a name"] * 2:
        print("the bot remembers", states)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
