# SPDX-License-Identifier: Apache-2.0
"""Sell lottery tickets at two booths; each number goes into the official record and on a ticket."""

import threading
from concurrent.futures import ThreadPoolExecutor

PRICE = 2

number = 7
record = []
draw_lock = threading.Lock()
pot = 0
pot_lock = threading.Lock()


def draw():
    """The next number of a generator with a fixed seed."""
    global number
    number = (5 * number + 3) % 64


def pay():
    global pot
    with pot_lock:
        pot += PRICE


def buy(player):
    """Draw a number for a player; return the ticket."""
    pay()
    with draw_lock:
        draw()
        record.append((player, number))
        return player, number


def booth(players):
    return [buy(player) for player in players]


def main():
    queues = (["nora", "olaf"], ["pia"])
    with ThreadPoolExecutor(max_workers=2) as pool:
        tickets = [ticket for sold in pool.map(booth, queues) for ticket in sold]
    assert pot == PRICE * len(tickets)
    assert sorted(record) == sorted(tickets), "a ticket differs from the record"


if __name__ == "__main__":
    main()
