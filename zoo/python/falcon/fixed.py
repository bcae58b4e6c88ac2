# SPDX-License-Identifier: Apache-2.0
"""Let two guests take the seats at the bar as the barkeeper frees them, left and right.

A seat is 0 (being cleaned), 1 (free), 2 (Ann's) or 3 (Bob's).
"""

import threading

left = 0
right = 0
seats = threading.Lock()


def barkeeper():
    global left, right
    with seats:
        if left == 0:
            left = 1
        if right == 0:
            right = 1
        assert not (left == 2 and right == 2), "Ann has both seats"


def ann():
    global left, right
    with seats:
        if left == 1:
            left = 2
        if right == 1:
            right = 2


def bob():
    global left, right
    with seats:
        if left == 1:
            left = 3
        if right == 1:
            right = 3


def main():
    threads = [threading.Thread(target=person) for person in (barkeeper, ann, bob)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
