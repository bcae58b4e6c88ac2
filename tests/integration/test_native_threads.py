# SPDX-License-Identifier: Apache-2.0
"""Everything that threads of C and C++ programs do, free, with noise and under the gate."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.native_programs import PROGRAMS, build, plainly, run

from unsnarl.model.event import Op
from unsnarl.probes.binaries import sites
from unsnarl.probes.native import compiler

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
PLUS_PLUS = {"gcc": "g++", "clang": "clang++"}
GATED = ("walk", "pct", "pos")
FREE = ("free", "noise")
SEEDS = (1, 2, 3)


def nm(*options, library):
    done = subprocess.run(["nm", *options, library], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in done.stdout.splitlines() if " " in line}


# Programs that know their answer: they print ok, whoever runs when.


@pytest.mark.slow
@pytest.mark.parametrize("name", ["c11", "ends", "clocks", "cancel", "pipes", "forks", "signals"])
def test_a_program_does_the_same_under_every_plan(tmp_path, name):
    made = build(tmp_path, f"{name}.c")
    assert plainly(made)[:2] == (0, "ok\n")
    for strategy in FREE:
        assert run(made, strategy, 1)[:3] == (0, "ok\n", "")
    for strategy in GATED:
        for seed in SEEDS:
            done = run(made, strategy, seed)
            assert done[:3] == (0, "ok\n", ""), (strategy, seed, done.file and done.file.failures)
            assert done.file.counters["stalls"] == 0, (strategy, seed)
            assert all(thread.controlled for thread in done.file.threads)


@pytest.mark.parametrize("which", COMPILERS)
def test_what_cxx_has_for_threads_is_known_to_the_gate(tmp_path, which):
    made = build(tmp_path, "threads.cpp", "-std=c++20", compiler=PLUS_PLUS[which])
    assert plainly(made)[:2] == (0, "ok\n")
    for strategy in FREE:
        assert run(made, strategy, 1)[:3] == (0, "ok\n", "")
    for strategy in GATED:
        for seed in SEEDS:
            done = run(made, strategy, seed)
            assert done[:3] == (0, "ok\n", ""), (strategy, seed, done.file and done.file.failures)
            assert done.file.counters["stalls"] == 0, (strategy, seed)
            assert done.file.counters["uncontrolled"] == 0


def test_a_seed_gives_the_same_schedule_also_through_pipes(tmp_path):
    made = build(tmp_path, "pipes.c")
    first, second = (run(made, "walk", 5).file for _ in range(2))
    assert first.schedule[:150] == second.schedule[:150]
    assert first.counters["switches"] > 100


def test_threads_are_told_by_the_names_that_the_program_gives_them(tmp_path):
    threads = run(build(tmp_path, "ends.c"), "walk", 1).file.threads
    assert [thread.name for thread in threads] == ["chief", "thread", "thread", "lonely", "lonely"]
    assert all(thread.ended for thread in threads[1:])


def failure_of(folder):
    (failure,) = json.loads((folder / "answer.json").read_text())["failures"]
    return failure


def test_a_bug_between_threads_that_talk_through_pipes_is_proved_and_replayed(tmp_path):
    build(tmp_path, "pipebug.c")
    done = hunt(tmp_path, "./pipebug", "--fail", "15", "--pass", "15", "--seed", "3")
    assert done.returncode == 1, done.stderr
    finding = failure_of(tmp_path)["findings"][0]
    assert (finding["status"], finding["variables"]) == ("confirmed", ["finished"]), done.stdout
    number = failure_of(tmp_path)["run"].lstrip("0")
    words = [sys.executable, "-m", "unsnarl", "replay", number, "--times", "20"]
    replayed = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "20 of 20" in replayed.stdout, replayed.stdout + replayed.stderr


@pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")
def test_a_wait_inside_the_cxx_library_is_told_by_the_line_that_calls_it(tmp_path):
    source = PROGRAMS / "wakeup.cpp"
    made = build(tmp_path, source.name)
    ends = {run(made, "walk", seed).status for seed in range(12)}
    assert ends == {0, 96}
    done = hunt(tmp_path, "./wakeup", "--max-runs", "60", "--no-confirm")
    line = next(n for n, text in enumerate(source.open(), start=1) if "wait(lock)" in text)
    assert failure_of(tmp_path)["kind"] == "deadlock", done.stdout
    assert f"wakeup.cpp:{line}" in done.stdout


# Memory.


def lines_of(made):
    """By site, the line of its source."""
    codes = sites.Program(made).codes()["codes"]
    return {code["base"] + site[0]: site[3] for code in codes for site in code["sites"]}


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("which", COMPILERS)
def test_blocks_and_texts_are_accesses(tmp_path, which, level):
    made = build(tmp_path, "memory.c", level, compiler=which)
    done = run(made, "walk", 1, trace=1)
    assert done[:2] == (0, "ok\n")
    lines = lines_of(made)
    seen = {(lines.get(point >> 4), Op(point & 15)) for point in done.file.trace["point"].tolist()}
    source = (PROGRAMS / "memory.c").read_text().splitlines()
    wanted = {"R": Op.READ, "W": Op.WRITE}
    for number, text in enumerate(source, start=1):
        marked = re.search(r"/\* (R?W?) \*/$", text)
        for letter in marked[1] if marked else "":
            assert (number, wanted[letter]) in seen, text


@pytest.mark.parametrize("which", COMPILERS)
def test_atomics_of_16_bytes_are_done_and_seen(tmp_path, which):
    made = build(tmp_path, "wide.c", "-mcx16", compiler=which)
    assert plainly(made)[:2] == (0, "ok\n")
    for strategy in (*GATED, *FREE):
        assert run(made, strategy, 1)[:2] == (0, "ok\n")
    assert "__atomic_load_16" not in nm("-D", library=made)


def test_a_call_at_the_end_of_a_function_has_a_site_of_its_own(tmp_path):
    source = tmp_path / "last.c"
    source.write_text(
        "#include <pthread.h>\n"
        "static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;\n"
        "__attribute__((noinline)) void give(void) {\n"
        "    pthread_mutex_unlock(&mutex);\n"
        "}\n"
        "int main(void) {\n"
        "    pthread_mutex_lock(&mutex);\n"
        "    give();\n"
        "    return 0;\n"
        "}\n"
    )
    made = build(tmp_path, str(source), "-O2")
    points = run(made, "walk", 1, trace=1).file.trace["point"].tolist()
    lines = lines_of(made)
    told = [(lines.get(point >> 4), Op(point & 15)) for point in points]
    assert told == [(7, Op.ACQUIRE), (4, Op.RELEASE)]


# Entry points.


def test_every_entry_point_of_the_compilers_is_there():
    folder = subprocess.run(
        ["gcc", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True
    )
    theirs = nm("-D", "--defined-only", library=Path(folder.stdout.strip()).resolve())
    # Its reports, Java, and its own tests; and what a program may define for it.
    not_called = re.compile(
        r"__tsan_(?:java|get_report|get_alloc|get_current_report|testonly|locate|symbolize|on_report"
        r"|default)"
    )
    wanted = {
        name
        for name in theirs
        if name.startswith(("__tsan_", "Annotate")) and not not_called.match(name)
    }
    ours = nm("-g", "--defined-only", library=compiler.folder() / "static" / compiler.LIBRARY)
    assert len(wanted) > 150
    assert sorted(wanted - ours) == []


def test_the_probe_does_not_call_itself():
    """What the program's calls are turned into must not be what the probe's own calls are."""
    used = nm("-u", library=compiler.folder() / "static" / compiler.LIBRARY)
    assert sorted(used & {*compiler.MEMORY, *compiler.TEXTS}) == []


def test_a_function_of_the_program_comes_before_ours(tmp_path):
    source = tmp_path / "names.c"
    source.write_text(
        "#include <stdio.h>\n"
        "int wait(int n) { return n + 1; }\n"
        'void AnnotateHappensBefore(void) { puts("mine"); }\n'
        "int main(void) { AnnotateHappensBefore(); return wait(-1); }\n"
    )
    made = build(tmp_path, str(source))
    assert run(made, "walk", 1)[:2] == (0, "mine\n")


# Ways out.

WAYS = {
    "exit": (3, "end\n"),
    "_exit": (4, ""),
    "quick_exit": (5, "end\n"),
    "return": (2, "end\n"),
    "pthread_exit": (0, "end\n"),
    "abort": (-6, ""),
    "kill": (-15, ""),
    "trap": (-4, ""),
}


def test_every_way_out_leaves_a_run_file(tmp_path):
    made = build(tmp_path, "exits.c")
    for way, expected in WAYS.items():
        for strategy in ("walk", "pct", "free"):
            for also in ((), ("main",)):  # who leaves: a thread, or the first one
                done = run(made, strategy, 1, way, *also)
                assert (done.status, done.output) == expected, (way, strategy, also)
                assert done.file is not None, (way, strategy, also)
    assert run(made, "walk", 1, "trap").file.failures[0].type == "SIGILL"


def test_a_forked_copy_leaves_no_run_file(tmp_path):
    made = build(tmp_path, "forks.c")
    done = run(made, "walk", 1)
    assert len(done.file.threads) == 2
    assert [file.name for file in tmp_path.iterdir()].count("forks.walk-1.run") == 1
    assert [file.name for file in tmp_path.iterdir() if ".tmp" in file.name] == []


@pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")
def test_an_uncaught_exception_is_told_by_its_type(tmp_path):
    build(tmp_path, "throws.cpp")
    done = hunt(tmp_path, "./throws", "--max-runs", "5")
    failure = failure_of(tmp_path)
    assert done.returncode == 1
    assert failure["kind"] == "exception", done.stdout
    assert failure["signature"].startswith("OutOfLuck in"), failure["signature"]


# Other threads.


def hunt(folder, target, *options):
    words = ["hunt", *options, "--json", "answer.json", "--", *target.split()]
    return subprocess.run(
        [sys.executable, "-m", "unsnarl", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def warnings(folder):
    told = json.loads((folder / "answer.json").read_text())["warnings"]
    return {notice["slug"]: notice["message"] for notice in told}


def test_threads_of_a_library_that_is_loaded_late_are_controlled(tmp_path):
    made = build(tmp_path, "loads.c")
    plugin = tmp_path / "plugin.so"
    words = ["gcc", "-shared", "-fPIC", str(PROGRAMS / "plugin.c"), "-o", str(plugin)]
    subprocess.run(words, check=True)
    for strategy in (*GATED, *FREE):
        done = run(made, strategy, 1, str(plugin))
        assert done[:2] == (0, "ok\n"), strategy
        assert done.file.counters["stalls"] == done.file.counters["uncontrolled"] == 0
    assert [thread.path for thread in done.file.threads][3:] != []


def test_foreign_threads_are_told_and_never_green(tmp_path):
    made = build(tmp_path, "foreign.c")
    for strategy in (*GATED, *FREE):
        for seed in SEEDS:
            done = run(made, strategy, seed)
            assert done[:2] == (0, "ok\n"), (strategy, seed)
            paths = {thread.path: thread.controlled for thread in done.file.threads}
            assert set(paths) == {"0", "0.1", "1", "2"}
            assert not (paths["1"] or paths["2"])
    done = hunt(tmp_path, "./foreign", "--max-runs", "6", "--pass", "5")
    assert done.returncode == 4, done.stdout
    assert "2 of 4 threads were not controlled" in warnings(tmp_path)["uncontrolled-threads"]


@pytest.mark.parametrize("count", ["100", "400"])
def test_many_threads_are_counted_right(tmp_path, count):
    made = build(tmp_path, "many.c")
    for strategy in ("walk", "pos", *FREE):
        done = run(made, strategy, 1, count)
        assert done[:2] == (0, f"{count}\n"), strategy
        assert len(done.file.threads) == int(count) + 1
        assert done.file.counters["aliased"] > 0


def test_more_threads_than_ids_or_places_are_told(tmp_path):
    build(tmp_path, "many.c")
    done = hunt(tmp_path, "./many 100", "--max-runs", "5", "--pass", "5")
    assert done.returncode == 0, done.stdout
    assert "more than 64 threads at once" in warnings(tmp_path)["aliased-threads"]
    done = hunt(tmp_path, "./many 1100", "--max-runs", "5")
    assert done.returncode == 3
    assert "1024 threads at once" in done.stderr


# Calls that return errors.


def test_a_call_that_returned_an_error_is_noted_with_its_site(tmp_path):
    """Time-outs among them: in virtual time, so the run takes none."""
    made = build(tmp_path, "refused.c", "-O0")
    done = run(made, "walk", 1)
    assert done[:2] == (0, "ok\n")
    found = {(one.call, one.type, one.thread) for one in done.file.caught}
    ran_out, missing = "0 (its time ran out)", "ENOENT"
    refused = {
        "pthread_mutex_trylock": "EBUSY", "pthread_mutex_timedlock": "ETIMEDOUT",
        "sem_timedwait": "ETIMEDOUT", "mtx_trylock": "thrd_busy", "poll": ran_out,
        "ppoll": ran_out, "select": ran_out, "epoll_wait": ran_out, "open": missing,
        "fopen": missing, "unlink": missing, "write": "EBADF",
    }  # fmt: skip
    expected = {(call, error, "0.1") for call, error in refused.items()}
    expected |= {("pthread_cond_timedwait", "ETIMEDOUT", "0")}
    assert found - {("pthread_timedjoin_np", "ETIMEDOUT", "0")} == expected
    listed = {
        code["base"] + entry[0]
        for code in sites.Program(made).codes()["codes"]
        for entry in code["sites"]
    }
    assert {one.site for one in done.file.caught} <= listed
    assert not plainly(made).status


# Threads that are interchangeable.


def test_threads_that_one_line_starts_to_run_one_function_are_equal(tmp_path):
    threads = run(build(tmp_path, "equals.c"), "walk", 1).file.threads
    main, clerk, second, third, auditor, late = (thread.kind for thread in threads)
    assert clerk == second == third
    assert main == 0
    assert len({clerk, auditor, late}) == 3


def points_of(run_file, path):
    """What a thread accesses, in its order."""
    index = [thread.path for thread in run_file.threads].index(path)
    rows = run_file.trace[run_file.trace["thread"] == index]
    return [point for point in rows["point"].tolist() if point & 15 in (Op.READ, Op.WRITE)]


def test_an_order_of_equal_threads_holds_all_of_them(tmp_path):
    made = build(tmp_path, "equals.c")
    traced = run(made, "walk", 1, trace=True, switch="free").file
    (sets_low, sets_high), (sees_low, sees_high) = (points_of(traced, p) for p in ("0.1", "0.4"))
    clerks, auditor = {"path": "0.1", "equal": True}, {"path": "0.4"}
    rules = [
        {"hold": {"points": [sees_low], **auditor}, "until": {"points": [sets_low], **clerks}},
        {"hold": {"points": [sets_high], **clerks}, "until": {"points": [sees_high], **auditor}},
    ]
    for strategy in GATED:
        for seed in SEEDS:
            done = run(made, strategy, seed, rules=rules, switch="free")
            assert done.output == "wrong\n", (strategy, seed)
            assert [rule.satisfied for rule in done.file.rules] == [1, 1]
