# SPDX-License-Identifier: Apache-2.0
"""Fixes: stories and candidates from a trace made by hand, names, sentences."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest
from tests.unit.runfile_writer import notes, records, run_file, thread

from unsnarl.analyses.answer import Line
from unsnarl.experiments.candidates import candidates
from unsnarl.experiments.fix import Fix, Outcome, is_stuck
from unsnarl.experiments.ground import Ground
from unsnarl.experiments.named_fix import named
from unsnarl.experiments.story import lock_names, stacks_of, tell
from unsnarl.model.finding import Repair, RepairPlace
from unsnarl.model.site import Op
from unsnarl.reports.fixes import fix_note, with_texts
from unsnarl.reports.source import Sources
from unsnarl.runfile import Interner, SiteTable
from unsnarl.runfile.codes import Code, SiteEntry
from unsnarl.runfile.layout import Section
from unsnarl.runfile.reader import parse_run

FILE = "/project/shelf.py"


def code(base: int, function: str, *lines: int) -> Code:
    """A function with a site for each of its lines."""
    sites = tuple(SiteEntry(2 * at, "attr_read", "x", line) for at, line in enumerate(lines))
    return Code(base, 10, FILE, function, lines[0], sites)


COUNT = code(10, "Shelf.count", 9, 10)
TAKE = code(20, "Shelf.take", 13, 14)
USE = code(30, "reader", 17, 18)
SITES = {17: 30, 9: 10, 10: 12, 18: 32, 13: 20, 14: 22}  # by line
BOOKS, LOCK, OWN = 1, 100, 2


def point(line: int, op: Op) -> int:
    return SITES[line] << 4 | op


def visit(path: int, lock: int, access: int, op: Op) -> list[tuple[int, ...]]:
    """One method: the lock, the access, the lock again."""
    return [
        (path, point(lock, Op.ACQUIRE), LOCK),
        (path, point(access, op), BOOKS),
        (path, point(lock, Op.RELEASE), LOCK),
    ]


# One counts, the other one counts and takes, the first one takes what is not there.
EVENTS = [
    (1, point(17, Op.READ), OWN),
    *visit(1, 9, 10, Op.READ),
    (2, point(17, Op.READ), OWN),
    *visit(2, 9, 10, Op.READ),
    (2, point(18, Op.READ), OWN),
    *visit(2, 13, 14, Op.WRITE),
    (1, point(18, Op.READ), OWN),
    *visit(1, 13, 14, Op.WRITE),
]
TOLD = [(10, Op.READ, 1), (14, Op.WRITE, 2), (14, Op.WRITE, 1)]


def noted(path: str, line: int, op: Op, call: int, locks: list[int]) -> list[object]:
    """An entry of a capture: the access and the call that led to it."""
    frames = [[FILE, line, "Shelf.x"], [FILE, call, "reader"]]
    names = ["Shelf.lock" for _ in locks]
    return [0, point(line, op), path, "", names, "", [[n, 1] for n in locks], [1, "", 0], frames]


SEEN = [
    noted("0.1", 10, Op.READ, 17, [1]),
    noted("0.2", 10, Op.READ, 17, [1]),
    noted("0.2", 14, Op.WRITE, 18, [1]),
    noted("0.1", 14, Op.WRITE, 18, [1]),
]


def make_run(events=EVENTS, values=SEEN):
    threads = [thread(0, "0"), thread(1, "0.1"), thread(2, "0.2")]
    rows = [(at, cell, raw, path) for at, (path, raw, cell) in enumerate(events)]
    heads = [(path, raw >> 4, 1, raw >> 4) for path, raw, _ in events if raw & 15 < Op.ACQUIRE]
    return parse_run(
        run_file(
            [
                records(Section.THREADS, threads),
                records(Section.TRACE, rows),
                records(Section.COUNTS, heads),
                notes({"values": values}),
            ]
        )
    )


@pytest.fixture
def interner():
    return Interner(SiteTable([COUNT, TAKE, USE], "/project", watermark=100))


def story_of(interner, run, told=TOLD):
    ground = Ground([run], [run], interner)
    lines = []
    for at, (line, op, role) in enumerate(told):
        index = next(i for i in range(len(interner)) if point(line, op) in interner.raw_points(i))
        lines.append(Line(index, "body", role, 1.0, float(at), 1.0, 1.0, role - 1))
    return tell(lines, {}, ground, interner, run)


@pytest.fixture
def story(interner):
    run = make_run()
    told = story_of(interner, run)
    names = lock_names(run, told.ground.steps)
    return replace(told, stacks=stacks_of(run), lock_names=names)


def test_the_lines_become_steps_of_threads_in_the_order_of_time(story):
    assert [(step.path, step.at) for step in story.steps] == [("0.1", 2), ("0.2", 10), ("0.1", 14)]
    assert story.is_whole
    assert story.returning == 1


def test_the_lock_that_the_others_hold_is_the_one_to_be_held(story):
    assert story.lock == LOCK
    assert story.lock_names == {LOCK: "Shelf.lock"}


def test_a_name_that_is_not_held_with_the_cell_is_not_its_name(interner):
    values = [noted("0.1", 10, Op.READ, 17, []), *SEEN[1:]]
    run = make_run(values=values)
    assert lock_names(run, Ground([run], [run], interner).steps) == {}


def test_a_line_that_the_run_has_not_leaves_the_story_incomplete(interner):
    run = make_run(EVENTS[:-4])
    story = story_of(interner, run)
    assert not story.is_whole
    assert len(story.parts) == 2


def test_a_cycle_needs_no_lines(interner):
    run = make_run()
    empty = tell((), {}, Ground([run], [run], interner), interner, run)
    assert (empty.parts, empty.quality) == ((), 0)


def test_the_first_candidate_is_the_smallest_region_under_the_programs_lock(story):
    first = next(candidates(story))
    (rule,) = first.rules
    assert (first.kind, first.lock) == ("region", LOCK)
    assert rule["when"]["points"] == [point(10, Op.READ)]
    assert point(14, Op.WRITE) in rule["until"]["points"]
    assert rule["guards"] == [point(9, Op.ACQUIRE), point(13, Op.ACQUIRE)]
    assert rule["leave"] == [USE.base, USE.base + USE.size]


def test_candidates_are_not_repeated_and_end_with_orders(story):
    made = list(candidates(story))
    assert len({repr(one.rules) for one in made}) == len(made)
    kinds = [one.kind for one in made]
    assert kinds == sorted(kinds, key=["region", "order"].index)
    assert set(kinds) == {"region", "order"}


def test_two_accesses_are_tried_as_an_order_first(interner):
    told = [(10, Op.READ, 1), (14, Op.WRITE, 2)]
    first = next(candidates(story_of(interner, make_run(EVENTS[:-4]), told)))
    assert (first.kind, first.scope) == ("order", "once")
    (rule,) = first.rules
    assert rule["hold"]["points"] == [point(10, Op.READ)]
    assert rule["until"]["points"] == [point(14, Op.WRITE)]


def test_a_fix_is_named_by_the_lines_of_the_function_that_has_all_of_it(story):
    repair = named(Fix(next(candidates(story)), story, Outcome(0, 0, 200), 1))
    assert (repair.begin, repair.end) == (
        RepairPlace("shelf.py", 17, "reader"),
        RepairPlace("shelf.py", 18, "reader"),
    )
    assert (repair.lock, repair.lock_site, repair.reentrant) == ("Shelf.lock", "shelf.py:13", True)
    assert fix_note(repair) == (
        "Fix: hold Shelf.lock (an RLock) from shelf.py:17 to :18: 0/200 runs fail, no deadlock."
    )


# Outcomes.


def trial(label="pass", released=(), failures=()):
    rules = [SimpleNamespace(released=count) for count in released]
    run = SimpleNamespace(rules=rules, failures=[SimpleNamespace(kind=kind) for kind in failures])
    return SimpleNamespace(label=label, run=run)


@pytest.mark.parametrize(
    ("one", "stuck"),
    [
        (trial(released=(0, 0)), False),
        (trial(released=(0, 1)), True),
        (trial(released=(1, 0)), False),  # what was forced gave way
        (trial("hang"), True),
        (trial("fail", failures=["deadlock"]), True),
        (trial("fail", failures=["exception"]), False),
    ],
)
def test_a_fix_that_had_to_be_given_up_is_a_deadlock(one, stuck):
    assert is_stuck(one, 1) is stuck


def test_nothing_tried_is_no_success():
    assert not Outcome().good
    assert Outcome(0, 0, 6).good
    assert not (Outcome(0, 0, 6) + Outcome(0, 1, 6)).good


# Sentences.


def place(line, file="bank.py"):
    return RepairPlace(file, line, "f")


def repair(kind="region", lines=(12, 14), **more):
    return Repair(kind, place(lines[0]), place(lines[1]), **{"runs": 200, **more})


DONE = ": 0/200 runs fail, no deadlock."


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            repair(lock="Queue.lock", lock_site="q.py:3"),
            "Fix: hold Queue.lock from bank.py:12 to :14" + DONE,
        ),
        (repair(lock_site="q.py:3"), "Fix: hold the lock of q.py:3 from bank.py:12 to :14" + DONE),
        (
            repair(lines=(12, 12), lock="Queue.lock", lock_site="q.py:3", others=("a.py:5-7",)),
            "Fix: hold Queue.lock around bank.py:12, and around a.py:5-7" + DONE,
        ),
        (repair(lines=(12, 12)), "Fix: make bank.py:12 atomic (a new lock)" + DONE),
        (
            repair(others=("a.py:1", "a.py:2", "a.py:3", "a.py:4")),
            "Fix: make bank.py:12 to :14 atomic "
            "(a new lock, also around a.py:1, a.py:2, a.py:3 and 1 more)" + DONE,
        ),
        (repair("order", scope="once"), "Fix: bank.py:12 must come before bank.py:14" + DONE),
        (
            repair("order", scope="ended"),
            "Fix: the threads of bank.py:12 must have ended before bank.py:14" + DONE,
        ),
        (
            repair(fail=3, deadlocks=1, runs=60),
            "No fix found: the best tried, make bank.py:12 to :14 atomic (a new lock), "
            "still fails in 3/60 and deadlocks in 1/60 runs.",
        ),
    ],
)
def test_one_sentence_tells_the_fix(given, sentence):
    assert fix_note(given) == sentence


def test_a_region_over_two_files_names_both():
    both = Repair("region", place(3), place(4, "shop.py"), runs=200)
    assert "make bank.py:3 to shop.py:4 atomic" in fix_note(both)


def test_reports_add_the_text_of_the_lines(tmp_path):
    (tmp_path / "bank.py").write_text("a = 1\n    b = 2\n")
    told = with_texts(repair(lines=(1, 2)), Sources(tmp_path))
    assert (told.begin.text, told.end.text) == ("a = 1", "b = 2")


def test_json_says_from_and_to():
    data = msgspec.json.decode(msgspec.json.encode(repair()))
    assert (data["from"]["line"], data["to"]["line"]) == (12, 14)
    assert "begin" not in data
