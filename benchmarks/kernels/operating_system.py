# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D102  a specimen: the module docstring says what it is
"""A small operating system: tasks of five kinds pass packets through linked queues.

Of the kind of the Richards benchmark: many small methods on a few kinds of objects, chosen by the
object. Each thread runs a machine of its own.
"""

from teams import in_threads

IDLE, WORKER, PARSER, PRINTER, DISK, TAPE = range(6)
LETTERS = 26
PAYLOAD = 4
JOB, BLOCK = 1, 2


class Packet:
    """What tasks send each other."""

    def __init__(self, link, owner, kind):
        self.link = link
        self.owner = owner
        self.kind = kind
        self.cursor = 0
        self.payload = [0] * PAYLOAD

    def after(self, queue):
        """Puts the packet at the end of a queue; gives the queue's head."""
        self.link = None
        if queue is None:
            return self
        last = queue
        while last.link is not None:
            last = last.link
        last.link = self
        return queue


class Status:
    """Why a task may or may not run."""

    def __init__(self, has_mail):
        self.has_mail = has_mail
        self.waiting = has_mail
        self.held = False

    def is_runnable(self):
        if self.held:
            return False
        return self.has_mail or not self.waiting


class Task:
    """One task; its kind says what `work` does with a packet."""

    def __init__(self, machine, ident, priority, inbox):
        self.machine = machine
        self.ident = ident
        self.priority = priority
        self.inbox = inbox
        self.status = Status(inbox is not None)
        self.next = machine.tasks
        machine.tasks = self
        machine.table[ident] = self

    def step(self):
        """Takes a packet, if one has come, and does its work."""
        status = self.status
        packet = None
        if status.has_mail and status.waiting:
            packet = self.inbox
            self.inbox = packet.link
            status.has_mail = self.inbox is not None
            status.waiting = False
        return self.work(packet)

    def receive(self, packet, sender):
        """Takes a packet from another task; the more urgent of the two goes on."""
        if self.inbox is None:
            self.inbox = packet
            self.status.has_mail = True
            if self.priority > sender.priority:
                return self
        else:
            self.inbox = packet.after(self.inbox)
        return sender

    def wait(self):
        self.status.waiting = True
        return self

    def hold(self):
        self.machine.held += 1
        self.status.held = True
        return self.next

    def release(self, ident):
        task = self.machine.find(ident)
        task.status.held = False
        return task if task.priority > self.priority else self

    def send(self, packet):
        task = self.machine.find(packet.owner)
        self.machine.sent += 1
        packet.link = None
        packet.owner = self.ident
        return task.receive(packet, self)

    def work(self, packet):
        raise NotImplementedError


class Idle(Task):
    """Wakes the two devices in turn, as a shift register says, until its time is over."""

    def __init__(self, machine, budget):
        Task.__init__(self, machine, IDLE, 0, None)
        self.register = 1
        self.budget = budget

    def work(self, packet):
        self.budget -= 1
        if self.budget == 0:
            return self.hold()
        if self.register & 1:
            self.register = self.register >> 1 ^ 0xD008
            return self.release(TAPE)
        self.register >>= 1
        return self.release(DISK)


class Worker(Task):
    """Fills packets with letters and sends them to parser and printer in turn."""

    def __init__(self, machine, inbox):
        Task.__init__(self, machine, WORKER, 1000, inbox)
        self.partner = PARSER
        self.letter = 0

    def work(self, packet):
        if packet is None:
            return self.wait()
        self.partner = PRINTER if self.partner == PARSER else PARSER
        packet.owner = self.partner
        packet.cursor = 0
        payload = packet.payload
        for place in range(PAYLOAD):
            self.letter += 1
            if self.letter > LETTERS:
                self.letter = 1
            payload[place] = self.letter
        return self.send(packet)


class Handler(Task):
    """Hands the letters of its jobs to a device, one block each."""

    def __init__(self, machine, ident, priority, inbox):
        Task.__init__(self, machine, ident, priority, inbox)
        self.jobs = None
        self.blocks = None

    def work(self, packet):
        if packet is not None:
            if packet.kind == JOB:
                self.jobs = packet.after(self.jobs)
            else:
                self.blocks = packet.after(self.blocks)
        job = self.jobs
        if job is None:
            return self.wait()
        if job.cursor >= PAYLOAD:
            self.jobs = job.link
            return self.send(job)
        block = self.blocks
        if block is None:
            return self.wait()
        self.blocks = block.link
        block.payload[0] = job.payload[job.cursor]
        job.cursor += 1
        return self.send(block)


class Device(Task):
    """Keeps a block until the idle task wakes it."""

    def __init__(self, machine, ident, priority):
        Task.__init__(self, machine, ident, priority, None)
        self.pending = None
        self.status.waiting = True

    def work(self, packet):
        if packet is not None:
            self.pending = packet
            return self.hold()
        done = self.pending
        if done is None:
            return self.wait()
        self.pending = None
        return self.send(done)


class Machine:
    """The scheduler: the runnable task with the highest priority is stepped."""

    def __init__(self, budget):
        self.tasks = None
        self.table = [None] * 6
        self.held = 0
        self.sent = 0
        self.steps = 0
        Idle(self, budget)
        Worker(self, Packet(Packet(None, WORKER, JOB), WORKER, JOB))
        Handler(self, PARSER, 2000, self._blocks(DISK))
        Handler(self, PRINTER, 3000, self._blocks(TAPE))
        Device(self, DISK, 4000)
        Device(self, TAPE, 5000)

    def _blocks(self, device):
        queue = None
        for _ in range(3):
            queue = Packet(queue, device, BLOCK)
        return queue

    def find(self, ident):
        return self.table[ident]

    def run(self):
        task = self.tasks
        while task is not None:
            if task.status.is_runnable():
                self.steps += 1
                task = task.step()
            else:
                task = task.next
        return self.held * 1000003 + self.sent * 1009 + self.steps


def run(size, threads=4):
    return sum(in_threads(threads, lambda place: Machine(size).run()))
