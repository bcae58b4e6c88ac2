# SPDX-License-Identifier: Apache-2.0
"""A control unit does not answer: its watchdog cancels the request, and the program closes the connection."""

import logging
import sys
import threading
import time

import isotp

FRAMES = []


def receive(timeout):
    time.sleep(timeout)


def main():
    logging.disable(logging.CRITICAL)
    address = isotp.Address(isotp.AddressingMode.Normal_11bits, txid=0x7E0, rxid=0x7E8)
    connection = isotp.TransportLayer(rxfn=receive, txfn=FRAMES.append, address=address, read_timeout=0.01)
    connection.start()
    connection.send(bytes(100))

    watchdog = threading.Thread(target=connection.stop_sending, daemon=True)
    watchdog.start()
    time.sleep(0.1)
    connection.stop()
    watchdog.join(timeout=5)
    if watchdog.is_alive():
        print("the request is never cancelled; frames sent:", len(FRAMES))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
