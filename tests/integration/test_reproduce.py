# SPDX-License-Identifier: Apache-2.0
"""`unsnarl reproduce`: recorded failures of C and Python programs become schedules that fail."""

from __future__ import annotations

import json
import random
import sys

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.integration.in_process import called
from tests.integration.native_programs import build, run
from tests.integration.recorded_bugs import c_bug, python_bug, record, unsnarl

from unsnarl.campaigns import store as stores
from unsnarl.model.record import Record
from unsnarl.recording.clocks import machine, stored
from unsnarl.reproduce.pres.base import ContradictionError
from unsnarl.reproduce.pres.sketch import Sketch
from unsnarl.runfile import RunFileError, read_run
from unsnarl.runfile.amend import read_sections, write_sections
from unsnarl.runfile.layout import Section
from unsnarl.runfile.reader import parse_run


def reproduce(folder, word, *options):
    """The answer, and the exit code.

    How many tries it takes depends on what happened to be recorded (docs/pres.md has figures): here
    there are as many as it takes.
    """
    many = () if "--tries" in options else ("--tries", "1000")
    done = called(folder, "reproduce", "--json", *many, *options, "--", word)
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done.returncode


def check_replays(folder, answer):
    word = f"{answer['campaign']}/{answer['run']}"
    done = called(folder, "replay", "--times", "5", "--json", "--", word)
    assert done.returncode == 1, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert (told["failed"], told["signature"]) == (5, answer["record"]["signature"])


BUGS = [(c_bug, "bank"), (c_bug, "jsstrlen"), (c_bug, "multiorder"),
        (python_bug, "weblech"), (python_bug, "dictiter"), (python_bug, "abba")]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "name", "level"),
    [
        *((*bug, level) for bug in BUGS for level in ("func", "access")),
        *((*bug, level) for bug in (BUGS[0], BUGS[-1]) for level in ("loop", "funcloop")),
    ],
)
def test_recorded_failures_come_back(tmp_path, make, name, level):
    command = make(tmp_path, name)
    word = record(tmp_path, command, "--level", level)
    answer, code = reproduce(tmp_path, word, "--no-explain")
    assert (code, answer["reproduced"]) == (1, True), answer
    # docs/pres.md has at most 3 and 10 tries; ten times as many are no bad luck any more.
    assert answer["tries"] <= (30 if level == "access" else 100)
    assert answer["replays"] == {"failed": 20, "runs": 20}
    check_replays(tmp_path, answer)


ABBA = """\
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int x, y;
static void *forth(void *arg) {
    pthread_mutex_lock(&a);
    x++;
    pthread_mutex_lock(&b);
    y++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return arg;
}
static void *back(void *arg) {
    pthread_mutex_lock(&b);
    y++;
    pthread_mutex_lock(&a);
    x++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return arg;
}
int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, forth, NULL);
    pthread_create(&other, NULL, back, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
"""


def test_what_hung_when_recorded_is_told_as_the_deadlock_that_it_is(tmp_path):
    (tmp_path / "abba.c").write_text(ABBA)
    made = build(tmp_path, str(tmp_path / "abba.c"), "--functions")
    # A slow run must not pass for one that hangs.
    word = record(tmp_path, [str(made)], "--timeout", "5")
    answer, code = reproduce(tmp_path, word, "--no-explain")
    assert (code, answer["reproduced"]) == (1, True), answer
    done = unsnarl(tmp_path, "replay", f"{answer['campaign']}/{answer['run']}")
    assert done.returncode == 1
    assert "deadlock" in done.stdout


@pytest.mark.parametrize("make", [c_bug, python_bug])
def test_one_order_of_all_events_will_do_as_well(tmp_path, make):
    command = make(tmp_path, "aget")
    word = record(tmp_path, command, "--level", "sync", "--order", "global")
    answer, code = reproduce(tmp_path, word, "--no-explain")
    assert (code, answer["reproduced"]) == (1, True), answer
    check_replays(tmp_path, answer)


def test_what_is_found_is_explained_as_by_a_hunt(tmp_path):
    word = record(tmp_path, c_bug(tmp_path, "bank"))
    answer, code = reproduce(tmp_path, word)
    assert code == 1
    (failure,) = answer["report"]["failures"]
    first = failure["findings"][0]
    assert first["status"] == "confirmed"
    told = [(point["line"], point["op"]) for point in first["explanation"]]
    assert {(17, "read"), (17, "write")} <= set(told)  # to->balance += amount
    shown = unsnarl(tmp_path, "show", "1", answer["campaign"])
    assert shown.returncode == 0
    assert "CONFIRMED" in shown.stdout
    minimised = unsnarl(tmp_path, "minimise", "1", answer["campaign"])
    assert minimised.returncode == 0, minimised.stdout + minimised.stderr


def test_the_text_ends_with_the_next_command(tmp_path):
    word = record(tmp_path, python_bug(tmp_path, "weblech"))
    done = unsnarl(tmp_path, "reproduce", "--no-explain", "--tries", "1000", word)
    assert done.returncode == 1
    assert "reproduced in" in done.stdout
    assert "20 of 20 replays" in done.stdout
    assert done.stdout.splitlines()[-1].strip().startswith("next: unsnarl replay")


FLAG = """\
import pathlib, threading

def work():
    pass

thread = threading.Thread(target=work)
thread.start()
thread.join()
assert not pathlib.Path("flag").exists()
"""


def test_what_does_not_come_back_is_told(tmp_path):
    (tmp_path / "script.py").write_text(FLAG)
    (tmp_path / "flag").touch()
    word = record(tmp_path, [sys.executable, "script.py"])
    (tmp_path / "flag").unlink()
    done = unsnarl(tmp_path, "reproduce", "--tries", "4", word)
    assert done.returncode == 4, done.stderr
    assert "not reproduced in 4 tries [not-reproduced]" in done.stdout
    assert "recorded events" in done.stdout
    answer, code = reproduce(tmp_path, word, "--tries", "3")
    assert (code, answer["reproduced"], answer["tries"], answer["run"]) == (4, False, 3, None)


def test_a_run_that_passed_is_refused(tmp_path):
    (tmp_path / "script.py").write_text(FLAG)
    done = unsnarl(tmp_path, "record", "--json", "--", sys.executable, "script.py")
    answer = json.loads(done.stdout)
    refused = unsnarl(tmp_path, "reproduce", f"{answer['campaign']}/1")
    assert refused.returncode == 2
    assert "[record-passed]" in refused.stderr


def test_a_record_cannot_be_replayed_before_it_is_found_back(tmp_path):
    word = record(tmp_path, python_bug(tmp_path, "weblech"))
    done = unsnarl(tmp_path, "replay", word)
    assert done.returncode == 2
    assert f"unsnarl reproduce {word}" in done.stderr


def test_code_that_changed_is_told(tmp_path):
    word = record(tmp_path, python_bug(tmp_path, "weblech"))
    path = tmp_path / "weblech.py"
    path.write_text("import os\n" + path.read_text())
    done = unsnarl(tmp_path, "reproduce", word)
    assert done.returncode == 2
    assert "[code-changed]" in done.stderr


def run_file(folder, word):
    campaign, _, number = word.partition("/")
    return stores.find(folder, campaign) / "runs" / f"{int(number):06d}.run"


def test_damaged_records_are_told(tmp_path):
    word = record(tmp_path, python_bug(tmp_path, "weblech"))
    path = run_file(tmp_path, word)
    whole = path.read_bytes()
    draw = random.Random(6)
    for damage in (whole[:-9], whole[: len(whole) // 2], b"", draw.randbytes(len(whole))):
        path.write_bytes(damage)
        done = unsnarl(tmp_path, "reproduce", word)
        assert done.returncode == 2, done.stdout + done.stderr
        assert "[damaged-run-file]" in done.stderr
    stamps = bytearray(whole)
    record_ = read_run_of(whole).record
    first = whole.find(record_.threads[0].events.tobytes())
    for at in range(record_.events):
        stamps[first + 16 * at : first + 16 * at + 8] = draw.randbytes(7) + b"\0"
    path.write_bytes(stamps)
    done = unsnarl(tmp_path, "reproduce", "--no-explain", "--tries", "2", word)
    assert done.returncode in (1, 2, 4), done.stderr
    assert "internal-error" not in done.stderr


def displaced(sections, draw):
    """Sections with one left out, or with the rows of one in another order or of its size."""
    kind = draw.choice([kind for kind in sections if kind != Section.NOTES and sections[kind][1]])
    size, data = sections[kind]
    rows = [data[at : at + size] for at in range(0, len(data), size)]
    changed = draw.choice([
        None, [], draw.sample(rows, len(rows)), draw.choices(rows, k=len(rows) + 1), rows[:1],
        [draw.randbytes(size) for _ in rows], [b"\xff" * size for _ in rows],
    ])  # fmt: skip
    kept = {other: some for other, some in sections.items() if other != kind}
    return kept if changed is None else {**kept, kind: (size, b"".join(changed))}


@pytest.mark.parametrize(("method", "options"), [("pres", ()), ("clap", ("--values",))])
def test_sections_out_of_place_are_told_or_done_without(tmp_path, method, options):
    word = record(tmp_path, python_bug(tmp_path, "weblech"), "--level", "access", *options)
    path = run_file(tmp_path, word)
    whole, draw = read_sections(path), random.Random(6)
    for _ in range(6):
        write_sections(path, displaced(whole, draw))
        words = ("--with", method, "--no-explain", "--tries", "1", word)
        done = called(tmp_path, "reproduce", *words)
        assert done.returncode in (1, 2, 4), done.stderr
        assert "internal-error" not in done.stderr
        if done.returncode == 2:
            assert "unsnarl: error: " in done.stderr


def test_damaged_clocks_are_named_and_not_the_record(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    word = record(tmp_path, python_bug(tmp_path, "weblech"))
    path = stored.path_for(machine.read())
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    done = unsnarl(tmp_path, "reproduce", word)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "[clocks-damaged]" in done.stderr and str(path) in done.stderr
    assert "unsnarl clocks --again" in done.stderr


def read_run_of(data):
    return parse_run(data)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    return run_file(folder, record(folder, python_bug(folder, "weblech"))).read_bytes()


@given(data=st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_damage_breaks_the_sketch(recorded, data):
    torn = bytearray(recorded)
    for _ in range(data.draw(st.integers(1, 8))):
        torn[data.draw(st.integers(32, len(torn) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = parse_run(bytes(torn)).record
        if found is not None:
            Sketch(found, None)
    except (RunFileError, ContradictionError):
        pass  # told, and that is all


ORDERED = """\
#include <pthread.h>
#include <stdio.h>
int last;
__attribute__((noinline)) static void set(int to) { last = to; }
static void *work(void *arg) { set((int)(long)arg); return NULL; }
int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%d\\n", last);
    return 0;
}
"""


def reordered(found, paths):
    """The same record with the events of some threads moved: in one order, thread by thread."""
    threads = {thread.path: thread for thread in found.threads}
    stamps = iter(range(1, found.events + 1))
    main = threads["0"].events.copy()
    starts = [at for at, event in enumerate(main) if event["point"] & 15 == 5]
    main["stamp"][: starts[-1] + 1] = [next(stamps) for _ in range(starts[-1] + 1)]
    logs = []
    for path in paths:
        events = threads[path].events.copy()
        events["stamp"] = [next(stamps) for _ in events]
        logs.append(msgspec.structs.replace(threads[path], events=events))
    rest = len(main) - starts[-1] - 1
    main["stamp"][starts[-1] + 1 :] = [next(stamps) for _ in range(rest)]
    logs.append(msgspec.structs.replace(threads["0"], events=main))
    how = msgspec.structs.replace(found.how, order="global")
    return Record(how, tuple(sorted(logs, key=lambda one: one.thread)))


@pytest.mark.parametrize("strategy", ["sketch", "walk", "pos"])
def test_the_gate_keeps_to_a_sketch_under_any_strategy(tmp_path, strategy):
    (tmp_path / "ordered.c").write_text(ORDERED)
    made = build(tmp_path, str(tmp_path / "ordered.c"), "--functions")
    done = unsnarl(tmp_path, "record", "--level", "func", "--json", "--", str(made))
    campaign = json.loads(done.stdout)["campaign"]
    found = read_run(run_file(tmp_path, f"{campaign}/1")).record
    for seed, order in enumerate((("0.1", "0.2", "0.3"), ("0.3", "0.1", "0.2"))):
        sketch = Sketch(reordered(found, order), None)
        sketch.write(tmp_path / "sketch")
        again = run(made, strategy, seed + 1, sketch=str(tmp_path / "sketch"), level="func",
                    switch="free")  # fmt: skip
        assert again.output == f"{order[-1][-1]}\n"
        assert again.file.counters["sketch_passed"] == sketch.total
        assert again.file.counters["diverged"] == 0


LOCKED = ORDERED.replace(
    "static void set(int to) { last = to; }",
    """static void set(int to) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    last = to;
    pthread_mutex_unlock(&lock);
}""",
)


def test_a_lock_that_was_not_taken_when_it_was_recorded_is_taken_last(tmp_path):
    # As in a deadlock: what a thread waited for at the end is not in its log.
    (tmp_path / "locked.c").write_text(LOCKED)
    made = build(tmp_path, str(tmp_path / "locked.c"))
    done = unsnarl(tmp_path, "record", "--level", "sync", "--json", "--", str(made))
    campaign = json.loads(done.stdout)["campaign"]
    found = reordered(read_run(run_file(tmp_path, f"{campaign}/1")).record, ("0.1", "0.2", "0.3"))
    logs = list(found.threads)
    logs[1] = msgspec.structs.replace(logs[1], events=logs[1].events[:1])
    Sketch(Record(found.how, tuple(logs)), None).write(tmp_path / "sketch")
    again = run(made, "sketch", 1, sketch=str(tmp_path / "sketch"), level="sync", switch="free")
    assert again.output == "1\n"


def test_an_order_that_cannot_be_is_given_up_and_counted(tmp_path):
    (tmp_path / "ordered.c").write_text(ORDERED)
    made = build(tmp_path, str(tmp_path / "ordered.c"), "--functions")
    done = unsnarl(tmp_path, "record", "--level", "func", "--json", "--", str(made))
    campaign = json.loads(done.stdout)["campaign"]
    found = read_run(run_file(tmp_path, f"{campaign}/1")).record
    turned = found.threads[1].events.copy()
    turned["stamp"] = np.arange(1, len(turned) + 1)  # before it was even started
    main = found.threads[0].events.copy()
    main["stamp"] = np.arange(100, 100 + len(main))
    logs = [
        msgspec.structs.replace(found.threads[0], events=main),
        msgspec.structs.replace(found.threads[1], events=turned),
    ]
    how = msgspec.structs.replace(found.how, order="global")
    Sketch(Record(how, tuple(logs)), None).write(tmp_path / "sketch")
    again = run(made, "sketch", 1, sketch=str(tmp_path / "sketch"), level="func", switch="free")
    assert again.status == 0
    assert again.file.counters["diverged"] > 0


@pytest.mark.parametrize("damage", [b"", b"UNSKETCH", b"UNSKETCH" + bytes(400)])
def test_a_sketch_that_is_none_is_refused(tmp_path, damage):
    (tmp_path / "ordered.c").write_text(ORDERED)
    made = build(tmp_path, str(tmp_path / "ordered.c"), "--functions")
    (tmp_path / "sketch").write_bytes(damage)
    again = run(made, "sketch", 1, sketch=str(tmp_path / "sketch"), level="func", switch="free")
    assert again.status != 0
    assert again.file is None
