# SPDX-License-Identifier: Apache-2.0
"""The same for C and C++, run by gdb's own Python. Exported below a few values, between two lines
`python` and `end` (gdb_writing.py)."""

import os
import signal
import threading

import gdb

from unsnarl.reproducers.machinery.values import DEADLOCK, ORDERS

# ---- how it is forced: the same in every script --------------------------------------------------
#
# Breakpoints are at the lines of the orders. A thread that comes to one too early is held: from
# then on the others run one at a time, in slices (scheduler-locking), until one has done its part.

BUG, FIXED, NOT_ESTABLISHED = 1, 0, 2
SLICE = 0.2  # seconds that one thread runs while another one is held
ROUNDS = 15  # slices of each thread without any event, after which a hold is given up
PATHS = {1: "0"}  # by gdb's number of a thread: 0.2 is the second thread that 0 started
STARTED = {}
STATES = ["not reached"] * len(ORDERS)
HAPPENED = set()
NEWS = []
ENDED = []


def line_of(event):
    """The line of an event, by its text; 0 if it is gone."""
    name = event["function"]
    try:
        # Not by its symbol: where all its calls were inlined it has none.
        found = gdb.decode_line(name)[1][0]
        with open(found.symtab.fullname(), encoding="utf-8", errors="replace") as stream:
            rows = [row.strip() for row in stream]
    except (AttributeError, IndexError, TypeError, OSError, gdb.error):
        return 0
    head = name.split("::")[-1] + "("
    heads = [n for n, row in enumerate(rows[: found.line], 1) if head in row]
    first = heads[-1] if heads else found.line
    lines = [n for n, row in enumerate(rows, 1) if row == event["text"] and n >= first]
    return lines[min(event.get("nth", 0), len(lines) - 1)] if lines else 0


class At(gdb.Breakpoint):
    """The line of an event; stops there the right time and the right thread."""

    def __init__(self, event, order, early):
        super().__init__(f"{os.path.basename(event['file'])}:{event['at']}", internal=True)
        self.event, self.order, self.early, self.counts = event, order, early, {}

    def stop(self):
        number = gdb.selected_thread().num
        self.counts[number] = self.counts.get(number, 0) + 1
        if PATHS.get(number) != self.event["thread"]:
            return False
        if self.counts[number] != self.event.get("count", 1):
            return False
        if not self.early and self.order in HAPPENED:
            STATES[self.order] = "kept"
            return False
        NEWS.append((number, self.order, self.early))
        return True


class Starts(gdb.Breakpoint):
    """Names threads in the order of their starts."""

    def stop(self):
        STARTED.setdefault("by", []).append(gdb.selected_thread().num)
        return False


def on_thread(event):
    number = event.inferior_thread.num
    if number == 1:
        return
    by = STARTED["by"].pop(0) if STARTED.get("by") else 1
    STARTED[by] = STARTED.get(by, 0) + 1
    PATHS[number] = f"{PATHS.get(by, '0')}.{STARTED[by]}"


def go(command):
    """Let threads run; a slice ends by a signal that gdb keeps to itself."""
    pid = gdb.selected_inferior().pid
    timer = threading.Timer(SLICE, lambda: os.kill(pid, signal.SIGINT))
    if command[0]:
        timer.start()
    try:
        gdb.execute(command[1], to_string=True)
    except gdb.error as error:
        ENDED.append(f"gdb: {error}")
    timer.cancel()


def run():
    """The threads, until the program has ended or nothing goes on."""
    held, idle = {}, 0
    gdb.execute("run", to_string=True)
    while not ENDED:
        for number, order, early in NEWS:
            idle = 0
            if early:
                gdb.execute(f"thread {number}", to_string=True)
                gdb.execute("set scheduler-locking on")
                go((True, "next"))
                HAPPENED.add(order)
            else:
                held[number] = order
        NEWS.clear()
        for number, order in list(held.items()):
            if order in HAPPENED or idle > ROUNDS:
                STATES[order] = "kept" if order in HAPPENED else "given up"
                del held[number]
        threads = [one.num for one in gdb.selected_inferior().threads()]
        free = sorted(one for one in threads if one not in held)
        if not threads or (DEADLOCK and idle > 2 * ROUNDS):
            break
        if not held and not DEADLOCK:
            gdb.execute("set scheduler-locking off")
            go((False, "continue"))
        elif free:
            idle += 1 / len(free)
            number = free[int(idle * len(free)) % len(free)]
            gdb.execute(f"thread {number}", to_string=True)
            gdb.execute("set scheduler-locking on" if held else "set scheduler-locking off")
            go((True, "continue"))
        else:
            idle = ROUNDS + 1


def on_exit(event):
    ENDED.append(getattr(event, "exit_code", None))


def on_stop(event):
    name = getattr(event, "stop_signal", "SIGINT")
    if name not in ("SIGINT", "SIGTRAP"):
        ENDED.append(name)


def main():
    for word in (
        "confirm off",
        "pagination off",
        "breakpoint pending on",
        "print thread-events off",
    ):
        gdb.execute(f"set {word}")
    gdb.execute("handle SIGINT stop nopass noprint", to_string=True)
    gone = []
    for number, pair in enumerate(ORDERS):
        for event, early in zip(pair[:2], (True, False), strict=False):
            event["at"] = line_of(event)
            if not event["at"]:
                gone.append(f"{event['function']} [{event['text']}]")
            else:
                At(event, number, early)
    Starts("pthread_create", internal=True)
    gdb.events.new_thread.connect(on_thread)
    gdb.events.exited.connect(on_exit)
    gdb.events.stop.connect(on_stop)
    if not gone:
        run()
    end = ENDED[0] if ENDED else "no thread goes on"
    print(f"orders: {', '.join(STATES)}; ended with: {end}")
    if gone:
        code, why = NOT_ESTABLISHED, f"code that the orders are about is gone: {gone[0]}"
    elif end != 0:
        code, why = BUG, "the failure is there"
    elif set(STATES) & {"kept", "given up"}:
        code, why = FIXED, "the program passed under the orders"
    else:
        code, why = NOT_ESTABLISHED, "no order could be tried"
    print(f"{('FIXED', 'BUG', 'NOT ESTABLISHED')[code]}: {why}")
    gdb.execute(f"quit {code}")


main()
