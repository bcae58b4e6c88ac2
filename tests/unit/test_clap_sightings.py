# SPDX-License-Identifier: Apache-2.0
"""CLAP from branches: what a followed run tells of its values, and how questions end."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unsnarl.model.event import Op
from unsnarl.model.plan import Plan
from unsnarl.reproduce.clap.conditions import Chooser
from unsnarl.reproduce.clap.encode import encode
from unsnarl.reproduce.clap.following import (
    MOST_TURNS,
    Along,
    FollowedRun,
    FollowedThread,
    Follower,
)
from unsnarl.reproduce.clap.histories import History, LoggedEvent, Touched
from unsnarl.reproduce.clap.method import Clap, ending
from unsnarl.reproduce.clap.pairs import Pairs
from unsnarl.reproduce.clap.sightings import FIRST, sightings
from unsnarl.reproduce.clap.solving import Attempt, Cost
from unsnarl.reproduce.methods import Outcome
from unsnarl.reproduce.orders import Solved, TimedOut, Unsatisfiable
from unsnarl.reproduce.orders.closure import OrderClosure
from unsnarl.reproduce.orders.native import NativeSolver

OWN, SHARED = 7, 100


class Run:
    """A followed run, access by access: the cell, what was there, what it got or left."""

    def __init__(self):
        self.rows, self.threads = [], {}

    def reads(self, path, cell, before):
        own = self.threads.setdefault(path, [])
        symbol = f"r{len(own)}_{path.replace('.', '_')}"
        self._add(path, Op.READ, cell, (symbol, before, None))
        return symbol

    def writes(self, path, cell, before, after):
        self._add(path, Op.WRITE, cell, ("", before, after))

    def _add(self, path, op, cell, told):
        self.rows.append((path, op, cell))
        self.threads.setdefault(path, []).append(told)

    def question(self, *conditions, names=None, how="strictly"):
        """The question that it is, with these conditions."""
        paths = list(self.threads)
        events = {path: [] for path in paths}
        for path, op, cell in self.rows:
            did = LoggedEvent(16 | op, (Touched(op, cell),), number=len(events[path]))
            events[path].append(did)
        own = [History(path, tuple(events[path])) for path in paths]
        trace = [(at, cell, 16 | op, paths.index(p)) for at, (p, op, cell) in enumerate(self.rows)]
        run = SimpleNamespace(
            threads=[SimpleNamespace(path=path) for path in paths], trace=np.array(trace, object)
        )
        threads = {
            path: FollowedThread(tuple(rows), (), (), 0) for path, rows in self.threads.items()
        }
        asked = tuple((0, one) for one in conditions)
        first = FollowedThread(threads[paths[0]].accesses, asked, (), 0, names or {})
        followed = FollowedRun({**threads, paths[0]: first})
        encoded = encode(own, None)
        seen = sightings(encoded, own, Along(followed, run, None))
        return seen, Chooser(encoded, seen, how)


def answers(chooser):
    return isinstance(chooser.solve(NativeSolver(), 10.0), Solved)


@pytest.mark.parametrize(("wanted", "possible"), [(5, True), (1, True), (7, False)])
def test_what_a_thread_keeps_for_itself_is_what_it_computed(wanted, possible):
    """The read that decides is found through two cells that nobody else touches."""
    run = Run()
    run.writes("0.1", SHARED, "0", "4")
    shared = run.reads("0.2", SHARED, "4")
    run.writes("0.2", OWN, "missing", shared)
    kept = run.reads("0.2", OWN, shared)
    run.writes("0.2", OWN + 1, "missing", f"(+ {kept} 1)")
    last = run.reads("0.2", OWN + 1, f"(+ {kept} 1)")
    seen, chooser = run.question(f"(= {last} {wanted})")
    assert seen.facts == {kept: shared, last: f"(+ {kept} 1)"}
    assert chooser.effort.reads == 1
    assert answers(chooser) == possible


def test_names_of_long_texts_are_facts():
    run = Run()
    run.writes("0.1", SHARED, "0", "4")
    symbol = run.reads("0.2", SHARED, "4")
    _, chooser = run.question("(= n0_0_2 8)", names={"n0_0_2": f"(+ {symbol} {symbol})"})
    assert chooser.effort.reads == 1 and answers(chooser)


def test_what_somebody_unseen_wrote_is_taken_as_it_was_found():
    """`dict.update` and other code of libraries tells of no cell."""
    run = Run()
    run.writes("0.1", SHARED, "0", "1")
    symbol = run.reads("0.2", SHARED, "7")
    seen, chooser = run.question(f"(= {symbol} 7)")
    assert seen.facts == {symbol: "7"} and not seen.symbols
    assert answers(chooser)


def test_a_symbol_that_was_put_into_a_cell_is_no_write():
    run = Run()
    run.writes("0.1", SHARED, "0", "1")
    first = run.reads("0.2", SHARED, "1")
    second = run.reads("0.2", SHARED, first)
    seen, chooser = run.question(f"(= {first} 0)", f"(= {second} 1)")
    assert list(seen.symbols.values()) == [first, second]
    assert answers(chooser)


@pytest.mark.parametrize(("how", "is_fixed"), [("exactly", True), ("strictly", False)])
def test_exactly_means_reads_on_which_nothing_depends_too(how, is_fixed):
    run = Run()
    run.writes("0.1", SHARED, "0", "1")
    run.reads("0.2", SHARED, "1")
    _, chooser = run.question(how=how)
    problem = chooser.with_choice({})
    assert bool(problem.logged[1]) == is_fixed


@given(st.integers(0, 2**30))
def test_pairs_are_those_that_no_order_allows(seed):
    """Against the solver, on all choices of two reads."""
    draw = np.random.default_rng(seed)
    run, now = Run(), "0"
    for at in range(int(draw.integers(4, 9))):
        path = f"0.{draw.integers(1, 4)}"
        if draw.random() < 0.5:
            run.writes(path, SHARED, now, str(at))
            now = str(at)
        else:
            now = run.reads(path, SHARED, now)
    _, chooser = run.question()
    own = [
        History(p, tuple(LoggedEvent(16 | o, (Touched(o, c),)) for q, o, c in run.rows if q == p))
        for p in run.threads
    ]
    problem = encode(own, None).problem
    known = OrderClosure.of(problem)
    writes = [int(e) for e in np.flatnonzero(problem.kind == int(Op.WRITE))]
    reads = [int(e) for e in np.flatnonzero(problem.kind == int(Op.READ))]
    choices = {
        read: [w for w in [FIRST, *writes] if feasible(chooser, {read: w})] for read in reads
    }
    pairs = Pairs(known, choices, dict.fromkeys(reads, writes))
    for read in reads:
        for (one, write), (other, write2) in pairs.against(read):
            assert one == read != other
            assert not feasible(chooser, {one: write, other: write2})


def feasible(chooser, choice):
    return isinstance(NativeSolver().solve(chooser.with_choice(choice), 5.0), Solved)


SOLVED = Solved(np.zeros(0, np.int64), by="cdcl")
UNSAT, LATE = Unsatisfiable(by="z3"), TimedOut(1.0)


@pytest.mark.parametrize(
    ("answers", "late", "word"),
    [
        ([], False, "not-followed"),
        ([UNSAT], False, "unsatisfiable"),
        ([UNSAT], True, "time-out"),
        ([UNSAT, LATE], False, "time-out"),
        ([UNSAT, SOLVED, LATE], True, "not-reproduced"),
    ],
)
def test_that_there_is_no_order_is_said_only_if_nothing_is_open(answers, late, word):
    attempts = [Attempt([], None, one, Cost(0, 0, 0.0, "")) for one in answers]
    assert ending(attempts, False, tries=0, late=late) == word
    assert ending(attempts, False, tries=1, late=late) == "not-reproduced"
    assert ending(attempts, True, tries=1, late=late) == "reproduced"


def test_no_more_questions_are_asked_than_can_be_tried(monkeypatch, tmp_path):
    asked = []

    def attempts(self):
        for number in range(100):
            asked.append(number)
            yield Attempt([], None, SOLVED, Cost(0, 0, 0.0, ""))

    def tried(self, plan):
        self._tries += 1

    monkeypatch.setattr(Clap, "_attempts", attempts)
    monkeypatch.setattr(Clap, "_plans", lambda self, attempt: [{}])
    monkeypatch.setattr(Clap, "_try", tried)
    how = SimpleNamespace(values=True, level="access")
    case = SimpleNamespace(record=SimpleNamespace(how=how), run=SimpleNamespace(switch="free"))
    outcome = Clap(case, SimpleNamespace(codes=tmp_path / "codes.json")).run(3)
    assert (outcome.tries, len(asked)) == (3, 4)


def test_one_replay_that_passes_takes_back_what_was_found():
    found = Outcome(2, trial=object(), replayed=20, flaky=1, facts={"ending": "reproduced", "a": 1})
    taken = found.flaked()
    assert (taken.trial, taken.replayed, taken.flaky, taken.facts) == (None, 0, 2, {"a": 1})


@pytest.mark.parametrize(("seconds", "runs"), [(-1.0, 0), (60.0, MOST_TURNS)])
def test_no_run_is_made_when_the_time_is_over(tmp_path, seconds, runs):
    """A target may take minutes for a run, and none of them need keep to the path."""
    follower = Follower(SimpleNamespace(threads=()), StrayTrials(tmp_path), tmp_path, 1)
    follower.until = time.monotonic() + seconds
    candidates = SimpleNamespace(next=lambda: (), learn=lambda run, made, left: True)
    assert list(follower.turned(Plan(strategy="walk", seed=0), candidates)) == []
    assert follower.runs == runs


class StrayTrials:
    """Each run leaves the recorded path at once."""

    def __init__(self, folder):
        self._file = folder / "followed.json"

    def run(self, plans):
        left = {"path": "0", "site": 1, "branch": 0, "reason": "str"}
        self._file.write_text(json.dumps({"threads": {}, "left": left}))
        return [SimpleNamespace(run=None) for _ in plans]
