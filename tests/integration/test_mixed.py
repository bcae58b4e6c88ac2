# SPDX-License-Identifier: Apache-2.0
"""Instrumented libraries: in Python as extensions, in programs, and where nobody looks."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest
from tests.integration.compiling import FAMILIES
from tests.integration.native_programs import PROGRAMS

from unsnarl.probes.native import build_record, compiler

QUICK = ("--no-confirm",)

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")

EXTENSION = r"""
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static long total;
static int is_open = 1;

static void add(void) {
#ifdef FIXED
    pthread_mutex_lock(&guard);
#endif
    long seen = total;
    total = seen + 1; /* add */
#ifdef FIXED
    pthread_mutex_unlock(&guard);
#endif
}
static void use(void) {
    assert(is_open); /* use */
}
static void shut(void) {
    is_open = 0;
}
static void lock_both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}
static void there(void) {
    lock_both(&guard, &other);
}
static void back(void) {
    lock_both(&other, &guard);
}

#define RELEASED(name)                                                                            \
    static PyObject *py_##name(PyObject *self, PyObject *unused) {                                \
        Py_BEGIN_ALLOW_THREADS name();                                                            \
        Py_END_ALLOW_THREADS Py_RETURN_NONE;                                                      \
    }
RELEASED(add)
RELEASED(use)
RELEASED(shut)
RELEASED(there)
RELEASED(back)

static PyObject *add_held(PyObject *self, PyObject *unused) {
    add();
    Py_RETURN_NONE;
}
static PyObject *get(PyObject *self, PyObject *unused) {
    return PyLong_FromLong(total);
}
static void *run(void *callback) {
    PyGILState_STATE state = PyGILState_Ensure();
    Py_XDECREF(PyObject_CallNoArgs(callback));
    PyGILState_Release(state);
    return NULL;
}
static PyObject *team(PyObject *self, PyObject *callback) {
    pthread_t threads[2];
    Py_BEGIN_ALLOW_THREADS
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, callback);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

#define ROW(name) {#name, py_##name, METH_NOARGS, ""}
static PyMethodDef methods[] = {
    ROW(add), ROW(use), ROW(shut), ROW(there), ROW(back),
    {"add_held", add_held, METH_NOARGS, ""}, {"get", get, METH_NOARGS, ""},
    {"team", team, METH_O, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "store", "", -1, methods};
PyMODINIT_FUNC PyInit_store(void) { return PyModule_Create(&module); }
"""

# Threads and waiting of the standard library, which is not instrumented.
LANE = r"""
#include <Python.h>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex guard;
static std::condition_variable changed;
static bool ready;
static long total;

static void add() {
    std::unique_lock<std::mutex> lock(guard);
    changed.wait(lock, [] { return ready; });
    lock.unlock();
    long seen = total;
    total = seen + 1;
}
static PyObject *run(PyObject *, PyObject *) {
    Py_BEGIN_ALLOW_THREADS
    std::thread one(add), two(add);
    {
        std::lock_guard<std::mutex> lock(guard);
        ready = true;
    }
    changed.notify_all();
    one.join();
    two.join();
    Py_END_ALLOW_THREADS
    return PyLong_FromLong(total);
}
static PyMethodDef methods[] = {{"run", run, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "lane", "", -1, methods};
PyMODINIT_FUNC PyInit_lane(void) { return PyModule_Create(&module); }
"""

# Two threads; what they call is named on the command line.
DRIVER = """
import sys
import threading


def main(names):
    import store  # when the run is under way

    threads = [threading.Thread(target=getattr(store, name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return store.get()


print(main(sys.argv[1:]))
"""

CHECK = """
import store
import threading


def work():
    store.add()


threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
total = store.get()
assert total == 2, total
"""

FLAG = """
import threading

import store


class Door:
    def __init__(self):
        self.shut = False


door = Door()


def enter():
    if not door.shut:  # look
        store.use()


def close():
    door.shut = True  # shut
    store.shut()


threads = [threading.Thread(target=enter), threading.Thread(target=close)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

TEAM = """
import store

total = 0


def add():
    global total
    seen = total
    str(seen)
    total = seen + 1


store.team(add)
assert total == 2, total
"""

# A free run in this very process, after the main thread has been in the library's code.
FREE = """
import _thread
import sys
from array import array

import store
from unsnarl import _core
from unsnarl.probes.binaries import finding, libraries
from unsnarl.runfile import read_run

store.add()
found = libraries.Libraries(finding.loaded(), 100, 0)
dump = {"modules": 0, "probes": 0, "codes": [], "watermark": 100}
lines = array("I", range(found.limit))
found.add_to(dump)
found.add_lines(lines, dump)
_core.set_modules(found.modules)
_core.set_first_sites(lines)
_core.begin_run({"strategy": "free", "file": "run", "site_limit": found.limit})
thread, ended = _core.thread_new("other", False), _thread.allocate_lock()
ended.acquire()
store.add()


def work():
    _core.thread_begin(thread)
    store.add()
    _core.thread_end()
    ended.release()


_thread.start_new_thread(work, ())
ended.acquire()
store.get()
_core.finish_run()
functions = {code["base"]: code["function"] for code in dump["codes"]}
for edge in read_run("run").edges:
    site = int(edge["sink_point"]) >> 4
    print(functions[max(base for base in functions if base <= site)])
"""

# Threads that no probe sees start or end.
FOREIGN = """
import ctypes

libc = ctypes.CDLL(None)
total = [0]


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def work(_):
    total[0] += 1
    return None


handles = [ctypes.c_ulong() for _ in range(2)]
for handle in handles:
    libc.pthread_create(ctypes.byref(handle), None, work, None)
for handle in handles:
    libc.pthread_join(handle, None)
"""

SHOP = """
static long stock;
void take(long n) {
    long seen = stock;
    stock = seen - n; /* take */
}
void fill(long n) { stock = n; }
long left(void) { return stock; }
"""

MAIN = """
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#ifdef LATE
static void (*take)(long), (*fill)(long);
static long (*left)(void);
static void open_shop(void) {
    void *shop = dlopen("./libshop.so", RTLD_NOW);
    take = (void (*)(long))dlsym(shop, "take");
    fill = (void (*)(long))dlsym(shop, "fill");
    left = (long (*)(void))dlsym(shop, "left");
}
#else
void take(long n);
void fill(long n);
long left(void);
static void open_shop(void) {}
#endif
static void *buy(void *arg) {
    take(1);
    return arg;
}
int main(void) {
    pthread_t threads[2];
    open_shop();
    fill(10);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, buy, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(left() == 8);
    return 0;
}
"""


def run(folder, *command, **more):
    env = os.environ | more
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env)


def unsnarl(folder, *arguments, **more):
    return run(folder, sys.executable, "-m", "unsnarl", *arguments, **more)


def hunt(folder, *command, runs="150", switch="gil", more=(), status=None):
    wanted = ("--fail", "10", "--pass", "10", "--confirm", "1")
    options = (*more, *wanted, "--max-runs", runs, "--switch", switch)
    done = unsnarl(folder, "hunt", *options, "--seed", "5", "--json", "answer.json", "--", *command)
    assert done.returncode in ({0, 1} if status is None else {status}), done.stdout + done.stderr
    return json.loads((folder / "answer.json").read_text())


def built(folder, *arguments, verb="cc"):
    # That a program cannot be built once more saves its hunts the search for a patch.
    done = unsnarl(folder, verb, "-O1", *arguments, **{build_record.VARIABLE: "0"})
    assert done.returncode == 0, done.stderr


def extension(folder, *flags):
    (folder / "store.c").write_text(EXTENSION)
    include = sysconfig.get_path("include")
    built(folder, "-shared", "-fPIC", f"-I{include}", *flags, "store.c", "-o", "store.so")
    for name, text in (("driver", DRIVER), ("check", CHECK), ("flag", FLAG), ("team", TEAM)):
        (folder / f"{name}.py").write_text(text)
    return folder


def shop(folder):
    (folder / "shop.c").write_text(SHOP)
    (folder / "main.c").write_text(MAIN)
    built(folder, "-shared", "-fPIC", "shop.c", "-o", "libshop.so")
    return folder


def places(points):
    return {(point["file"], point["function"], point["line"]) for point in points}


def line_of(text, mark):
    return next(i for i, line in enumerate(text.splitlines(), 1) if mark in line)


def test_a_lost_update_in_an_extension_is_proved_in_both_languages(tmp_path):
    folder = extension(tmp_path)
    (failure,) = hunt(folder, "check.py")["failures"]
    finding = failure["findings"][0]
    assert finding["status"] == "confirmed"
    assert finding["variables"] == ["total"]
    told = places(finding["explanation"])
    assert ("store.c", "add", line_of(EXTENSION, "/* add */")) in told
    assert {file for file, *_ in told} == {"store.c", "check.py"}
    replayed = unsnarl(folder, "replay", failure["run"].lstrip("0"), "--times", "10")
    assert "10 of 10" in replayed.stdout, replayed.stdout + replayed.stderr


def test_its_fixed_twin_is_quiet(tmp_path):
    report = hunt(extension(tmp_path, "-DFIXED"), "check.py", runs="60")
    assert report["runs"] == {"total": 60, "pass": 60, "fail": 0, "hang": 0}


def test_a_check_in_python_and_a_state_in_c_are_one_finding(tmp_path):
    (failure,) = hunt(extension(tmp_path), "flag.py", more=QUICK)["failures"]
    assert failure["kind"] == "assertion"
    assert failure["signature"].startswith("assert in store.c:use [assert(is_open);")
    told = [places(one["explanation"]) for one in failure["findings"]]
    assert any({file for file, *_ in one} == {"store.c", "flag.py"} for one in told), told


def test_code_that_holds_the_interpreters_lock_is_not_interrupted(tmp_path):
    folder = extension(tmp_path)
    (folder / "held.py").write_text(CHECK.replace("store.add()", "store.add_held()"))
    assert hunt(folder, "held.py", runs="60")["runs"]["fail"] == 0
    assert hunt(folder, "held.py", switch="free", more=QUICK)["runs"]["fail"] > 0


def test_a_deadlock_of_an_extensions_mutexes(tmp_path):
    report = hunt(extension(tmp_path), "driver.py", "there", "back", more=QUICK)
    (failure,) = report["failures"]
    assert failure["kind"] == "deadlock"
    (finding,) = [one for one in failure["findings"] if one["rank"] == 1]
    assert {file for file, *_ in places(finding["explanation"])} == {"store.c"}


def test_threads_that_c_makes_run_python_under_the_gate(tmp_path):
    report = hunt(extension(tmp_path), "team.py")
    assert report["instrumented"]["threads_controlled"] == 3
    (failure,) = report["failures"]
    assert failure["findings"][0]["status"] == "confirmed"


@pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")
def test_an_extension_in_cxx_with_threads_of_its_own(tmp_path):
    (tmp_path / "lane.cpp").write_text(LANE)
    (tmp_path / "main.py").write_text("import lane\n\nassert lane.run() == 2\n")
    flags = ("-shared", "-fPIC", f"-I{sysconfig.get_path('include')}")
    built(tmp_path, *flags, "lane.cpp", "-o", "lane.so", verb="c++")
    assert run(tmp_path, sys.executable, "main.py").returncode == 0
    report = hunt(tmp_path, "main.py", more=QUICK)
    assert report["instrumented"]["threads_controlled"] == 3
    assert report["runs"]["hang"] == 0 < report["runs"]["fail"]
    (failure,) = report["failures"]
    assert failure["findings"][0]["variables"] == ["total"]


@pytest.mark.parametrize("family", FAMILIES)
def test_an_extension_with_c11_threads_and_a_pipe(tmp_path, monkeypatch, family):
    """Both compilers; all that its threads wait for is known to the gate."""
    for name, value in FAMILIES[family].items():
        monkeypatch.setenv(name, value)
    (tmp_path / "main.py").write_text("import relay\n\nassert relay.run() == 2\n")
    flags = ("-shared", "-fPIC", f"-I{sysconfig.get_path('include')}")
    built(tmp_path, *flags, str(PROGRAMS / "relay.c"), "-o", "relay.so")
    assert run(tmp_path, sys.executable, "main.py").returncode == 0
    report = hunt(tmp_path, "main.py", more=QUICK)
    assert report["instrumented"]["threads_controlled"] == 3
    assert report["runs"]["hang"] == 0 < report["runs"]["fail"]
    assert {one["slug"] for one in report["warnings"]} <= {"budget-out"}
    (failure,) = report["failures"]
    assert failure["findings"][0]["variables"] == ["total"]


def test_threads_that_nobody_saw_start_are_told_of(tmp_path):
    (tmp_path / "foreign.py").write_text(FOREIGN)
    report = hunt(tmp_path, "foreign.py", runs="10", status=4)
    assert report["runs"] == {"total": 10, "pass": 10, "fail": 0, "hang": 0}
    assert "uncontrolled-threads" in {one["slug"] for one in report["warnings"]}


def test_a_free_run_sees_the_library(tmp_path):
    folder = extension(tmp_path)
    done = run(folder, sys.executable, "-c", FREE)
    assert done.stderr == ""
    assert set(done.stdout.split()) == {"add", "get"}


def test_an_extension_works_without_unsnarl(tmp_path):
    done = run(extension(tmp_path), sys.executable, "driver.py", "add", "add_held", "use", "there")
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


@pytest.mark.parametrize("flags", [("-L.", "-lshop", "-Wl,-rpath,$ORIGIN"), ("-DLATE", "-ldl")])
def test_a_program_and_its_library_are_one_target(tmp_path, flags):
    folder = shop(tmp_path)
    built(folder, "-pthread", "main.c", "-o", "main", *flags)
    assert run(folder, "./main").returncode == 0
    (failure,) = hunt(folder, "./main")["failures"]
    finding = failure["findings"][0]
    assert finding["status"] == "confirmed"
    assert finding["variables"] == ["stock"]
    told = places(finding["explanation"])
    assert ("shop.c", "take", line_of(SHOP, "/* take */")) in told
    assert finding["fix"]["from"]["file"] == "shop.c"
    assert failure["signature"].startswith("assert in main.c:main [assert(left() == 8);")


def test_a_library_from_elsewhere_has_to_be_named(tmp_path):
    folder, elsewhere = tmp_path / "here", tmp_path / "there"
    for one in (folder, elsewhere):
        one.mkdir()
    shop(elsewhere)
    (folder / "pyproject.toml").touch()
    (folder / "main.c").write_text(MAIN.replace("./libshop.so", "../there/libshop.so"))
    built(folder, "-pthread", "-DLATE", "main.c", "-o", "main", "-ldl")
    report = hunt(folder, "./main", runs="20", more=QUICK)
    (warning,) = [one for one in report["warnings"] if one["slug"] == "library-not-listed"]
    assert "libshop.so" in warning["message"]
    report = hunt(folder, "./main", more=("--include", "../there/libshop.so", *QUICK))
    assert report["failures"][0]["findings"][0]["variables"] == ["stock"]


def test_a_library_works_in_a_program_built_otherwise(tmp_path):
    folder = shop(tmp_path)
    flags = ("-pthread", "-L.", "-lshop", "-Wl,-rpath,$ORIGIN")
    assert run(folder, "gcc", "main.c", "-o", "main", *flags).returncode == 0
    done = run(folder, "./main")
    assert (done.returncode, done.stderr) == (0, "")


# Of what a program has from the probe: the heap, handlers of signals, C++'s guards, annotations,
# and what the compiler itself calls.
NOT_WRAPPED = re.compile(
    r"(?:[mc]alloc|realloc(?:array)?|free|memalign|aligned_alloc|posix_memalign|sigaction|signal)$"
    r"|_Zn[aw]|_Zd[al]|__cxa_guard_|(?:WTF)?Annotate|RunningOnValgrind$|ThreadSanitizerQuery$"
    r"|uns_|__tsan_|__sanitizer_cov_trace_pc$|__wrap_|DW\.ref\."
)


def test_all_stand_ins_are_wrapped_in_libraries():
    archive = compiler.folder() / "static" / compiler.LIBRARY
    listed = run(archive.parent, "nm", "-g", "--defined-only", archive).stdout.splitlines()
    names = {line.split()[2] for line in listed if len(line.split()) == 3}
    stand_ins = {name for name in names if not NOT_WRAPPED.match(name)}
    wraps = (compiler.folder() / compiler.INTERCEPTORS).read_text().split()
    assert {f"--wrap={name}" for name in stand_ins} == set(wraps)
    assert {f"__wrap_{name}" for name in stand_ins} <= names


def test_nothing_of_the_runtime_is_found_in_a_program(tmp_path):
    folder = shop(tmp_path)
    built(folder, "-pthread", "main.c", "-o", "main", "-L.", "-lshop", "-Wl,-rpath,$ORIGIN")
    found = run(folder, "nm", "-D", "--defined-only", "main").stdout
    assert "__tsan_read8" in found
    assert "uns_" not in found
