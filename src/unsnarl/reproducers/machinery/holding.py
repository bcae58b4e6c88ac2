# SPDX-License-Identifier: Apache-2.0
"""Threads are kept waiting, and noticed when none goes on."""

import json
import os
import sys
import threading
import time

from unsnarl.reproducers.machinery.events import (
    ALL,
    BUG,
    EVENTS,
    FAILURES,
    FILE,
    KINDS,
    LONGEST,
    LOOK,
    NEWS,
    ROLES,
    STUCK,
    THREADS,
    _text,
)
from unsnarl.reproducers.machinery.values import DEADLOCK, PATIENCE

# ---- how a thread is kept waiting -----------------------------------------------------------


def arrive(frame, offset, table):
    """A thread is about to execute an instruction of the program."""
    me = THREADS.get(threading.get_ident())
    if me is None:
        return
    leave(me, frame)
    begins, ends = table
    come(me, [one for one in begins.get(offset, ()) if not one.op])
    enter(me, frame, [one for one in ends.get(offset, ()) if not one.op])


def come(me, events):
    """A thread is about to do these: it is kept waiting where an order wants it."""
    for event in events:
        event.reached = True
        _take_role(event, me)
        me.counts[event] = me.counts.get(event, 0) + 1
    mine = [one for one in events if me.counts[one] == one.count and one.is_by(me)]
    for order in ALL:
        if order.holds(mine):
            keep_waiting(me, order)


def enter(me, key, events):
    """It does them; they have happened when it goes on behind `key`."""
    begun = [one for one in events if me.counts.get(one) == one.count and one.is_by(me)]
    if begun:
        me.within.append((key, begun, WATCH.clock))


def _take_role(event, me):
    """Of threads that are alike, whoever comes first to what a role does has the role."""
    alike = event.thread == me.path or (event.equal and me.kind == KINDS.get(event.thread))
    if event.role and event.role not in ROLES and me not in ROLES.values() and alike:
        ROLES[event.role] = me


def leave(me, key):
    """What began there has ended: its events have happened."""
    for entry in [one for one in me.within if one[0] is key]:
        me.within.remove(entry)
        for event in entry[1]:
            event.happened.set()


def keep_waiting(me, order):
    """Until the other thread has done its part, or nothing moves any more."""
    begin = WATCH.clock
    me.held = True
    while not order.early.happened.wait(0.01):
        now = WATCH.clock
        _wake_after_stuck(now)
        if now - max(begin, WATCH.moved) > PATIENCE or now - begin > LONGEST:
            break
    me.held = False
    order.state = "kept" if order.early.happened.is_set() else "given up"
    report()


def _wake_after_stuck(now):
    """Who has been within one instruction for long waits in there, maybe for ever."""
    for thread in list(THREADS.values()):
        for _, events, since in list(thread.within):
            if now - since > STUCK and not thread.held:
                for event in events:
                    event.happened.set()


class Watch:
    """Notices when no thread goes on any more.

    Its clock counts its own looks: on a busy machine, where threads do not move because they have
    no core, it is slow as well.
    """

    clock = moved = 0.0

    def run(self):
        """Look around all the time."""
        before, fallen = None, 0.0
        while True:
            time.sleep(LOOK)
            self.clock += LOOK
            frames = sys._current_frames()
            held = {ident for ident, one in list(THREADS.items()) if one.held}
            now = {
                (ident, id(frame), frame.f_lasti)
                for ident, frame in frames.items()
                if ident in THREADS and ident not in held
            }
            if now != before or held:
                fallen = self.clock
            if now != before:
                before, self.moved = now, self.clock
            if self.clock - fallen > PATIENCE + 1 and (DEADLOCK or FAILURES):
                self.stands_still(frames)

    def stands_still(self, frames):
        """What was proved has come true, and the process would hang."""
        if not FAILURES:
            rows = [_where(frame) for ident, frame in frames.items() if ident in THREADS]
            FAILURES.append(
                "deadlock: no thread goes on: " + " | ".join(sorted(filter(None, rows)))
            )
        report()
        sys.stdout.flush()
        os._exit(BUG)


def _where(frame):
    """The innermost line of the program itself."""
    files = {event.file for event in EVENTS}
    while frame is not None:
        path = frame.f_code.co_filename.replace(os.sep, "/")
        if any(path.endswith(file) for file in files):
            return f"{frame.f_code.co_qualname} [{_text(frame.f_code, frame.f_lineno)}]"
        frame = frame.f_back
    return ""


WATCH = Watch()


def report():
    """For the parent: what became of the orders so far."""
    rows = {
        "states": [one.state for one in ALL],
        "failures": FAILURES,
        "gone": [str(event) for one in ALL for event in one.gone()],
        "avoided": [str(event) for event in EVENTS if event.found and not event.reached],
    }
    with NEWS, open(os.environ[FILE], "w", encoding="utf-8") as stream:
        json.dump(rows, stream)
