# SPDX-License-Identifier: Apache-2.0
"""Two players take the notes that wait in one input port; exit 1 if a player stumbles or a note is lost."""

import sys
import threading

from mido import Message
from mido.ports import BaseInput


def main():
    port = BaseInput("keys")
    port._messages.append(Message("note_on", note=60))
    played, errors = [], []

    def player():
        try:
            played.extend(message.note for message in port.iter_pending())
        except Exception as error:
            errors.append(error)

    players = [threading.Thread(target=player) for _ in range(2)]
    for thread in players:
        thread.start()
    for thread in players:
        thread.join(5)
    port.close()
    if errors or played != [60]:
        print("played %r, errors %r" % (played, errors))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
