# SPDX-License-Identifier: Apache-2.0
"""A thread inside the program that opens bursts when the budget allows one, and closes them.

It must not be noticed: whatever goes wrong here ends in one warning, and the program goes on
unwatched.
"""

from __future__ import annotations

import _thread
import contextlib
import importlib
import os
import sys
import time
from typing import Any, NamedTuple

from unsnarl import _core
from unsnarl.watch.analysts import start_analyst
from unsnarl.watch.ledger import Ledger
from unsnarl.watch.spool import FORMAT, Spool

# Of the processor's time. Shorter bursts would be mostly beginning and end; longer ones keep the
# program slow for longer.
SHORTEST, LONGEST = 0.005, 0.05
FIXED_SHARE = 4  # a burst is at least so many times as long as its beginning and end
# What probes that are off cost at most, as a share of the time, and how long that is paid for: what
# still runs then is a loop that does not end, whose function is left alone from then on.
OFF_SHARE, LINGER_MOST = 0.3, 1.0
PATIENCE = 1.0  # real seconds: a program that sleeps is not watched for longer
SLICE = 0.002
QUIET_MOST = 0.05
FIND_PAUSE, FIND_PAUSE_MOST = 0.25, 60.0
THREADS_LEAST = 2
SLEEP_MOST = 1.0
# Held while the thread imports, makes twins, or opens and closes bursts. Who forks waits for it: a
# copy must not find a module half imported, whose lock nobody would ever release.
GUARD = _thread.allocate_lock()
ANALYST_COST = 0.5  # expected, until the first one has ended


class WatchSettings(NamedTuple):
    """What `start` was given; see there."""

    program: str
    version: str
    budget: float
    short_lived: bool
    spool: str
    root: str
    include: tuple[str, ...]
    analyst: bool


class Watcher:
    """Watches this process, until it ends or something goes wrong."""

    def __init__(self, settings: WatchSettings) -> None:
        self.settings = settings
        self.instance = os.urandom(8).hex()
        self.ledger = Ledger(settings.budget, settings.short_lived)
        self.spool = Spool(settings.spool, self.instance)
        self.bursts = 0
        self._twins: Any = None
        self._fixed = 0.001
        self._in_burst = False
        self._file = ""
        self._before = (0.0, 0.0)  # of the process, of the thread, when the burst began
        self._fixed_now = 0.0
        self._cost = 0.0
        self._quiet = SLICE
        self._finds, self._found_at, self._find_next = 0, -1, 0.0
        self._find_pause = FIND_PAUSE
        self._off = 0.0  # the process's time when what lingers was counted last; 0: nothing does
        self._lingered = 0.0
        self._stopped = False
        self._described = (-1, 0)
        self._analyst_before = self.spool.analyst_seconds()
        self._analyst_now = 0.0
        self._started = 0.0

    def start(self) -> None:
        """Begin to watch, in a thread of its own."""
        # Up to 3.12, `threading` takes the thread that imports it first for the main thread, and
        # the interpreter waits for that one before it ends. It must not be ours, which never does.
        importlib.import_module("threading")
        _thread.start_new_thread(self._work, ())

    def stop(self) -> None:
        """The program ends: close a burst that is open, and let the rest be analysed."""
        self._stopped = True
        with contextlib.suppress(Exception), GUARD:
            if self._in_burst:
                self._end()
        with contextlib.suppress(Exception):
            if self.bursts:
                self._describe(whole=True)
                if self.settings.analyst:
                    self._start_analyst()

    def forked(self) -> Watcher:
        """In a copy of the process: nothing is watched until its own watcher starts."""
        self._stopped = True
        if self._twins is not None:
            _core.forked_burst(*self._twins.without_probes())
        other = Watcher(self.settings)
        other._twins = self._twins
        return other

    def _work(self) -> None:
        self._started = time.thread_time()
        try:
            with GUARD:
                self._set_up()
            while not self._stopped:
                self._turn()
        except BaseException as error:
            self._give_up(error)

    def _set_up(self) -> None:
        if self._twins is None:
            from unsnarl.watch.twins import Twins  # noqa: PLC0415  not while the program starts

            _core.prepare_bursts({"strategy": "free", "seed": 0, "window_size": 0})
            self._twins = Twins(self.settings.root, list(self.settings.include))
        self.ledger.set_up += self._account()

    def _turn(self) -> None:
        """Sleep until a burst can be paid for, and make one."""
        length = min(max(SHORTEST, FIXED_SHARE * self._fixed), LONGEST)
        # A burst ends when its thread gets a turn, which may be late: as late as the latest were.
        cost = max(length + self._fixed, self._cost)
        self._account()
        self._charge_lingering()
        if not self.ledger.affords(cost):
            longest = SLICE * 5 if self._off else SLEEP_MOST
            time.sleep(min(max(self.ledger.wait_for(cost), SLICE), longest) * _jitter())
        elif not _has_threads() or not self._is_worth_it() or not self.spool.has_room():
            # The longer nothing is going on, the less it costs to look.
            self._quiet = min(self._quiet * 1.5, QUIET_MOST)
            time.sleep(self._quiet)
        else:
            self._quiet = SLICE
            self._burst(length)
            self._serve_analyst()

    def _is_worth_it(self) -> bool:
        """Whether two threads are in the program's code: else there is nothing to be seen."""
        with GUARD:
            if self.bursts != self._found_at or self._finds_due():
                self._find()
            return bool(self._twins.threads_inside() >= THREADS_LEAST)

    def _finds_due(self) -> bool:
        """Now and then while nothing is going on: the program may have loaded more."""
        return time.monotonic() >= self._find_next

    def _charge_lingering(self) -> None:
        """Frames that began in a burst keep their probes, which are off, and cost all the same."""
        if not self._off:
            return
        now = time.process_time()
        used, self._off = now - self._off, now
        with GUARD:
            twins = self._twins.lingering()
            self.ledger.spent += used * OFF_SHARE
            self._lingered += used
            if self._lingered > LINGER_MOST:
                self._twins.give_up(twins)
            if not twins or self._lingered > LINGER_MOST:
                self._off = 0.0

    def _find(self) -> None:
        """The program's functions, as they are now."""
        whole = self._finds & (self._finds - 1) == 0  # the 1st, 2nd, 4th, 8th time
        self._finds += 1
        self._found_at, self._find_next = self.bursts, time.monotonic() + self._find_pause
        self._find_pause = min(self._find_pause * 2, FIND_PAUSE_MOST)
        files = self._twins.find(whole)
        self._account()
        for file in files:
            self._twins.make(file)
            self.ledger.set_up += self._account()

    def _burst(self, length: float) -> None:
        if not self._begin():
            time.sleep(SLEEP_MOST / 10)
            return
        opened = time.process_time()
        patience = time.monotonic() + PATIENCE
        while time.process_time() - opened < length and time.monotonic() < patience:
            time.sleep(SLICE)
        with GUARD:
            if self._in_burst:
                self._end()

    def _begin(self) -> bool:
        with GUARD:
            self._before = time.process_time(), time.thread_time()
            functions, codes = self._twins.with_probes()
            if self._stopped or not functions:
                return False
            self._file = self.spool.next_burst()
            self._in_burst = True
            _core.begin_burst(self._file, functions, codes)
            self._fixed_now = time.thread_time() - self._before[1]
        return True

    def _end(self) -> None:
        self._in_burst = False
        before = time.thread_time()
        is_written, process, thread = _core.end_burst(*self._twins.without_probes())
        # From the first probe to the last, but for this thread, whose time is counted anyway. Who
        # ends a burst may be another thread, at the program's end: then both are.
        own = max(thread - self._before[1], 0.0)
        others = max(process - self._before[0] - own, 0.0)
        self.ledger.spent += others
        self._off, self._lingered = process, 0.0
        self._cost = max(others + own, self._cost * 0.75)
        self._fixed_now += time.thread_time() - before
        self._fixed += (self._fixed_now - self._fixed) / 4
        if not is_written:
            raise OSError(f"{self._file} cannot be written: is the disk full?")
        if self.spool.checked(self._file):
            self.bursts += 1
            self._describe(whole=False)

    def _describe(self, whole: bool) -> None:
        """What the analyst needs to read the bursts; written when there is something new."""
        from unsnarl.probes.python import registry  # noqa: PLC0415

        state = (registry.REGISTRY.watermark, self.bursts.bit_length())
        if state == self._described and not whole:
            return
        self._described = state
        self.spool.write_instance(
            {
                "format": FORMAT,
                "program": self.settings.program,
                "version": self.settings.version,
                "interpreter": f"CPython {sys.version.partition(' ')[0]}",
                "root": self.settings.root,
                "overhead": self.ledger.overhead,
                "refused": self._twins.refused,
                "codes": registry.dump(),
                "variables": _core.variables(),
            }
        )

    def _serve_analyst(self) -> None:
        """Start one if none is at work and the budget allows it; what it uses is counted."""
        if not self.settings.analyst:
            return
        used = self.spool.analyst_seconds() - self._analyst_before
        self.ledger.spent += max(used - self._analyst_now, 0.0)
        self._analyst_now = max(used, self._analyst_now)
        expected = self._analyst_now or ANALYST_COST
        if self.ledger.affords(expected) and not self.spool.is_analysed():
            self._start_analyst()

    def _start_analyst(self) -> None:
        start_analyst(self.settings.spool)

    def _account(self) -> float:
        """Count the thread's own time, since it was counted last."""
        now = time.thread_time()
        used, self._started = now - self._started, now
        self.ledger.spent += used
        return used

    def _give_up(self, error: BaseException) -> None:
        with contextlib.suppress(BaseException):
            if self._in_burst:
                self._in_burst = False
                _core.end_burst(*self._twins.without_probes())
        if not self._stopped and not sys.is_finalizing():
            not_watched(error)


def not_watched(error: BaseException) -> None:
    """Say why, once; the program goes on."""
    warn("watch-stopped", f"the program is not watched: {type(error).__name__}: {error}")


def warn(slug: str, message: str) -> None:
    """One line on standard error, past the program's own streams."""
    with contextlib.suppress(OSError):
        os.write(2, f"unsnarl: warning: {message} [{slug}]\n".encode("utf-8", "replace"))


def _has_threads() -> bool:
    """Whether anybody but the first thread and ours runs."""
    return _thread._count() > 1


def _jitter() -> float:
    """0.5 to 1.5: what the program does periodically must not always fall between bursts."""
    return 0.5 + os.urandom(1)[0] / 255
