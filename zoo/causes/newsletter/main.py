# SPDX-License-Identifier: Apache-2.0
"""Two clerks enter the same reader and send a letter each."""

import threading

from newsletter import Newsletter


def clerk(paper):
    paper.subscribe("ann@example.org")
    paper.send("ann@example.org")


def main():
    paper = Newsletter()
    clerks = [threading.Thread(target=clerk, args=(paper,)) for _ in range(2)]
    for one in clerks:
        one.start()
    for one in clerks:
        one.join()
    if (len(paper.readers), paper.sent) != (1, 2):
        raise SystemExit("the books of the newsletter are wrong")


if __name__ == "__main__":
    main()
