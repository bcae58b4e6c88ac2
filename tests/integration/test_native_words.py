# SPDX-License-Identifier: Apache-2.0
"""Accesses of more than one word in free runs: none of their words is overlooked."""

import shutil

import pytest
from benchmarks.programs import FREE, Build, workshop
from tests.integration.native_programs import build, run

from unsnarl.runfile import read_run

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")

# Main writes all words, the other thread touches them at once, main writes one of them only, and
# the other comes again: what it had seen before must not hide that.
PROGRAM = r"""
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>

void TOUCH(void *address);
static _Alignas(64) volatile uint64_t words[8];
static sem_t go, done;

__attribute__((noinline)) static void set(int i) { words[i] = 1; }

static void *other(void *unused) {
    for (int i = 0; i < 2; i++) {
        sem_wait(&go);
        TOUCH((char *)words + OFFSET);
        sem_post(&done);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&go, 0, 0);
    sem_init(&done, 0, 0);
    pthread_create(&thread, NULL, other, NULL);
    for (int i = 0; i <= LAST; i++)
        set(i);
    sem_post(&go);
    sem_wait(&done);
    words[CHANGED] = 2;
    sem_post(&go);
    pthread_join(thread, NULL);
    printf("%lu\n", (unsigned long)((uintptr_t)words / 8));
    return 0;
}
"""
CASES = (
    ("16", 0, 1, 1),
    ("unaligned_16", 4, 2, 1),
    ("unaligned_16", 4, 2, 2),
    ("unaligned_8", 4, 1, 1),
    ("unaligned_4", 6, 1, 1),
)


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("case", CASES)
def test_every_word_counts(tmp_path, case, kind):
    name, offset, last, changed = case
    prefix, _, size = name.rpartition("_")
    touch = f"__tsan_{prefix}{'_' if prefix else ''}{kind}{size}"
    source = tmp_path / "words.c"
    source.write_text(PROGRAM)
    flags = (f"-DTOUCH={touch}", f"-DOFFSET={offset}", f"-DLAST={last}", f"-DCHANGED={changed}")
    with workshop() as shop:
        program = shop.program(Build("tracked", "gcc"), "words", [source], *flags)
        first = int(program.run(plan=FREE))
        edges = read_run(program.run_file).edges
    here = (edges["cell"] >= first) & (edges["cell"] <= first + last)
    to_other = edges[here & (edges["source_thread"] == 0) & (edges["sink_thread"] == 1)]
    assert len({*to_other["source_point"].tolist()}) == 2
    assert first + changed in to_other["cell"].tolist()


def test_a_stack_has_no_past(tmp_path):
    """What a thread that nobody joined left there is not told to the next one that gets it."""
    made = build(tmp_path, "stacks.c")
    done = run(made, "free", 1)
    first, words, reused = map(int, done.output.split())
    cells = done.file.edges["cell"]
    assert reused > 0
    assert len(cells) > 0
    assert not ((cells >= first) & (cells < first + words)).any()


def test_little_address_space(tmp_path):
    """The shadow is folded: words may be taken for others, but no edge is lost, nothing breaks."""
    made = build(tmp_path, "stacks.c")
    limited = tmp_path / "limited"
    limited.write_text(f'#!/bin/sh\nulimit -v {1 << 22}\nexec "{made}" "$@"\n')
    limited.chmod(0o755)
    done = run(made, "free", 2, through=limited)
    assert done.status == 0, done.errors
    assert len(done.file.edges) > 0
