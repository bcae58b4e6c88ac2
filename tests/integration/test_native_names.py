# SPDX-License-Identifier: Apache-2.0
"""Reports about C programs: values; names of fields, elements, blocks, variables on stacks."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.integration.test_native import HUNT, built, needs_cxx, specimen, unsnarl

from unsnarl.campaigns.store import Store, find
from unsnarl.model.plan import Plan
from unsnarl.probes.binaries.sites import Program
from unsnarl.probes.native import dwarf
from unsnarl.probes.native.blocks import Blocks
from unsnarl.probes.native.types import value_text
from unsnarl.probes.native.variables import Variables
from unsnarl.replay.replayer import load_schedule
from unsnarl.replay.target_process import find_run, start_target
from unsnarl.runfile import SiteTable

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")

# A result is freed by whoever comes first to the end of its job.
USE_AFTER_FREE = r"""
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct job {
    long number;
    long result;
};
static struct job *current;
static int failed;

static void *finish(void *arg) {
    struct job *done = current;
    done->result = -1;
    free(done);
    return arg;
}

static void *look(void *arg) {
    struct job *seen = current;
    if (seen->result != 42)
        failed = 1;
    return arg;
}

int main(void) {
    pthread_t threads[2];
    struct job *made = malloc(sizeof *made);
    made->result = 42;
    current = made;
    pthread_create(&threads[0], NULL, look, NULL);
    pthread_create(&threads[1], NULL, finish, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert(!failed);
    return 0;
}
"""

# Threads ask for blocks of many sizes, let them grow, and give them back.
CHURN = r"""
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *next;
    char *label;
};
static struct node *first;
static long length;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg) {
    long *numbers = calloc(4, sizeof *numbers);
    for (long i = 0; i < 6; i++) {
        struct node *node = malloc(sizeof *node);
        node->label = strdup("a label");
        pthread_mutex_lock(&lock);
        node->next = first;
        first = node;
        pthread_mutex_unlock(&lock);
        length++;
        numbers = realloc(numbers, (size_t)(i + 1) * 100 * sizeof *numbers);
        numbers[i] = i;
    }
    free(numbers);
    return arg;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    long count = 0;
    for (struct node *node = first; node; count++) {
        struct node *next = node->next;
        free(node->label);
        free(node);
        node = next;
    }
    assert(count == length);
    return 0;
}
"""

OWN_ALLOCATOR = r"""
#include <stdio.h>
#include <stddef.h>

static char pool[1 << 20];
static size_t used;
static int asked;

void *malloc(size_t size) {
    used += 15;
    used -= used % 16;
    used += size;
    asked++;
    return used <= sizeof pool ? pool + used - size : NULL;
}
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *block, size_t size) { (void)block; return malloc(size); }

int main(void) {
    int before = asked;
    char *block = malloc(10);
    printf("%d\n", asked - before + (block >= pool && block < pool + sizeof pool));
    return 0;
}
"""

NEW_AND_DELETE = r"""
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

struct alignas(64) Wide { long one = 1; };

int main() {
    std::vector<std::string> words(100, std::string(50, 'x'));
    auto wide = std::make_unique<Wide>();
    std::thread([&] { words.push_back(std::string(70, 'y')); }).join();
    long *several = new (std::nothrow) long[10];
    delete[] several;
    try {
        volatile std::size_t huge = ~std::size_t{0} / 4;
        ::operator delete(::operator new(huge));
    } catch (const std::bad_alloc &) {
        std::printf("%zu %ld\n", words.size(), wide->one);
    }
}
"""

BLOCKS = r"""
#include <memory>
#include <string>
#include <thread>

struct Item {
    std::string name;
    int count = 0;
};
struct Base { long id = 7; };
template <class T> struct Box : Base { T history[4] = {}; };

static Item *items;
static int *rows[2];
static std::shared_ptr<Box<long>> box;
static Box<long> *plain;
static thread_local int mine;

static void work() {
    items[2].count++;
    rows[1][3]++;
    box->history[2]++;
    plain->id++;
    mine++;
}

int main() {
    items = new Item[5];
    for (int i = 0; i < 2; i++)
        rows[i] = static_cast<int *>(calloc(8, sizeof(int)));
    box = std::make_shared<Box<long>>();
    plain = new Box<long>;
    std::thread one(work), other(work);
    one.join();
    other.join();
    delete[] items;
    if (rows[1][3] < 0)
        return 1;
}
"""

TYPES = r"""
enum color { RED, GREEN = 5 };
struct inner { char letter; double weight; };
struct outer {
    int first;
    struct inner items[3];
    union { long whole; int half; };
    enum color color;
    unsigned char flags;
    struct outer *next;
    _Bool ready;
};
struct outer table[2][4];
static float ratio = 0.5f;
__thread int mine[2];
int main(void) { mine[1] = 2; return (int)ratio + table[0][0].first + mine[0]; }
"""


def hunted(folder, program, *options):
    done = unsnarl(folder, *HUNT[:-1], *options, "--", f"./{program}")
    (failure,) = json.loads((folder / "answer.json").read_text())["failures"]
    return done, failure, failure["findings"][0]


def test_fields_elements_and_values_are_told(tmp_path):
    folder = specimen(tmp_path, "circlist")
    done, failure, _ = hunted(folder, "circlist", "--no-confirm")
    points = [point for finding in failure["findings"] for point in finding["explanation"]]
    told = {(one["variable"].partition("[")[0], one["op"]) for one in points}
    assert ("servers.head", "write") in told, done.stdout
    tails = [one for one in points if one["variable"] == "servers.tail"]
    assert tails, done.stdout
    assert all(one["value"].isdigit() for one in tails)
    assert all(one["locks"] == ["servers.lock"] for one in tails)
    elements = {one["variable"] for one in points if one["variable"].startswith("servers.items")}
    # Where the lines of a finding are about several elements, they have the array's name.
    single = {f"servers.items[{slot}]" for slot in range(8)}
    assert elements & single and elements <= single | {"servers.items"}


@needs_cxx
def test_what_lies_on_the_stack_of_another_thread_has_its_name(tmp_path):
    folder = specimen(tmp_path, "pbzip2", "c++")
    done, failure, finding = hunted(folder, "pbzip2")
    assert finding["variables"] == ["main::queue.blocks"], done.stdout
    seen = [(one["op"], one["value"]) for one in finding["explanation"]]
    assert ("write", "NULL") in seen
    assert ("read", "NULL") in seen
    assert finding["fix"]["lock"] == "main::queue.mutex"
    assert "(pbzip2.cpp:30 in BlockQueue::take)" in done.stdout
    assert f"unsnarl replay {failure['run'].lstrip('0')} --gdb" in done.stdout


def test_a_use_after_free_is_told_beside_who_freed_it(tmp_path):
    (tmp_path / "job.c").write_text(USE_AFTER_FREE)
    built(tmp_path, "job.c", "-o", "job")
    done, _, _ = hunted(tmp_path, "job", "--no-confirm")
    report = json.loads((tmp_path / "answer.json").read_text())
    findings = report["failures"][0]["findings"]
    assert any("job.result" in one["variables"] for one in findings), done.stdout
    freed = USE_AFTER_FREE[: USE_AFTER_FREE.index("free(done)")].count("\n") + 1
    points = [point for one in findings for point in one["points"]]
    assert ("write", freed) in {(point["op"], point["line"]) for point in points}


def test_a_replay_asks_for_the_same_blocks(tmp_path, monkeypatch):
    (tmp_path / "churn.c").write_text(CHURN)
    built(tmp_path, "churn.c", "-o", "churn")
    _, failure, _ = hunted(tmp_path, "churn", "--no-confirm")
    monkeypatch.chdir(tmp_path)
    folder, number = find_run(tmp_path, failure["run"])
    store = Store.open(folder)
    with start_target(store) as process:
        replayer = process.replayer(load_schedule(store, number))
        trials = replayer.follow(5, trace=True)
    store.close()
    assert all(map(replayer.fails, trials))
    first, *others = (trial.run.trace["cell"].tolist() for trial in trials)
    assert len(first) > 100
    assert all(cells == first for cells in others)


def test_variables_of_libraries_have_no_versions(tmp_path):
    source = (
        '#include <stdio.h>\nint count;\nint main(void) { return fputs("", stderr) < count; }\n'
    )
    (tmp_path / "a.c").write_text(source)
    names = {name for _, _, name in Program(built(tmp_path, "a.c") / "a.out").variables()}
    assert {"stderr", "count"} <= names


def test_a_program_keeps_its_own_allocator(tmp_path):
    (tmp_path / "own.c").write_text(OWN_ALLOCATOR)
    built(tmp_path, "-fno-builtin", "own.c", "-o", "own")
    done = subprocess.run([tmp_path / "own"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "2\n")


@needs_cxx
def test_new_and_delete_work_as_always(tmp_path):
    (tmp_path / "fresh.cpp").write_text(NEW_AND_DELETE)
    built(tmp_path, "-std=c++17", "fresh.cpp", "-o", "fresh", verb="c++")
    done = subprocess.run([tmp_path / "fresh"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "101 1\n"), done.stderr
    done = unsnarl(tmp_path, "hunt", "--max-runs", "5", "--", "./fresh")
    assert done.returncode == 0, done.stdout + done.stderr


@needs_cxx
def test_blocks_are_called_by_their_types_or_by_who_asked_for_them(tmp_path):
    (tmp_path / "blocks.cpp").write_text(BLOCKS)
    built(tmp_path, "blocks.cpp", "-o", "blocks", verb="c++")
    unsnarl(tmp_path, "hunt", "--max-runs", "10", "--", "./blocks")
    store = Store.open(find(tmp_path, ""))
    with start_target(store) as process:
        table = SiteTable.load(process.codes, tmp_path)
        sites = [(site, op) for op in ("read", "write", "free") for site in table.of_kinds([op])]
        points = [site << 4 | (op != "read") for site, op in sites]
        (trial,) = process.trials.run([Plan(strategy="walk", seed=1, capture=points)])
    store.close()
    noted = [(value[2], value[5] + value[7][1], value[3]) for value in trial.run.notes.values]
    names = {name for path, name, _ in noted if path != "0"}
    shared = BLOCKS[: BLOCKS.index("make_shared")].count("\n") + 1
    assert {"items[2].count", "rows[][3]", "Box<…>.id", "mine"} <= names
    assert any(name.startswith(f"block from blocks.cpp:{shared}") for name in names), names
    for thread in ("0.1", "0.2"):
        found = [one[2] for one in noted if one[:2] == (thread, "items[2].count")]
        assert [int(value) - int(found[0]) for value in found] == [0, 1]  # read, written
    assert ("0", "items", "") in noted  # freed as a whole


@pytest.fixture(params=["gcc", "clang"])
def variables(request, tmp_path):
    if not shutil.which(request.param):
        pytest.skip(f"there is no {request.param}")
    (tmp_path / "types.c").write_text(TYPES)
    subprocess.run([request.param, "-g", "types.c", "-o", "types"], cwd=tmp_path, check=True)
    return Variables(
        dwarf.parse(_lines(tmp_path, "readelf", "--debug-dump=info", "types")),
        _symbols(_lines(tmp_path, "nm", "-S", "types")),
        Blocks({}, Path()),
    )


def _lines(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def _symbols(lines):
    rows = (line.split() for line in lines)
    return [(int(row[0], 16), int(row[1], 16), row[3]) for row in rows if len(row) == 4]


def test_types_tell_fields_and_elements(variables):
    table = next(one for one in variables.globals if one.name == "table")
    size = variables.types.size(variables.types.by_name("outer"))
    assert table.size == 8 * size
    named = variables.data(table.at + 5 * size + 8 + 16 + 8)
    assert (named.variable, named.element) == ("table", "[1][1].items[1].weight")
    named = variables.data(table.at + 56)
    assert named.element == "[0][0].whole"
    assert variables.data(table.at + table.size + 10_000_000) is None
    assert variables.thread_local(4).variable + variables.thread_local(4).element == "mine[1]"


def test_values_are_told_as_their_types_have_it(variables):
    types = variables.types
    outer = types.by_name("outer")

    def text(offset, size, bits):
        return value_text(bits, size, types.scalar(outer, offset))

    assert text(0, 4, 2**32 - 3) == "-3"
    assert text(16, 8, 0x3FF8_0000_0000_0000) == "1.5"
    assert text(64, 4, 5) == "GREEN"
    assert text(64, 4, 7) == "7"
    assert text(68, 1, 0x1FF) == "255"
    assert text(72, 8, 0) == "NULL"
    assert text(72, 8, 0x5555_0000) == "0x55550000"
    assert text(80, 1, 1) == "true"
    assert text(0, 8, 7) == "7"  # two members at once: no type fits
    assert value_text(1 << 40, 8, None) == hex(1 << 40)
