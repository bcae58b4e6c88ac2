# SPDX-License-Identifier: Apache-2.0
"""Rules make real threads do what experiments want, and give up where that cannot be."""

import re

import pytest
from tests.integration import rule_programs as programs
from tests.integration.rule_programs import THREAD_BEGINS, THREAD_ENDS, Program, total

from unsnarl import _core
from unsnarl.model.event import Op
from unsnarl.probes import statuses

NEVER = {"who": "any", "points": [THREAD_BEGINS], "path": "0.99"}


@pytest.fixture(params=["gil", "free"])
def start(request, tmp_path):
    started = []

    def make(source, switch=request.param):
        started.append(Program(tmp_path, source, switch))
        started[-1].look()
        return started[-1]

    yield make
    for program in started:
        program.client.close()


def each(run, field):
    return [getattr(rule, field) for rule in run.rules]


def force(program, **more):
    """R1-W2-R1: who checked first acts only after the other acted."""
    return {
        "when": {"points": program["check", Op.READ]},
        "hold": {"who": "self", "points": program.heads("act", Op.READ)},
        "until": {"who": "others", "points": program["act", Op.WRITE]},
        **more,
    }


def forbid(program):
    """From the check to the act, nobody else acts, nor begins to."""
    return {
        "when": {"points": program["check", Op.READ]},
        "hold": {
            "who": "others",
            "points": program.heads("check", Op.READ) + program.heads("act", Op.READ),
        },
        "until": {"who": "self", "points": program["act", Op.WRITE]},
        "leave": program.sites_of("Office.sell"),
    }


@pytest.mark.core
def test_a_forced_pattern_fails_every_time(start):
    program = start(programs.TICKETS)
    failed, fates = program.failures(20, force(program, once=True))
    assert failed == 20
    assert total(fates, "activated") == total(fates, "satisfied") == [20]
    assert total(fates, "released") == total(fates, "abandoned") == total(fates, "dropped") == [0]


def test_two_that_wait_for_each_other_are_released_oldest_first(start):
    program = start(programs.TICKETS)
    failed, fates = program.failures(20, force(program))
    assert failed == 20
    assert total(fates, "activated") == [40]
    assert total(fates, "released") == total(fates, "satisfied") == [20]
    assert all(fate[0].first_release > 0 for fate in fates)


@pytest.mark.core
def test_a_forbidden_pattern_never_fails(start):
    program = start(programs.TICKETS)
    assert 0 < program.failures(20)[0] < 20
    failed, fates = program.failures(20, forbid(program))
    assert failed == 0
    # one sells the ticket, the other finds none and leaves
    assert total(fates, "satisfied") == total(fates, "abandoned") == [20]
    assert total(fates, "released") == [0]
    assert total(fates, "held")[0] > 0


def order(program, first, path, then, other):
    return {
        "when": None,
        "hold": {"who": "any", "points": program.heads(then, Op.WRITE), "path": other},
        "until": {"who": "any", "points": program[first, Op.WRITE], "path": path},
    }


@pytest.mark.parametrize("sites", [None, []], ids=["anywhere", "nowhere else"])
def test_two_events_are_ordered_either_way(start, sites):
    program = start(programs.ORDER)
    for rule, last in (
        (order(program, "one", "0.1", "two", "0.2"), "2\n"),
        (order(program, "two", "0.2", "one", "0.1"), "1\n"),
    ):
        for seed in range(1, 11):
            _, run = program.run(rule, seed=seed, sites=sites)
            assert program.output() == last
            assert each(run, "satisfied") == [1]
            assert each(run, "active") == [0]


def test_an_order_that_a_lock_makes_impossible_is_released_and_counted(start):
    program = start(programs.LOCKED)
    enters_first = {
        "when": None,
        "hold": {"who": "any", "points": program["takes second", Op.ACQUIRE], "path": None},
        "until": {"who": "any", "points": program["takes", Op.ACQUIRE], "path": None},
    }
    writes_last = order(program, "two", None, "one", None)
    failed, fates = program.failures(20, enters_first, writes_last)
    assert failed == 0
    assert total(fates, "satisfied") == [20, 0]
    assert total(fates, "released") == [0, 20]


def test_occurrences_are_counted_by_thread(start):
    program = start(programs.LOOPS)
    append = program["append", Op.WRITE]
    rule = {
        "when": None,
        "hold": {"points": program.heads("append", Op.WRITE), "path": "0.2", "occurrence": 2},
        "until": {"points": append, "path": "0.1", "occurrence": 3},
    }
    logs = set()
    for seed in range(1, 21):
        _, run = program.run(rule, seed=seed)
        assert each(run, "satisfied") == [1]
        logs.add(program.output().strip())
    assert all(re.fullmatch("(?=[ab]{6})a*b?a*bb", log) for log in logs), logs
    assert len(logs) > 1


def test_an_instance_is_made_by_the_occurrence_that_is_meant(start):
    program = start(programs.LOOPS)
    append = program["append", Op.WRITE]
    rule = {
        "when": {"points": append, "path": "0.1", "occurrence": 2},
        "hold": {"who": "self", "points": program.heads("append", Op.WRITE)},
        "until": {"who": "others", "points": append, "occurrence": 3},
    }
    for seed in range(1, 21):
        _, run = program.run(rule, seed=seed)
        assert program.output().strip().endswith("a")
        assert (each(run, "activated"), each(run, "satisfied")) == ([1], [1])


def equal(points, role=0):
    return {"points": points, "path": "0.1", "equal": True, "role": role}


def test_a_rule_about_equal_threads_holds_all_of_them(start):
    program = start(programs.RANGE)
    auditor = {"path": "0.6"}
    held = {"points": program.heads("high", Op.WRITE)}
    # The last read of a line is the attribute's, those before it find the object.
    seen = {"points": program["audit high", Op.READ][-1:], **auditor}
    begun = {"hold": {"points": program.heads("audit low", Op.READ), **auditor}}
    failed, fates = program.failures(
        20,
        {**begun, "until": equal(program["low", Op.WRITE])},
        {"hold": equal(held["points"]), "until": seen},
    )
    assert failed == 20
    assert total(fates, "satisfied") == [20, 20]
    # The same order of one thread by its name: the others do as they like.
    by_name, _ = program.failures(
        20,
        {**begun, "until": {"points": program["low", Op.WRITE], "path": "0.1"}},
        {"hold": {**held, "path": "0.1"}, "until": seen},
    )
    assert by_name < 20


def test_of_equal_threads_whoever_comes_first_has_the_role(start):
    program = start(programs.TALLY)
    failed, fates = program.failures(
        20,
        {
            "hold": equal(program.heads("write", Op.WRITE), 2),
            "until": equal(program["read", Op.READ][-1:], 1),
        },
        {
            "hold": equal(program.heads("write", Op.WRITE), 1),
            "until": equal(program["write", Op.WRITE], 2),
        },
    )
    assert failed == 20
    assert total(fates, "satisfied") == [20, 20]


def test_who_is_to_go_first_is_not_who_waits_for_it(start):
    program = start(programs.TALLY)
    rule = {
        "hold": equal(program.heads("read", Op.READ), 2),
        "until": equal(program["write", Op.WRITE], 1),
    }
    _, fates = program.failures(20, {"when": None, **rule})
    assert total(fates, "satisfied") == [20]
    assert total(fates, "released") == [0]


def test_threads_of_one_function_and_of_one_pool_are_equal(start):
    _, run = start(programs.POOL).run()
    kinds = [thread.kind for thread in run.threads]
    assert kinds[0] == 0
    pooled, worked, paused, mocked, own = kinds[1], kinds[3], kinds[5], kinds[6], kinds[7]
    assert kinds[1:] == [pooled, pooled, worked, worked, paused, mocked, own, own]
    assert len({pooled, worked, paused, mocked, own}) == 5


def test_the_begin_and_the_end_of_a_thread_are_events(start):
    program = start(programs.LOOPS)
    rule = {
        "when": {"points": [THREAD_BEGINS], "path": "0.1"},
        "hold": {"who": "self", "points": program.heads("append", Op.WRITE)},
        "until": {"who": "others", "points": [THREAD_ENDS], "path": "0.2"},
    }
    for seed in range(1, 11):
        program.run(rule, seed=seed)
        assert program.output() == "bbbaaa\n"


def test_sleepers_can_be_held(start):
    program = start(programs.NAPS)
    until_woken = {
        "when": None,
        "hold": {"points": program["short nap", Op.SLEEP]},
        "until": {"points": program["wakes", Op.WRITE]},
    }
    until_busy = {**until_woken, "until": {"points": program["turn", Op.WRITE], "occurrence": 30}}
    turns = set()
    for seed in range(1, 16):
        program.run(seed=seed)
        turns |= set(program.output().split())
        program.run(until_woken, seed=seed)
        assert program.output() == "busy long 30\n"
        _, run = program.run(until_busy, seed=seed)
        assert "30" in program.output().split()
        assert (each(run, "satisfied"), each(run, "released")) == ([1], [0])
    assert turns - {"busy", "long", "30"}


def region(program, **more):
    return {
        "when": {"points": program.heads("read", Op.READ)},
        "exclusive": 1,
        "until": {"points": program["write", Op.WRITE]},
        **more,
    }


@pytest.mark.core
def test_an_exclusive_region_removes_a_lost_update(start):
    program = start(programs.COUNTER)
    assert program.failures(50)[0] > 0
    failed, fates = program.failures(50, region(program))
    assert failed == 0
    assert total(fates, "satisfied") == [300]
    assert total(fates, "released") == [0]


def test_a_region_over_the_write_alone_removes_nothing(start):
    program = start(programs.COUNTER)
    wrong = region(program, when={"points": program.heads("write", Op.WRITE)})
    assert program.failures(50, wrong)[0] > 0


def test_a_region_does_not_deadlock_with_a_lock_taken_inside(start):
    program = start(programs.NESTED)
    taken = program["takes inside", Op.ACQUIRE] + program["takes outside", Op.ACQUIRE]
    failed, fates = program.failures(50, region(program))
    assert total(fates, "released")[0] > 0  # as a new lock would deadlock
    lock_at_entry = region(program, guards=taken, hold={"who": "others", "points": taken})
    failed, fates = program.failures(50, lock_at_entry)
    assert failed == 0
    assert total(fates, "released") == [0]
    assert total(fates, "satisfied") == [100]


def test_who_is_in_a_region_may_enter_it_again(start):
    program = start(programs.REPEATED)
    rule = region(program, guards=program["takes outside", Op.ACQUIRE])
    failed, fates = program.failures(30, rule)
    assert failed == 0
    assert total(fates, "satisfied") == [60]
    assert total(fates, "released") == [0]


def test_two_that_hold_guards_of_each_other_are_let_in(start):
    source = programs.NESTED.replace("go(counter.add, ", "go(counter.add_other, ").replace(
        "    def add_locked",
        "    def add_other(self):\n        with other:  # takes other\n            self.add()\n"
        "    def add_locked",
    )
    program = start(source.replace("class", "other = threading.Lock()\nclass", 1))
    taken = program["takes outside", Op.ACQUIRE] + program["takes other", Op.ACQUIRE]
    _, fates = program.failures(30, region(program, guards=taken))
    released = [fate[0].released for fate in fates]
    assert 0 < sum(map(bool, released)) < 30  # those in which both had their lock


def test_a_wait_for_a_notify_is_no_guard(start):
    program = start(programs.CONDITION)
    program.look(runs=12)
    names = ("takes to produce", "takes to consume", "waits")
    taken = [point for name in names for point in program[name, Op.ACQUIRE]]
    rule = {
        "when": {"points": program.heads("produce", Op.READ)},
        "exclusive": 0,
        "until": {"points": program["produce", Op.WRITE]},
        "guards": taken,
    }
    failed, fates = program.failures(30, rule)
    assert failed == 0
    assert total(fates, "satisfied") == [60]
    assert total(fates, "released") == [0]


@pytest.mark.core
def test_a_region_lasts_in_callees_and_ends_when_its_function_is_left(start):
    program = start(programs.EARLY_RETURN)
    never = [program.sites_of("work")[1] - 1 << 4]  # no instruction that is a site
    rule = {
        "when": {"points": program.heads("enter", Op.READ)},
        "hold": {"who": "others", "points": program.heads("callee", Op.READ)},
        "exclusive": 3,
        "until": {"points": never},
    }
    leave = program.sites_of("work")
    failed, fates = program.failures(30, {**rule, "leave": leave})
    assert failed == 0
    assert total(fates, "abandoned") == [60]
    assert total(fates, "released") == [0]
    assert total(fates, "held")[0] > 0
    runs = [program.run({**rule, "leave": leave}, seed=seed, trace=True)[1] for seed in range(30)]
    assert sum(overlaps(program, run, "callee") for run in runs) == 0
    assert sum(overlaps(program, run, "after") for run in runs) > 0
    # without `leave` a region ends with its thread
    runs = [program.run(rule, seed=seed, trace=True)[1] for seed in range(30)]
    assert sum(overlaps(program, run, "after") for run in runs) == 0


def overlaps(program, run, end):
    """How often a thread enters between another's entry and its event at the end."""
    inside, found = set(), 0
    enter, callee = program["enter", Op.READ], program[end, Op.READ]
    for thread, point in zip(
        run.trace["thread"].tolist(), run.trace["point"].tolist(), strict=True
    ):
        if point in enter:
            found += bool(inside - {thread})
            inside.add(thread)
        elif point in callee:
            inside.discard(thread)
    return found


SLEEPS = "__import__('time').sleep(0.01)"
# A rule does not let more than half a second of the run's time pass: 50 of these sleeps.
LIMITS = [("pass", 0, 5000, 5001), ("pass", 100, 100, 101), (SLEEPS, 20, 20, 21)]
LIMITS += [(SLEEPS, 0, 50, 500)]


@pytest.mark.parametrize(("wait", "limit", "least", "most"), LIMITS)
def test_a_thread_that_spins_or_polls_does_not_hang_a_rule(start, wait, limit, least, most):
    program = start(programs.SPIN.replace("WAIT", wait))
    rule = {
        "when": None,
        "hold": {"points": program.heads("set", Op.WRITE)},
        "until": NEVER,
        "limit": limit,
    }
    for seed in (1, 2, 3):
        done, run = program.run(rule, seed=seed)
        assert done["status"] == 0 and not done["timed_out"]
        assert each(run, "released") == [1]
        held = run.rules[0].held
        assert least <= held <= most
        assert run.rules[0].first_release > held


def test_a_thread_that_waits_outside_for_one_that_is_held_is_freed(start):
    program = start(programs.PIPE)
    rule = {"when": None, "hold": {"points": program.heads("write", Op.WRITE)}, "until": NEVER}
    done, run = program.run(rule)
    assert done["status"] == 0 and not done["timed_out"]
    assert each(run, "released") == [1]
    assert run.rules[0].held < 5000  # not by the limit: nothing but looking happened


def test_a_deadlock_is_a_verdict_only_when_no_rule_holds_anybody(start):
    program = start(programs.LOCKED.replace("box.value = 1  # one", "lock.acquire()  # again", 1))
    rule = {"when": None, "hold": {"points": [THREAD_BEGINS], "path": "0.1"}, "until": NEVER}
    done, run = program.run(rule)
    assert done["status"] == 96
    assert each(run, "released") == [1]
    assert [wait.thread for wait in run.waits if wait.owner == wait.thread]


def failing_and_passing(program):
    found = {}
    for seed in range(1, 100):
        done, run = program.run(seed=seed)
        found.setdefault(bool(done["status"]), (seed, run))
        if len(found) == 2:
            return found[True], found[False]
    raise AssertionError("all runs ended alike")


def replay(program, recorded, *rules):
    seed, run = recorded
    schedule = [[segment.path, segment.until, segment.point] for segment in run.schedule]
    return program.run(*rules, seed=seed, strategy="replay", schedule=schedule)


@pytest.mark.core
def test_rules_work_on_top_of_replay(start):
    program = start(programs.TICKETS)
    failing, passing = failing_and_passing(program)
    assert replay(program, failing)[0]["status"] == 1
    done, run = replay(program, failing, forbid(program))
    assert done["status"] == 0 and run.rules[0].held > 0 and run.counters["diverged"] > 0
    assert replay(program, passing)[0]["status"] == 0
    done, run = replay(program, passing, force(program, once=True))
    assert done["status"] == 1 and each(run, "satisfied") == [1]


def test_a_rule_that_the_schedule_respects_does_not_disturb_its_replay(start):
    program = start(programs.TICKETS)
    failing, _ = failing_and_passing(program)
    done, run = replay(program, failing, {**forbid(program), "hold": NEVER})
    assert done["status"] == 1
    assert each(run, "held") == [0] and run.counters["diverged"] == 0
    assert run.schedule == failing[1].schedule


@pytest.mark.parametrize("start", ["free"], indirect=True)
def test_a_limit_that_a_schedule_lets_run_out_is_not_over_before_shorter_sleeps(start):
    program = start(programs.LIMIT)
    failing, _ = failing_and_passing(program)
    assert replay(program, failing)[0]["status"] == 1
    filled_first = {
        "when": None,
        "hold": {"who": "any", "points": program.heads("look", Op.READ)},
        "until": {"who": "any", "points": program["fill", Op.WRITE]},
    }
    done, run = replay(program, failing, filled_first)
    assert each(run, "satisfied") == [1] and run.counters["diverged"] > 0
    assert done["status"] == 0


def test_a_rule_repeats_with_its_seed(start):
    program = start(programs.COUNTER)
    first, second = (program.run(region(program), seed=7)[1] for _ in range(2))
    assert first.schedule == second.schedule
    assert first.rules == second.rules


def test_instances_beyond_the_room_are_dropped_and_counted(start):
    program = start(programs.ORDER.replace("go(one, two)", "go(*[one] * 5)"))
    rule = {
        "when": {"points": program["one", Op.WRITE]},
        "hold": {**NEVER, "who": "others"},
        "until": NEVER,
    }
    done, run = program.run(*[rule] * 64)
    assert done["status"] == 0
    assert sum(each(run, "activated")) == sum(each(run, "active")) == 256
    assert sum(each(run, "dropped")) == 64 * 5 - 256


def test_without_rules_the_run_file_has_none(start):
    program = start(programs.ORDER)
    assert program.run()[1].rules == ()


POINTS = {"points": [THREAD_BEGINS]}
RULE = {"when": None, "hold": POINTS, "until": POINTS}
BAD = {
    "no list": ("force", "rules must be a list of at most 64"),
    "too many": ([RULE] * 65, "rules must be a list of at most 64"),
    "no object": ([RULE, 3], "rules[1]: must be an object, not 3"),
    "unknown key": ([{**RULE, "untill": 1}], "rules[0]: has no key 'untill'"),
    "nothing to do": ([{"when": POINTS, "until": POINTS}], 'needs "hold" or "exclusive"'),
    "no end": ([{"when": None, "hold": POINTS}], 'rules[0]: needs "when" or "until"'),
    "no points": ([{**RULE, "hold": {"who": "any"}}], "rules[0].hold: must name at least one"),
    "empty points": ([{**RULE, "hold": {"points": []}}], "rules[0].hold: must name at least one"),
    "no such operation": ([{**RULE, "hold": {"points": [11]}}], "11 is no point of this program"),
    "no such site": (
        [{**RULE, "until": {"points": [1 << 31]}}],
        "rules[0].until: 2147483648 is no",
    ),
    "huge point": ([{**RULE, "until": {"points": [1 << 70]}}], "is no point of this program"),
    "text for a point": ([{**RULE, "until": {"points": ["7"]}}], "'7' is no point"),
    "who": ([{**RULE, "hold": {**POINTS, "who": "them"}}], 'who must be "self", "others" or'),
    "who of when": (
        [{**RULE, "when": {**POINTS, "who": "self"}}],
        "rules[0].when: has no key 'who'",
    ),
    "path": ([{**RULE, "hold": {**POINTS, "path": "main"}}], "path must be a thread's"),
    "long path": ([{**RULE, "hold": {**POINTS, "path": "0." * 30}}], "path must be a thread's"),
    "equal to nobody": ([{**RULE, "hold": {**POINTS, "equal": True}}], '"equal" needs a path'),
    "role": ([{**RULE, "hold": {**POINTS, "path": "0.1", "role": 1}}], 'a role needs "equal"'),
    "huge role": ([{**RULE, "hold": {**POINTS, "role": 17}}], "role must be a number from 0 to 16"),
    "occurrence": ([{**RULE, "hold": {**POINTS, "occurrence": -1}}], "occurrence must be a number"),
    "limit": ([{**RULE, "limit": "much"}], "rules[0]: limit must be a number"),
    "exclusive without when": ([{**RULE, "exclusive": 1}], 'need "when"'),
    "exclusive until others": (
        [{**RULE, "when": POINTS, "exclusive": 1, "until": {**POINTS, "who": "others"}}],
        'the "until" of an exclusive rule is by "self"',
    ),
    "guards alone": ([{**RULE, "guards": [2]}], "rules[0].guards: only a rule with"),
    "leave": ([{**RULE, "when": POINTS, "leave": [9, 3]}], "rules[0].leave: must be the sites"),
    "leave of one": ([{**RULE, "when": POINTS, "leave": [9]}], "rules[0].leave: must be the sites"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_rules_are_refused_with_their_place(name):
    rules, reason = BAD[name]
    with pytest.raises(ValueError, match=re.escape(reason)):
        _core.begin_run({"strategy": "walk", "rules": rules})


def test_rules_are_refused_in_a_run_that_is_not_gated():
    with pytest.raises(ValueError, match="in a run that is controlled or replayed"):
        _core.begin_run({"strategy": "free", "rules": [RULE]})


def test_the_reason_reaches_the_output_of_the_run(tmp_path):
    program = Program(tmp_path, programs.ORDER, "gil")
    program.client.ask(1, rules=[{**RULE, "untill": 1}])
    done = program.client.receive()["done"]
    assert done["status"] == statuses.REFUSED  # which is no failure of the target
    assert "rules[0]: has no key 'untill'" in program.client.output(1)
    program.client.close()
