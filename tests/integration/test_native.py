# SPDX-License-Identifier: Apache-2.0
"""C and C++ programs: built with the wrapper, run as always, hunted and proved."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from evaluation.truth import judge, load_bug

from unsnarl.model.report import FindingPoint
from unsnarl.probes.native import build_record, compiler

ZOO = Path(__file__).parents[2] / "zoo" / "c"
WANTED = ("--fail", "15", "--pass", "15", "--confirm", "1")
HUNT = ("hunt", *WANTED, "--seed", "5", "--json", "answer.json", "--")

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")

# Every kind of waiting that the gate has to know; it prints 6.
WAITS = r"""
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, again;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin;
static sem_t semaphore;
static int ready, total, written, made;

static void make(void) { made++; }

static void *work(void *arg) {
    pthread_once(&once, make);
    pthread_mutex_lock(&mutex);
    while (!ready)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&again);
    pthread_mutex_lock(&again);
    total++;
    pthread_mutex_unlock(&again);
    pthread_mutex_unlock(&again);
    pthread_rwlock_wrlock(&rwlock);
    written++;
    pthread_rwlock_unlock(&rwlock);
    usleep(100);
    sem_post(&semaphore);
    return arg;
}

int main(void) {
    pthread_t threads[2];
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&again, &recursive);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_spin_init(&spin, 0);
    sem_init(&semaphore, 0, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 2; i++)
        sem_wait(&semaphore);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_spin_lock(&spin);
    pthread_rwlock_rdlock(&rwlock);
    printf("%d\n", total + written + made + (pthread_mutex_trylock(&mutex) == 0));
    pthread_rwlock_unlock(&rwlock);
    pthread_spin_unlock(&spin);
    return total + written + made == 5 ? 0 : 1;
}
"""


def unsnarl(folder, *arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "unsnarl", *arguments],
        cwd=folder,
        env=os.environ | more,
        capture_output=True,
        text=True,
        check=False,
    )


def built(folder, *arguments, verb="cc"):
    # That the program cannot be built once more saves its hunts the search for a patch.
    done = unsnarl(folder, verb, "-O1", "-pthread", *arguments, **{build_record.VARIABLE: "0"})
    assert done.returncode == 0, done.stderr
    return folder


def specimen(tmp_path, bug, verb="cc", *others):
    """A bug of the zoo, built; `others`: what else to build of it."""
    folder = tmp_path / bug
    shutil.copytree(ZOO / bug, folder)
    suffix = ".c" if verb == "cc" else ".cpp"
    for name in (bug, *others):
        built(folder, name + suffix, "-o", name, verb=verb)
    return folder


def test_a_program_runs_as_always_without_a_plan(tmp_path):
    (tmp_path / "waits.c").write_text(WAITS)
    built(tmp_path, "waits.c", "-o", "waits")
    done = subprocess.run([tmp_path / "waits"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "6\n", "")


def test_objects_and_libraries_are_linked_in_steps(tmp_path):
    (tmp_path / "one.c").write_text("int shared;\nint twice(int n) { return shared = 2 * n; }\n")
    (tmp_path / "two.c").write_text("int twice(int);\nint main(void) { return twice(0); }\n")
    for name in ("one", "two"):
        built(tmp_path, "-c", f"{name}.c", "-o", f"{name}.o", "-MMD")
        assert (tmp_path / f"{name}.d").exists()
    built(tmp_path, "one.o", "two.o", "-o", "both")
    assert subprocess.run([tmp_path / "both"], check=False).returncode == 0


def test_the_probe_takes_no_names_from_the_program():
    done = subprocess.run(
        ["nm", "-g", "--defined-only", compiler.folder() / "static" / compiler.LIBRARY],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split() for line in done.stdout.splitlines() if len(line.split()) == 3]
    strong = {name for _, kind, name in rows if kind not in "WV"}  # the program's come before weak
    assert "uns_rt" in strong
    ours = ("uns_", "__tsan_", "__wrap_")
    assert [name for name in sorted(strong) if not name.startswith(ours)] == []
    # A program may have these itself, and keeps them.
    weak = {name for _, kind, name in rows if kind in "WV"}
    assert {"malloc", "free", "realloc", "_Znwm", "_ZdlPv"} <= weak


def test_all_waiting_is_known_to_the_gate(tmp_path):
    (tmp_path / "waits.c").write_text(WAITS)
    built(tmp_path, "waits.c", "-o", "waits")
    done = unsnarl(tmp_path, "hunt", "--max-runs", "40", "--json", "answer.json", "--", "./waits")
    report = json.loads((tmp_path / "answer.json").read_text())
    assert report["runs"] == {"total": 40, "pass": 40, "fail": 0, "hang": 0}, done.stdout
    assert report["instrumented"]["threads_controlled"] == 3


needs_cxx = pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")
LOST_UPDATES = (
    ("apachelog", "cc", "access_log.used"),
    pytest.param("lostupdate", "c++", "main::page.visits", marks=needs_cxx),
)


@pytest.mark.parametrize(("bug", "verb", "variable"), LOST_UPDATES)
def test_a_bug_is_found_and_proved_and_its_twin_is_quiet(tmp_path, bug, verb, variable):
    folder = specimen(tmp_path, bug, verb, "fixed")
    done = unsnarl(folder, *HUNT, f"./{bug}")
    assert done.returncode == 1, done.stderr
    (failure,) = json.loads((folder / "answer.json").read_text())["failures"]
    finding = failure["findings"][0]
    assert (failure["kind"], finding["status"]) == ("assertion", "confirmed"), done.stdout
    assert finding["variables"] == [variable]
    assert json.loads((folder / "answer.json").read_text())["instrumented"]["modules"] == 1
    told = msgspec.convert(finding["explanation"], list[FindingPoint])
    assert judge(load_bug(folder).causes[0], told, folder).matches, done.stdout
    assert finding["fix"]["fail"] == finding["fix"]["deadlocks"] == 0 < finding["fix"]["runs"]
    replayed = unsnarl(folder, "replay", failure["run"].lstrip("0"), "--times", "10")
    assert "10 of 10" in replayed.stdout, replayed.stdout + replayed.stderr
    quiet = unsnarl(folder, "hunt", "--max-runs", "40", "--", "./fixed")
    assert quiet.returncode == 0, quiet.stdout


@needs_cxx
def test_a_crash_is_told_by_its_line(tmp_path):
    folder = specimen(tmp_path, "macnetio", "c++")
    done = unsnarl(folder, *HUNT[:-1], "--no-confirm", "--", "./macnetio")
    (failure,) = json.loads((folder / "answer.json").read_text())["failures"]
    assert failure["signature"].startswith("SIGSEGV in macnetio.cpp:"), done.stdout
