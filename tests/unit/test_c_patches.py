# SPDX-License-Identifier: Apache-2.0
"""Patches of C and C++ are written into the text, and every way out gives the mutex back."""

import subprocess
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from unsnarl.model.plan import Plan
from unsnarl.model.report import Finding, FindingPoint, Fix, PatchChecks, SourceLine
from unsnarl.model.run import Failure
from unsnarl.patches.blocks import LineSpan
from unsnarl.patches.native import declarations, tokens
from unsnarl.patches.native.conflict import CConflict
from unsnarl.patches.native.drafts import CPatchSearch
from unsnarl.patches.native.mutexes import Mutex
from unsnarl.patches.native.other_drafts import other_drafts
from unsnarl.patches.native.regions import lock_draft
from unsnarl.patches.native.source import CSource, covering
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import UnpatchableError
from unsnarl.patches.trying import Tried, polls_on

LOCK = Mutex("", "lock", "a.c")
NEW = Mutex("", "n_lock", "a.c", is_new=True)
BEGIN = "#include <pthread.h>\nstatic pthread_mutex_t lock;\nint n;\n"


def source(text: str, name: str = "a.c") -> CSource:
    return CSource(Path(name), name, textwrap.dedent(text).encode())


def line_of(file: CSource, part: str, nth: int = 0) -> int:
    return [at for at, line in enumerate(file.lines, 1) if part in line][nth]


def held(text: str, first: str, last: str = "", mutex: Mutex = LOCK, name: str = "a.c") -> str:
    """The file with the mutex around the lines that have these parts; it must compile."""
    file = source(text, name)
    span = LineSpan(name, line_of(file, first), line_of(file, last or first, -1))
    patched = lock_draft({name: file}, [span], mutex, frozenset()).texts[name]
    check_compiles(patched, name)
    return patched


def check_compiles(text: str, name: str = "a.c") -> None:
    language = ["-xc++", "-std=c++17"] if name.endswith("pp") else ["-xc", "-std=gnu11"]
    line = ["gcc", "-fsyntax-only", "-Wall", "-Werror", "-Wno-unused", *language, "-"]
    done = subprocess.run(line, input=text, text=True, capture_output=True, check=False)
    assert not done.returncode, done.stderr + text


# Reading.


def test_comments_strings_and_left_out_branches_hide_their_braces() -> None:
    text = (
        "int f(void) { /* } */ // }\n#if 1\n{\n#else\n{ {\n#endif\n} char c = '}'; puts(\"}\"); }\n"
    )
    every = tokens.read(text).every
    assert [one.text for one in every].count("{") == [one.text for one in every].count("}") == 2
    assert [one.name for one in declarations.parse(every).functions] == ["f"]


def test_raw_strings_are_one_token() -> None:
    every = tokens.read('auto x = R"a(")})a"; int y;').every
    assert [one.text for one in every][:4] == ["auto", "x", "=", 'R"a(")})a"']


CPP = """
#include <mutex>
#include <thread>
namespace shop {
class Stock {
  public:
    explicit Stock(int n) : left{n}, sold(0) { sold = 1; }
    ~Stock() {}
    bool take(int n) const noexcept;
    template <typename T> T half(T x) { return x / 2; }
  private:
    std::mutex mutex;
    int left;
    int sold;
};
bool Stock::take(int n) const noexcept { return left > n; }
int every = 3, other;
}
int main() {
    auto work = [&](int n) { return n + 1; };
    std::thread one([] { work(); });
    for (int i : {1, 2, 3})
        work(i);
    do { work(2); } while (0);
    switch (work(1)) { case 1: break; default: work(2); }
out:
    return 0;
}
"""


def test_functions_classes_and_lambdas_are_found() -> None:
    unit = source(CPP, "a.cpp").unit
    names = ["::".join((*one.scope, one.name)) for one in unit.functions]
    assert names == [
        "shop::Stock::Stock",
        "shop::Stock::~Stock",
        "shop::Stock::half",
        "shop::Stock::take",
        "main",
    ]
    assert [(one.name, one.type) for one in unit.classes[0].members] == [
        ("mutex", "std::mutex"),
        ("left", "int"),
        ("sold", "int"),
    ]
    assert [one.name for one in unit.variables] == ["every", "other"]
    assert sum(one.name == "" for one in unit.every()) == 2


def test_statements_are_told_apart() -> None:
    (main,) = [one for one in source(CPP, "a.cpp").unit.functions if one.name == "main"]
    kinds = [one.kind for one in main.body.statements]
    assert kinds == ["simple", "simple", "for", "do", "switch", "label", "return"]


def test_the_smallest_statements_of_some_lines() -> None:
    file = source(PAY)
    run = covering(file, line_of(file, "n--"), line_of(file, "n--"))
    assert file.text[run.begin : run.end] == "n--;"
    run = covering(file, line_of(file, "if (n > 0)"), line_of(file, "n--"))
    assert [one.kind for one in run.statements] == ["if"]
    with pytest.raises(UnpatchableError):
        covering(file, line_of(file, "static int n"), line_of(file, "n--"))


# Mutexes around lines.

PAY = """
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int n;

int pay(void) {
    if (n > 0) {
        n--;
        return n;
    }
    return 0;
}

void *spend(void *arg) {
    for (int i = 0; i < 3; i++) {
        if (n == 7)
            break;
        if (n == 8)
            goto out;
        if (n == 9)
            continue;
        n++;
    }
    pthread_mutex_lock(&lock);
    n += 2;
    pthread_mutex_unlock(&lock);
    n += 3;
out:
    return arg;
}
"""


def test_a_pair_around_one_statement() -> None:
    assert (
        "        pthread_mutex_lock(&lock);\n        n--;\n        pthread_mutex_unlock(&lock);\n"
    ) in held(PAY, "n--;")


def test_a_return_takes_its_value_before_the_mutex_is_given_back() -> None:
    assert (
        "    pthread_mutex_lock(&lock);\n"
        "    if (n > 0) {\n"
        "        n--;\n"
        "        int result = n;\n"
        "        pthread_mutex_unlock(&lock);\n"
        "        return result;\n"
        "    }\n"
        "    pthread_mutex_unlock(&lock);\n"
        "    return 0;\n"
    ) in held(PAY, "if (n > 0)", "n--;")


def test_every_way_out_gives_the_mutex_back() -> None:
    text = held(PAY, "if (n == 7)", "n++;")
    assert (
        "        pthread_mutex_lock(&lock);\n"
        "        if (n == 7) {\n"
        "            pthread_mutex_unlock(&lock);\n"
        "            break;\n"
        "        }\n"
        "        if (n == 8) {\n"
        "            pthread_mutex_unlock(&lock);\n"
        "            goto out;\n"
        "        }\n"
        "        if (n == 9) {\n"
        "            pthread_mutex_unlock(&lock);\n"
        "            continue;\n"
        "        }\n"
        "        n++;\n"
        "        pthread_mutex_unlock(&lock);\n"
    ) in text


def test_a_break_of_an_inner_loop_stays_as_it_is() -> None:
    text = held(PAY, "for (int i", "n++;")
    assert "            break;" in text
    assert "            break;\n        if (n == 8) {\n            pthread_mutex_unlock" in text
    assert text.count("pthread_mutex_unlock") == 2  # before the goto, and behind the next section


def test_sections_that_are_cut_or_touched_become_one() -> None:
    assert (
        "    pthread_mutex_lock(&lock);\n"
        "    n += 2;\n"
        "    n += 3;\n"
        "    pthread_mutex_unlock(&lock);\nout:"
    ) in held(PAY, "n += 2;", "n += 3;")
    assert held(PAY, "n += 3;") == held(PAY, "n += 2;", "n += 3;")


def test_what_is_held_already_is_no_patch() -> None:
    with pytest.raises(UnpatchableError):
        held(PAY, "n += 2;")


def test_a_branch_without_braces_gets_them() -> None:
    text = BEGIN + "void f(int x) {\n  if (x)\n    n++;\n  else n--;\n}\n"
    assert (
        "  if (x) {\n    pthread_mutex_lock(&lock);\n    n++;\n"
        "    pthread_mutex_unlock(&lock);\n  }\n  else n--;\n"
    ) in held(text, "n++;")
    assert ("  else { pthread_mutex_lock(&lock); n--; pthread_mutex_unlock(&lock); }\n") in held(
        text, "n--;"
    )


def test_a_new_mutex_comes_behind_the_includes() -> None:
    text = held(PAY, "n--;", mutex=NEW)
    assert "#include <stddef.h>\n\nstatic pthread_mutex_t n_lock = PTHREAD_MUTEX_INIT" in text
    assert "pthread_mutex_lock(&n_lock);\n        n--;" in text


def test_pthreads_are_included_where_they_are_missing() -> None:
    text = "int n;\nvoid f(void) { n++; }\n"
    assert "#include <pthread.h>" in held(text, "n++", mutex=NEW)


def test_a_new_mutex_of_two_files_is_one() -> None:
    one, two = (
        source("int n;\nvoid f(void) { n++; }\n"),
        source("extern int n;\nvoid g(void) {\n    n--;\n}\n", "b.c"),
    )
    spans = [LineSpan("a.c", 2, 2), LineSpan("b.c", 3, 3)]
    texts = lock_draft({"a.c": one, "b.c": two}, spans, NEW, frozenset()).texts
    assert "\npthread_mutex_t n_lock = PTHREAD_MUTEX_INITIALIZER;" in texts["a.c"]
    assert "extern pthread_mutex_t n_lock;" in texts["b.c"]
    for text in texts.values():
        check_compiles(text)


def test_a_new_mutex_in_a_header_would_be_many() -> None:
    file = source("static int n;\nstatic void f(void) { n++; }\n", "a.h")
    new = Mutex("", "n_lock", "a.h", is_new=True)
    with pytest.raises(UnpatchableError):
        lock_draft({"a.h": file}, [LineSpan("a.h", 2, 2)], new, frozenset())


def test_a_new_mutex_in_a_header_of_cpp_is_inline() -> None:
    text = "#include <vector>\nstruct Log {\n    int n;\n    void add() { n++; }\n};\n"
    new = Mutex("", "n_lock", "a.hpp", is_new=True, type="std::mutex")
    patched = held(text, "n++", mutex=new, name="a.hpp")
    assert "#include <mutex>\n#include <vector>\n\ninline std::mutex n_lock;\n" in patched
    assert "void add() { std::lock_guard<std::mutex> guard(n_lock); n++; }" in patched


OFFICE = """
#include <pthread.h>
struct office {
    pthread_mutex_t lock;
    int left;
    struct office *next;
};
static struct office office;
int take(struct office *o) {
    o->left--;
    return 0;
}
int look(void) {
    return office.left;
}
int ask(void) {
    take(&office);
    return 0;
}
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("o->left--", "&o->lock"),
        ("return office.left", "&office.lock"),
        ("take(&off", "&office.lock"),
    ],
)
def test_a_mutex_of_a_struct_is_reached_as_its_other_members_are(line: str, expected: str) -> None:
    assert f"pthread_mutex_lock({expected});" in held(OFFICE, line, mutex=Mutex("office", "lock"))


def test_no_mutex_is_reached_through_a_variable_at_fault() -> None:
    text = OFFICE.replace("o->left--", "o->next->left--")
    file = source(text)
    span = LineSpan("a.c", line_of(file, "next->left"), line_of(file, "next->left"))
    mutex = Mutex("office", "lock")
    draft = lock_draft({"a.c": file}, [span], mutex, frozenset({"left"}))
    assert "&o->next->lock" in draft.texts["a.c"]
    other = lock_draft({"a.c": file}, [span], mutex, frozenset({"next"}))
    assert "&o->next->lock" not in other.texts["a.c"]


@pytest.mark.parametrize(
    "statement",
    [
        "pthread_join(t, NULL);",
        "usleep(1);",
        "pthread_cond_wait(&c, &other);",
        "while (!n)\n        ;",
        "\n#ifdef X\n    n++;\n#endif",
        "again: n++;",
        "CHECK(n);",
    ],
)
def test_regions_that_are_refused(statement: str) -> None:
    check = "#define CHECK(x) \\\n    if (!(x)) \\\n        return\n"
    text = f"{BEGIN}{check}void f(void) {{\n    n++;\n    {statement}\n    n--;\n}}\n"
    file = source(text)
    span = LineSpan("a.c", line_of(file, "    n++;"), line_of(file, "n--;"))
    with pytest.raises(UnpatchableError):
        lock_draft({"a.c": file}, [span], LOCK, frozenset())


def test_a_wait_for_a_condition_of_the_same_mutex_may_be_inside() -> None:
    text = PAY.replace("        n--;", "        pthread_cond_wait(&changed, &lock);").replace(
        "static int n;", "static int n;\nstatic pthread_cond_t changed;"
    )
    assert "pthread_mutex_lock(&lock);\n    if (n > 0)" in held(text, "if (n > 0)", "cond_wait")


PAGES = """
#include <mutex>
struct Page {
    std::mutex mutex;
    int words = 0, lines = 0;
    bool done = false;
    bool add(int n) {
        if (done)
            return false;
        words += n;
        lines++;
        return true;
    }
    int both() {
        int found = words;
        found += lines;
        found *= 2;
        found++;
        return found;
    }
    void clear() {
        words = 0;
        std::lock_guard<std::mutex> hold(mutex);
        lines = 0;
    }
};
"""
MEMBER = Mutex("Page", "mutex", "a.cpp", type="std::mutex")


def test_a_guard_holds_to_the_end_of_the_block() -> None:
    text = held(PAGES, "if (done)", "lines++", MEMBER, "a.cpp")
    assert (
        "        std::lock_guard<std::mutex> guard(mutex);\n"
        "        if (done)\n            return false;\n"
    ) in text
    assert "unlock" not in text


def test_a_guard_is_given_back_where_more_follows() -> None:
    text = held(PAGES, "int found", "found += lines", MEMBER, "a.cpp")
    assert (
        "        std::unique_lock<std::mutex> guard(mutex);\n"
        "        int found = words;\n"
        "        found += lines;\n"
        "        guard.unlock();\n"
    ) in text


def test_a_later_guard_of_the_same_mutex_moves_up() -> None:
    text = held(PAGES, "words = 0;\n", "lines = 0;\n", MEMBER, "a.cpp").partition("clear()")[2]
    assert text.count("lock_guard") == 1
    assert text.index("lock_guard") < text.index("words = 0")
    touching = held(PAGES, "words = 0;\n", mutex=MEMBER, name="a.cpp").partition("clear()")[2]
    assert touching == text


def test_line_ends_of_windows_stay() -> None:
    file = CSource(Path("a.c"), "a.c", PAY.replace("\n", "\r\n").encode())
    line = line_of(file, "n--;")
    text = lock_draft({"a.c": file}, [LineSpan("a.c", line, line)], NEW, frozenset()).texts["a.c"]
    assert text.count("\n") == text.count("\r\n")


# From a finding.


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
