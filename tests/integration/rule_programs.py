# SPDX-License-Identifier: Apache-2.0
"""Programs for test_rules.py, and the points of their lines.

A comment at the end of a line names it: `points["check", Op.READ]` are the raw points that read on
the line that ends in `# check`, as a run with a trace shows them.
"""

import textwrap
from pathlib import Path

from tests.integration.test_server import Client

from unsnarl.model.event import Op
from unsnarl.runfile.reader import read_run
from unsnarl.runfile.sites import SiteTable

THREAD_BEGINS, THREAD_ENDS = int(Op.BEGIN), int(Op.END)  # at site 0

START = """
import threading

def pause():
    pass

def go(*targets):
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""

TICKETS = """
class Office:
    def __init__(self):
        self.left = 1
    def sell(self):
        if self.left > 0:  # check
            pause()
            self.left = self.left - 1  # act

office = Office()
go(office.sell, office.sell)
assert office.left == 0, office.left
"""

ORDER = """
class Box:
    value = None
box = Box()

def one():
    box.value = 1  # one

def two():
    box.value = 2  # two

go(one, two)
print(box.value)
"""

LOCKED = """
class Box:
    value = None
box, lock = Box(), threading.Lock()

def one():
    with lock:  # takes
        box.value = 1  # one

def two():
    with lock:  # takes second
        box.value = 2  # two

go(one, two)
"""

LOOPS = """
log = []
def loop(name):
    for _ in range(3):
        log.append(name)  # append

go(lambda: loop('a'), lambda: loop('b'))
print(''.join(log))
"""

COUNTER = """
class Counter:
    def __init__(self):
        self.n = 0
    def add(self):
        for _ in range(3):
            n = self.n  # read
            pause()
            self.n = n + 1  # write

counter = Counter()
go(counter.add, counter.add)
assert counter.n == 6, counter.n
"""

# One thread takes the lock inside of the region, the other enters the region inside of the lock.
NESTED = """
class Counter:
    def __init__(self):
        self.n = 0
        self.lock = threading.RLock()
    def add(self):
        n = self.n  # read
        pause()
        with self.lock:  # takes inside
            self.n = n + 1  # write
    def add_locked(self):
        with self.lock:  # takes outside
            self.add()

counter = Counter()
go(counter.add, counter.add_locked)
assert counter.n == 2, counter.n
"""

# Who is in the region comes by its entry again.
REPEATED = NESTED.replace(
    "        n = self.n  # read\n        pause()\n        with self.lock:  # takes inside\n    ",
    "        for _ in range(2):\n            n = self.n  # read\n            pause()\n",
)

# The consumer's wait takes a lock that only a notify lets go: no guard.
CONDITION = """
class Shelf:
    items = 0
    made = 0
shelf, ready = Shelf(), threading.Condition()

def produce():
    for _ in range(2):
        with ready:  # takes to produce
            shelf.items += 1
            ready.notify()
            shelf.made += 1  # produce

def consume():
    for _ in range(2):
        with ready:  # takes to consume
            while not shelf.items:
                ready.wait()  # waits
            shelf.items -= 1  # consume

go(consume, produce)
"""

SPIN = """
class Flag:
    on = False
flag = Flag()

def waits():
    while not flag.on:  # look
        WAIT

def sets():
    flag.on = True  # set

go(waits, sets)
"""

NAPS = """
import time
class Box:
    turns = 0
box, log = Box(), []

def one():
    time.sleep(0.001)  # short nap
    log.append(box.turns)

def two():
    time.sleep(1)  # long nap
    log.append('long')  # wakes

def busy():
    for _ in range(30):
        box.turns += 1  # turn
    log.append('busy')

go(one, two, busy)
print(*log)
"""

# Who looks too early waits for what comes only after the main thread has given up.
LIMIT = """
import time

class Box:
    ready = False
box, done, over = Box(), threading.Event(), threading.Event()

def look():
    if not box.ready:  # look
        over.wait()
    for _ in range(10):
        time.sleep(0.01)
    done.set()

def fill():
    box.ready = True  # fill

for target in (look, fill):
    threading.Thread(target=target).start()
is_done = done.wait(timeout=5)
over.set()
assert is_done
"""

PIPE = """
import os
class Box:
    value = None
box = Box()
inner, outer = os.pipe()

def reads():
    os.read(inner, 1)

def writes():
    box.value = 1  # write
    os.write(outer, b'x')

go(reads, writes)
"""

# Five equal threads set two variables, one looks at both.
RANGE = """
class Span:
    low = high = 0
span = Span()

def set_both():
    span.low = 10  # low
    pause()
    span.high = 20  # high

def audit():
    low = span.low  # audit low
    pause()
    high = span.high  # audit high
    assert low <= high, (low, high)

go(*[set_both] * 5, audit)
"""

TALLY = """
class Tally:
    n = 0
tally = Tally()

def add():
    n = tally.n  # read
    pause()
    tally.n = n + 1  # write

go(add, add, add, add)
assert tally.n == 4, tally.n
"""

POOL = """
import functools
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

class Worker(threading.Thread):
    def run(self):
        pass

def work(barrier=None):
    if barrier:
        barrier.wait()

with ThreadPoolExecutor(2) as pool:
    barrier = threading.Barrier(2)
    pool.submit(work, barrier)
    pool.submit(work, barrier)
go(work, functools.partial(work, None), pause, Mock())
threads = [Worker(), Worker()]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

EARLY_RETURN = """
class Box:
    value = 0
    done = 0
box = Box()

def work():
    if box.value == 0:  # enter
        pause()
        helper()
        return
    box.value = 2  # never

def helper():
    box.done += 1  # callee

def both():
    work()
    box.done += 1  # after

go(both, both)
print(box.done)
"""


class Program:
    """A program under the fork server, and what its lines are called."""

    def __init__(self, folder: Path, source: str, switch: str) -> None:
        text = START + textwrap.dedent(source)
        (folder / "program.py").write_text(text)
        self.switch = switch
        self.client = Client(folder, "script", "program.py")
        self.table = SiteTable.load(folder / "codes.json", folder)
        self._names = {
            number: line.partition("  # ")[2]
            for number, line in enumerate(text.splitlines(), 1)
            if "  # " in line
        }
        self._number = 0
        self._points: dict[tuple[str, Op], set[int]] = {}
        self._heads: dict[int, set[int]] = {}

    def run(self, *rules: dict, **changes):
        """One run: how it ended, and its run file."""
        self._number += 1
        plan = {"switch": self.switch, "seed": self._number, "rules": list(rules), **changes}
        done = self.client.run(self._number, **plan)
        return done, read_run(self.client.path(self._number, "run"))

    def run_calmly(self, *rules: dict, **changes):
        """The same; once more if a thread was blocked outside of our sight for long.

        A busy machine does that to one run, a wait that we do not control to the same run again.
        """
        found = self.run(*rules, **changes)
        stalled = found[1].counters["stalls"]
        return self.run(*rules, **{"seed": self._number, **changes}) if stalled else found

    def failures(self, times: int, *rules: dict, **changes):
        """How many of so many runs fail, and what became of the rules in all of them."""
        failed, fates = 0, []
        for seed in range(1, times + 1):
            strategy = ("walk", "pos", "pct")[seed % 3]
            done, run = self.run(*rules, **{"seed": seed, "strategy": strategy, **changes})
            assert done["status"] in (0, 1) and not done["timed_out"], self.output()
            failed += bool(run.failures or done["status"])
            fates.append(run.rules)
        return failed, fates

    def output(self) -> str:
        """What the latest run printed."""
        return self.client.output(self._number)

    def look(self, runs: int = 3) -> None:
        """Learn the points of the named lines from a few runs."""
        for _ in range(runs):
            _, run = self.run(trace=True)
            points = set(run.trace["point"].tolist())
            points |= {segment.point for segment in run.schedule}  # a sleep is in no trace
            for site, head in run.counts[["site", "head"]].tolist():
                heads = {point for point in points if point >> 4 == head}
                self._heads.setdefault(site, set()).update(heads)
            for point in points:
                name = self._names.get(self.table.site(point >> 4).line)
                if name:
                    self._points.setdefault((name, Op(point & 15)), set()).add(point)

    def __getitem__(self, key: tuple[str, Op]) -> list[int]:
        return sorted(self._points[key])

    def heads(self, name: str, op: Op) -> list[int]:
        """Where a thread that is about to do this comes to the gate."""
        return sorted(set().union(*(self._heads[point >> 4] for point in self[name, op])))

    def sites_of(self, function: str) -> list[int]:
        """The sites of one function, [low, high)."""
        (code,) = (code for code in self.table._codes if code.function == function)
        return [code.base, code.base + code.size]


def total(fates, field: str) -> list[int]:
    """A field of the rules, summed over all runs."""
    columns = zip(*([getattr(rule, field) for rule in fate] for fate in fates), strict=True)
    return [sum(column) for column in columns]
