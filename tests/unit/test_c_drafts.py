# SPDX-License-Identifier: Apache-2.0
"""Which patches of C and C++ a finding leads to, and which come next."""

from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.test_c_patches import PAY, check_compiles, line_of, source

from unsnarl.model.plan import Plan
from unsnarl.model.report import Finding, FindingPoint, Fix, PatchChecks, SourceLine
from unsnarl.model.run import Failure
from unsnarl.patches.blocks import LineSpan
from unsnarl.patches.native.conflict import CConflict
from unsnarl.patches.native.drafts import CPatchSearch
from unsnarl.patches.native.other_drafts import other_drafts
from unsnarl.patches.regions import Draft
from unsnarl.patches.trying import Tried, polls_on


def point(line: int, role: int, op: str, variable: str, **more: Any) -> FindingPoint:
    fields: dict[str, Any] = {"file": "a.c", "function": "f", "thread": f"0.{role}"} | more
    return FindingPoint(
        line=line, role=role, op=op, variable=variable, region="body", confidence=1.0, **fields
    )


def conflict(text: str, *points: FindingPoint, name: str = "a.c", **more: Any) -> CConflict:
    variables = tuple(dict.fromkeys(one.variable for one in points if one.variable))
    fields: dict[str, Any] = {"kind": "atomicity", "rank": 1, "method": "m", "score": 1.0} | more
    finding = Finding(features={}, variables=variables, points=points, runs=1, **fields)
    return CConflict(finding, {name: source(text, name)})


def drafts(made: CConflict) -> list[Draft]:
    return CPatchSearch(made, None, None).drafts()  # type: ignore[arg-type]


def test_every_access_at_fault_must_be_under_the_mutex() -> None:
    file = source(PAY)
    lines = [line_of(file, one) for one in ("if (n > 0)", "n--;", "n++;")]
    made = drafts(
        conflict(
            PAY,
            point(lines[0], 1, "read", "n", function="pay"),
            point(lines[2], 2, "write", "n", function="spend"),
            point(lines[1], 1, "write", "n", function="pay"),
        )
    )
    assert made
    for draft in made:
        covered = [set(range(one.first, one.last + 1)) for one in draft.spans]
        assert all(any(line in one for one in covered) for line in lines)
    # The program's own mutex comes before a new one.
    assert not made[0].choice.is_new  # type: ignore[union-attr]


ONCE = """
#include <pthread.h>
pthread_mutex_t a, b;
pthread_cond_t c;
int ready, *box, done;
void *f(void *arg) {
    pthread_mutex_lock(&a);
    if (!ready)
        pthread_cond_wait(&c, &a);
    pthread_mutex_unlock(&a);
    return arg;
}
void *g(void *arg) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    done = 1;
    *box = 2;
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, g, 0);
    box = 0;
    pthread_join(t, 0);
    return 0;
}
"""


def others(made: CConflict, kind: str) -> list[str]:
    found = [one for one in other_drafts(made) if one.kind == kind]
    for one in found:
        check_compiles(one.texts["a.c"])
    return [one.texts["a.c"] for one in found]


def test_a_condition_is_checked_again_after_the_wait() -> None:
    line = line_of(source(ONCE), "if (!ready)")
    (text,) = others(conflict(ONCE, point(line, 1, "read", "ready")), "recheck")
    assert "    while (!ready)\n        pthread_cond_wait(&c, &a);\n" in text


def test_a_join_moves_before_what_takes_away() -> None:
    file = source(
        ONCE.replace("box = 0", "box = NULL").replace(
            "<pthread.h>", "<pthread.h>\n#include <stddef.h>"
        )
    )
    line = line_of(file, "box = NULL")
    made = conflict(
        file.text,
        point(line, 1, "write", "box", function="main", text="box = NULL;"),
        point(line_of(file, "*box = 2"), 2, "read", "box", function="g", text="*box = 2;"),
    )
    (text,) = others(made, "join")
    assert "    pthread_join(t, 0);\n    box = NULL;\n    return 0;\n" in text


def test_no_join_moves_where_nothing_is_taken_away() -> None:
    line = line_of(source(ONCE), "box = 0")
    made = conflict(ONCE, point(line, 1, "write", "box", function="main", text="box = 0;"))
    assert not others(made, "join")


def test_two_mutexes_are_taken_the_other_way_round() -> None:
    first = line_of(source(ONCE), "lock(&a)", 2)
    made = conflict(
        ONCE,
        point(first, 1, "take", "a", function="g"),
        point(first + 1, 1, "take", "b", function="g"),
        kind="deadlock",
    )
    turned, by_address = others(made, "lock-order")
    assert "    pthread_mutex_lock(&b);\n    pthread_mutex_lock(&a);\n" in turned
    assert (
        "    pthread_mutex_lock(first_lock);\n    pthread_mutex_lock(second_lock);\n" in by_address
    )


LOOKED = """
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
int done, price, low, high;
atomic_int arrived;
sem_t vacant;
void g(void) {
    done = 1;
    price = 2;
    low = 3;
    high = 4;
}
int f(void) {
    int from = low;
    if (!done)
        return high - from;
    return price;
}
int h(void) {
    arrived++;
    price = 1;
    sem_post(&vacant);
    int now = price;
    return now;
}
"""


def published(early: str, late: str, seen: str, text: str = LOOKED) -> list[str]:
    file = source(text)
    points = (
        point(line_of(file, f"{early} ="), 1, "write", early, function="g"),
        point(line_of(file, f"{late} ="), 1, "write", late, function="g"),
        point(line_of(file, seen), 2, "read", early),
    )
    return others(conflict(text, *points, shape="published before initialised"), "move")


def test_what_is_published_too_early_moves_behind() -> None:
    (text,) = published("done", "price", "if (!done)")
    assert "    price = 2;\n    done = 1;\n    low = 3;" in text


def test_what_belongs_together_is_not_mended_by_a_move() -> None:
    assert not published("low", "high", "int from = low")


def test_nothing_moves_out_of_its_critical_section() -> None:
    lock, unlock = "pthread_mutex_lock(&m);", "pthread_mutex_unlock(&m);"
    text = LOOKED.replace("    done = 1;", f"    {lock}\n    done = 1;\n    {unlock}")
    text = text.replace("int done", "pthread_mutex_t m;\nint done")
    assert not published("done", "price", "if (!done)", text)


def test_what_lets_others_go_on_moves_behind_the_access() -> None:
    file = source(LOOKED)
    points = [
        point(line_of(file, part), role, "write", "price", function="h")
        for role, part in enumerate(("price = 1", "int now"), 1)
    ]
    texts = others(conflict(LOOKED, *points, kind="order"), "move")
    assert any("    price = 1;\n    arrived++;\n" in text for text in texts)
    assert any("    int now = price;\n    sem_post(&vacant);\n" in text for text in texts)


def test_a_call_that_wakes_others_moves_behind_the_call_that_was_meant() -> None:
    text = (
        LOOKED
        + """
void announce(void) {
    done = 1;
    sem_post(&vacant);
}
void scale(void) {
    price = 4;
}
void work(void) {
    announce();
    scale();
}
"""
    )
    file = source(text)
    line = line_of(file, "    announce();")
    stack = (f"a.c:{line + 1} in work",)
    late = point(line_of(file, "price = 4"), 1, "write", "price", function="scale", stack=stack)
    begin, end = SourceLine("a.c", line, "work", ""), SourceLine("a.c", line + 1, "work", "")
    made = conflict(text, late, fix=Fix("region", begin, end, runs=1))
    (moved,) = others(made, "move")
    assert "    scale();\n    announce();\n" in moved
    assert not others(conflict(text, late), "move")


def test_an_order_is_kept_by_a_condition() -> None:
    file = source(ONCE)
    done, wait = line_of(file, "done = 1"), line_of(file, "if (!ready)")
    fix = Fix(
        "order",
        SourceLine("a.c", done, "g", ""),
        SourceLine("a.c", wait, "f", ""),
        scope="once",
        runs=1,
    )
    points = (point(done, 1, "write", "done", function="g"), point(wait, 2, "read", "done"))
    (text,) = others(conflict(ONCE, *points, kind="order", fix=fix), "event")
    assert "    done = 1;\n    pthread_mutex_lock(&ready_lock);\n    is_ready = 1;\n" in text
    assert "    while (!is_ready)\n        pthread_cond_wait(&ready2, &ready_lock);\n" in text
    later = (point(done, 2, "write", "done", function="g"), point(wait, 1, "read", "done"))
    assert not others(conflict(ONCE, *later, kind="order", fix=fix), "event")
    # An order does not make anything atomic.
    assert not others(conflict(ONCE, *points, fix=fix), "event")


def test_a_region_that_was_too_small_grows_to_the_loop_around_it() -> None:
    file = source(PAY)
    line = line_of(file, "n++;")
    made = conflict(
        PAY,
        point(line, 1, "read", "n", function="spend"),
        point(line, 2, "write", "n", function="spend"),
    )
    search = CPatchSearch(made, None, None)  # type: ignore[arg-type]
    first = next(one for one in search.drafts() if one.spans == (LineSpan("a.c", line, line),))
    failed = Tried(PatchChecks(runs=6, fail=1, serial=True))
    (grown,) = search.next(first, failed)
    assert grown.spans == (LineSpan("a.c", line_of(file, "for (int"), line + 1),)


def test_a_new_mutex_is_taken_before_the_one_that_is_held_there() -> None:
    file = source(PAY)
    line = line_of(file, "n += 2;")
    made = conflict(
        PAY,
        point(line, 1, "write", "n", function="spend"),
        point(line, 2, "write", "n", function="spend"),
    )
    search = CPatchSearch(made, None, None)  # type: ignore[arg-type]
    new = [one for one in search.drafts() if one.choice and one.choice.is_new]
    first = next(one for one in new if one.spans == (LineSpan("a.c", line, line),))
    (outer,) = search.next(first, Tried(PatchChecks(runs=6, deadlocks=1, serial=True), stuck=True))
    assert (
        "    pthread_mutex_lock(&n_lock);\n    pthread_mutex_lock(&lock);\n" in outer.texts["a.c"]
    )


@pytest.mark.parametrize(
    ("strategy", "label", "message", "expected"),
    [
        ("replay", "hang", "still running after 10 s; polling: 0.2", True),
        ("replay", "hang", "still running after 10 s", False),
        ("replay", "fail", "polling", False),
        ("pct", "hang", "still running after 10 s; polling: 0.2", False),
    ],
)
def test_a_schedule_that_keeps_a_thread_polling_says_nothing(
    strategy: str, label: str, message: str, *, expected: bool
) -> None:
    run = SimpleNamespace(failures=[Failure("hang", "", message)])
    trial: Any = SimpleNamespace(label=label, plan=Plan(strategy=strategy, seed=1), run=run)  # type: ignore[arg-type]
    assert polls_on(trial) is expected
