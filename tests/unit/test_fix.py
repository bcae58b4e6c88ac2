# SPDX-License-Identifier: Apache-2.0
"""Fixes: placements and candidates from a trace made by hand, names, sentences."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest
from tests.unit.runfile_writer import notes, records, run_file, thread

from unsnarl.analyses.answer import Line
from unsnarl.execution.budget import Budget
from unsnarl.experiments import fix
from unsnarl.experiments.candidates import candidates
from unsnarl.experiments.fix import FixResult, TriedFix, is_stuck
from unsnarl.experiments.named_fix import named
from unsnarl.model.event import Op
from unsnarl.model.report import Fix, SourceLine
from unsnarl.model.sources import Sources
from unsnarl.placement.code_context import CodeContext, stacks_of
from unsnarl.placement.occurrence import find_placement
from unsnarl.reports.fixes import fix_note, with_texts
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
ANSWER = [(10, Op.READ, 1), (14, Op.WRITE, 2), (14, Op.WRITE, 1)]


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


def placed(interner, run, answer=ANSWER):
    context = CodeContext([run], [run], interner)
    lines = []
    for at, (line, op, role) in enumerate(answer):
        index = next(i for i in range(len(interner)) if point(line, op) in interner.raw_points(i))
        lines.append(Line(index, "body", role, 1.0, float(at), 1.0, 1.0, role - 1))
    return find_placement(lines, {}, context, run)


@pytest.fixture
def placement(interner):
    run = make_run()
    found = placed(interner, run)
    names = found.context.lock_names(run)
    return replace(found, stacks=stacks_of(run), lock_names=names)


def test_the_lines_become_events_of_threads_in_the_order_of_time(placement):
    assert [(line.event.path, line.event.at) for line in placement.lines] == [
        ("0.1", 2),
        ("0.2", 10),
        ("0.1", 14),
    ]
    assert placement.is_whole
    assert placement.returning == 1


def test_the_lock_that_the_others_hold_is_the_one_to_be_held(placement):
    assert placement.lock == LOCK
    assert placement.lock_names == {LOCK: "Shelf.lock"}


def test_a_name_that_is_not_held_with_the_cell_is_not_its_name(interner):
    values = [noted("0.1", 10, Op.READ, 17, []), *SEEN[1:]]
    run = make_run(values=values)
    assert CodeContext([run], [run], interner).lock_names(run) == {}


def test_a_line_that_the_run_has_not_leaves_the_placement_incomplete(interner):
    run = make_run(EVENTS[:-4])
    found = placed(interner, run)
    assert not found.is_whole
    assert len(found.lines) == 2


def test_a_cycle_needs_no_lines(interner):
    run = make_run()
    empty = find_placement((), {}, CodeContext([run], [run], interner), run)
    assert (empty.lines, empty.quality) == ((), 0)


def test_the_first_candidate_is_the_smallest_region_under_the_programs_lock(placement):
    first = next(candidates(placement))
    (rule,) = first.rules
    assert (first.kind, first.lock) == ("region", LOCK)
    assert rule.when.points == (point(10, Op.READ),)
    assert point(14, Op.WRITE) in rule.until.points
    assert rule.guards == (point(9, Op.ACQUIRE), point(13, Op.ACQUIRE))
    assert rule.leave == (USE.base, USE.base + USE.size)


def test_candidates_are_not_repeated_and_end_with_orders(placement):
    made = list(candidates(placement))
    assert len({repr(one.rules) for one in made}) == len(made)
    kinds = [one.kind for one in made]
    assert kinds == sorted(kinds, key=["region", "order"].index)
    assert set(kinds) == {"region", "order"}


def test_what_does_the_same_harm_in_other_runs_is_kept_out_of_every_region(placement):
    window = point(18, Op.READ)
    regions = [one for one in candidates(placement, (window,)) if one.kind == "region"]
    assert regions
    for one in regions:
        kept = [rule.hold for rule in one.rules if rule.hold is not None]
        assert any(window in hold.points for hold in kept) or "all" in one.name, one.name


def test_two_accesses_are_tried_as_an_order_first(interner):
    answer = [(10, Op.READ, 1), (14, Op.WRITE, 2)]
    first = next(candidates(placed(interner, make_run(EVENTS[:-4]), answer)))
    assert (first.kind, first.scope) == ("order", "once")
    (rule,) = first.rules
    assert rule.hold.points == (point(10, Op.READ),)
    assert rule.until.points == (point(14, Op.WRITE),)


def test_a_fix_is_named_by_the_lines_of_the_function_that_has_all_of_it(placement):
    repair = named(TriedFix(next(candidates(placement)), placement, FixResult(0, 0, 200), 1))
    assert (repair.begin, repair.end) == (
        SourceLine("shelf.py", 17, "reader"),
        SourceLine("shelf.py", 18, "reader"),
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


@pytest.mark.parametrize(
    ("signature", "released", "bad"),
    [("deadlock: pop", 0, False), ("deadlock: push", 0, True), ("deadlock: pop", 1, True)],
)
def test_a_deadlock_of_another_cause_says_nothing_of_a_fix(signature, released, bad):
    """Two bugs in one program: a worker that nobody wakes is not what the lock brought."""
    ended = trial("fail", released=(released,), failures=["deadlock"])
    ended.signature = signature
    trials = SimpleNamespace(run=lambda plans, until: [ended])
    symptom = SimpleNamespace(is_in=lambda trial: False)
    compared = SimpleNamespace(symptom=symptom, signature="exit")
    fixer = fix.Fixer(trials, compared, None, others={"deadlock: pop"})
    assert fixer.certify(SimpleNamespace(rules=(1,)), 4).bad == bad


class ScriptedFixer:
    """Candidates are their numbers: those in `bad` do not survive their screening."""

    def __init__(self, bad=(), uncertain=()):
        self.bad, self.uncertain = bad, uncertain
        self.certified = []

    def screen(self, candidate):
        return FixResult(fail=candidate in self.bad, runs=46)

    def certify(self, candidate, runs):
        self.certified.append(candidate)
        return FixResult(fail=candidate in self.uncertain, runs=runs)


@pytest.fixture
def search():
    return lambda fixer: fix.FixSearch(fixer, Budget(), None, range(1, 4))


def test_what_is_only_screened_takes_no_trials_to_certify(search):
    fixer = ScriptedFixer(bad=(1,))
    screened = search(fixer).screened()
    assert (screened.candidate, screened.tried, screened.result.runs) == (2, 2, 46)
    assert screened.works and not fixer.certified


def test_certifying_goes_on_where_screening_ended(search):
    fixer = ScriptedFixer(bad=(1,))
    found = search(fixer)
    found.screened()
    assert found.certified(200).result.runs == 200
    assert fixer.certified == [2]


def test_a_fix_that_is_not_certified_is_followed_by_the_next(search):
    fixer = ScriptedFixer(uncertain=(1, 2))
    assert search(fixer).certified(200).candidate == 3
    assert fixer.certified == [1, 2, 3]


def test_the_best_of_those_that_do_not_work_is_kept(search):
    best = search(ScriptedFixer(bad=(1, 3), uncertain=(2,))).certified(200)
    assert (best.candidate, best.tried, best.works) == (2, 3, False)


def test_nothing_tried_is_no_success():
    assert not FixResult().good
    assert FixResult(0, 0, 6).good
    assert not (FixResult(0, 0, 6) + FixResult(0, 1, 6)).good


# Sentences.


def source_line(line, file="bank.py"):
    return SourceLine(file, line, "f")


def repair(kind="region", lines=(12, 14), **more):
    return Fix(kind, source_line(lines[0]), source_line(lines[1]), **{"runs": 200, **more})


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
            "No fix found: the best one tried, make bank.py:12 to :14 atomic (a new lock), "
            "still fails in 3/60 and deadlocks in 1/60 runs.",
        ),
        (
            repair("order", scope="once", runs=0),
            "No fix found: there was no time to try this one: "
            "bank.py:12 must come before bank.py:14.",
        ),
    ],
)
def test_one_sentence_tells_the_fix(given, sentence):
    assert fix_note(given) == sentence


def test_a_region_over_two_files_names_both():
    both = Fix("region", source_line(3), source_line(4, "shop.py"), runs=200)
    assert "make bank.py:3 to shop.py:4 atomic" in fix_note(both)


def test_reports_add_the_text_of_the_lines(tmp_path):
    (tmp_path / "bank.py").write_text("a = 1\n    b = 2\n")
    told = with_texts(repair(lines=(1, 2)), Sources(tmp_path))
    assert (told.begin.text, told.end.text) == ("a = 1", "b = 2")


def test_json_says_from_and_to():
    data = msgspec.json.decode(msgspec.json.encode(repair()))
    assert (data["from"]["line"], data["to"]["line"]) == (12, 14)
    assert "begin" not in data
