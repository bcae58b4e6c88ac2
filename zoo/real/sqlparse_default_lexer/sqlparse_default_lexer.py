# SPDX-License-Identifier: Apache-2.0
"""The first statements of a process are parsed by several worker threads."""

import queue
import sys
import threading

import sqlparse

STATEMENT = "select id, name from people where age > 30"
EXPECTED = "SELECT id, name FROM people WHERE age > 30"


def worker(start, answers):
    start.wait()
    try:
        answers.put(sqlparse.format(STATEMENT, keyword_case="upper"))
    except Exception as error:
        answers.put(repr(error))


def main():
    start, answers = threading.Event(), queue.Queue()
    workers = [threading.Thread(target=worker, args=(start, answers)) for _ in range(3)]
    for thread in workers:
        thread.start()
    start.set()
    formatted = [answers.get(timeout=10) for _ in workers]
    for thread in workers:
        thread.join()
    wrong = [text for text in formatted if text != EXPECTED]
    for text in wrong:
        print("wrong answer:", text)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
