# SPDX-License-Identifier: Apache-2.0
"""Patches of C and C++ are written into the text, and every way out gives the mutex back."""

import subprocess
import textwrap
from pathlib import Path

import pytest

from unsnarl.patches.blocks import LineSpan
from unsnarl.patches.native import declarations, tokens
from unsnarl.patches.native.mutexes import Mutex
from unsnarl.patches.native.regions import lock_draft
from unsnarl.patches.native.source import CSource, covering
from unsnarl.patches.source import UnpatchableError

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
