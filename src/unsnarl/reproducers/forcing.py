# SPDX-License-Identifier: Apache-2.0
"""How a reproducer forces its orders. This text is part of every exported file (writing.py).

It runs on a plain interpreter, without unsnarl: standard library only, Python 3.11 and later. What
is above the marker is replaced by the reproducer's own values.
"""

import sys

TARGET: "tuple[str, list[str]]" = ("script", [])
OPTIONS: "list[str]" = []
FAILURE = ""
DEADLOCK = False
FAIL_IF = ""
OK_EXIT: "list[int]" = [0]
STDIN = ""
PATIENCE = 2.0
ORDERS: "list[tuple[dict, dict]]" = []  # type: ignore[type-arg]

# ---- how it is forced: the same in every reproducer ----------------------------------------------
#
# The file starts itself once more, as a child, in which the test runs. Before certain instructions
# of the program the child keeps a thread waiting until another thread has done its part. Nothing
# else is changed. (Only where an order is about what a library does with a lock inside of a call,
# locks are made that count who takes them.)

import _thread  # noqa: E402
import difflib  # noqa: E402
import dis  # noqa: E402
import json  # noqa: E402
import linecache  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402
import runpy  # noqa: E402
import subprocess  # noqa: E402
import sysconfig  # noqa: E402
import tempfile  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
import unittest  # noqa: E402

BUG, FIXED, NOT_ESTABLISHED = 1, 0, 2
LONGEST = 20.0  # seconds that a thread is kept waiting at most
LIMIT = 120.0  # seconds for the whole test
STUCK = 0.25  # seconds in one instruction after which a thread counts as waiting in it
FILE = "REPRODUCER_REPORT"  # the variable that makes a process the child
GROUPS = {
    "get": ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"),
    "set": ("STORE_ATTR", "DELETE_ATTR"),
    "load": ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"),
    "store": ("STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "DELETE_GLOBAL", "DELETE_NAME"),
    "item": ("BINARY_SUBSCR", "BINARY_SLICE", "BINARY_OP"),
    "put": ("STORE_SUBSCR", "STORE_SLICE"),
    "remove": ("DELETE_SUBSCR",),
    "next": ("FOR_ITER",),
    "iter": ("GET_ITER",),
    "in": ("CONTAINS_OP",),
    "unpack": ("UNPACK_SEQUENCE", "UNPACK_EX"),
    "enter": ("BEFORE_WITH", "BEFORE_ASYNC_WITH"),
    "exit": ("CALL", "WITH_EXCEPT_START"),
    "call": ("CALL", "CALL_KW", "CALL_FUNCTION_EX"),
}
NAMED = ("get", "set", "load", "store")
# What only moves values about.
IDLE = (
    "PRECALL", "KW_NAMES", "PUSH_NULL", "COPY", "SWAP", "NOP", "RESUME", "CACHE", "EXTENDED_ARG",
    "LOAD_CONST", "LOAD_FAST", "STORE_FAST", "POP_TOP", "RETURN_VALUE", "RETURN_CONST", "END_FOR",
    "JUMP_BACKWARD", "JUMP_FORWARD", "POP_ITER", "NOT_TAKEN", "LOAD_FAST_BORROW", "LOAD_SMALL_INT",
)  # fmt: skip


class Event:
    """Something that a thread does: the `count`-th time that it comes to these instructions."""

    def __init__(self, number, values):
        self.number = number
        self.file, self.function = values["file"], values["function"]
        self.text, self.nth = values["text"], values.get("nth", 0)
        self.what, self.name = values.get("what", ""), values.get("name", "")
        self.columns, self.ends = values.get("columns"), values.get("ends")
        self.thread, self.count = values["thread"], values.get("count", 1)
        self.equal, self.role = values.get("equal", False), values.get("role", 0)
        self.op = values.get("op", "")
        self.found = self.reached = False  # its code is there; a thread came there
        self.happened = threading.Event()

    def instructions(self, code):
        """Where it begins in a code object, and where it ends; empty if it is not in there."""
        rows = [row for row in dis.get_instructions(code) if row.opname not in IDLE]
        line = self._line(code, rows)
        if not line:
            return self._whole_line(code, rows)
        begins = self._on_line(rows, line, self.what, self.columns, code)
        ends = self._on_line(rows, line, "call", self.ends, code) if self.ends else set()
        return begins, ends or begins

    def _line(self, code, rows):
        """The line, by its text; one that is much like it if the program was edited there."""
        lines = sorted({_line(row) for row in rows if self._fits(row, self.what)} - {None})
        same = [line for line in lines if _text(code, line) == self.text]
        return same[min(self.nth, len(same) - 1)] if same else self._alike(code, lines, 0.5)

    def _alike(self, code, lines, least):
        ratios = {n: difflib.SequenceMatcher(None, self.text, _text(code, n)).ratio() for n in lines}
        best = max(ratios, key=ratios.get, default=None)
        return best if best is not None and ratios[best] >= least else None

    def _whole_line(self, code, rows):
        """Of a line that was edited: from its first instruction to its last."""
        line = self._alike(code, sorted({_line(row) for row in rows} - {None}), 0.7)
        offsets = [row.offset for row in rows if line and _line(row) == line]
        return set(offsets[:1]), set(offsets[-1:])

    def _on_line(self, rows, line, what, columns, code):
        here = [row for row in rows if _line(row) == line and self._fits(row, what)]
        if columns:
            indent = len(_source(code, line)) - len(_source(code, line).lstrip())
            exact = [row for row in here if _columns(row, indent) == columns]
            if exact and not what:
                exact = exact[-1:]
            here = exact or ([] if not what else here)
        return {row.offset for row in here}

    def _fits(self, row, what):
        what = "call" if what == "lock" else what
        if what not in GROUPS:
            return True
        return row.opname in GROUPS[what] and (what not in NAMED or row.argval == self.name)

    def is_by(self, thread):
        """Whether it is this thread's to do."""
        if self.role:
            return ROLES.get(self.role) is thread
        return thread.path == self.thread or (self.equal and thread.kind == KINDS.get(self.thread))

    def __str__(self):
        times = f", time {self.count}" if self.count > 1 else ""
        return f"thread {self.thread} at {self.file} in {self.function} [{self.text}]{times}"


def _line(row):
    return row.positions.lineno if row.positions else None


def _columns(row, indent):
    """First and last column, as if the line were not indented; None for an end on another line."""
    at = row.positions
    if at.col_offset is None:
        return None
    end = at.end_col_offset - indent if at.end_lineno == at.lineno else None
    return at.col_offset - indent, end


def _source(code, line):
    return linecache.getline(code.co_filename, line)


def _text(code, line):
    return _source(code, line).strip()


class Order:
    """The thread of `late` waits where it is about to do its part until `early` has happened."""

    def __init__(self, number, early, late):
        self.number, self.early, self.late = number, early, late
        self.state = "not reached"


class Known:
    """A thread: its path (0.2 is the second thread that 0 started), and what it has done."""

    def __init__(self, path, kind=None):
        self.path, self.kind, self.started = path, kind, 0
        self.counts, self.within, self.held = {}, [], False


EVENTS = []
ALL = []
THREADS = {}
ROLES = {}
KINDS = {}
FAILURES = []
WATCHED = {}
NEWS = threading.Lock()


def prepare():
    for number, (early, late) in enumerate(ORDERS, 1):
        pair = Event(2 * number - 1, early), Event(2 * number, late)
        EVENTS.extend(pair)
        ALL.append(Order(number, *pair))


def watched(code):
    """The events in a code object: by instruction, those that begin there and that end there."""
    if code not in WATCHED:
        WATCHED[code] = _find(code)
    return WATCHED[code]


def _find(code):
    function = re.sub(r"(\.<locals>)?\.<(list|dict|set)comp>", "", code.co_qualname)
    begins, ends = {}, {}
    for event in EVENTS:
        path = os.path.abspath(code.co_filename).replace(os.sep, "/")
        if event.function == function and f"/{path}".endswith("/" + event.file):
            first, last = event.instructions(code)
            event.found = event.found or bool(first)
            for offset in first:
                begins.setdefault(offset, []).append(event)
            for offset in last:
                ends.setdefault(offset, []).append(event)
    return (begins, ends) if begins else None


def arrive(frame, offset, table):
    """A thread is about to execute an instruction of the program."""
    me = THREADS.get(threading.get_ident())
    if me is None:
        return
    leave(me, frame)
    begins, ends = table
    come(me, [one for one in begins.get(offset, ()) if not one.op])
    enter(me, frame, [one for one in ends.get(offset, ()) if not one.op])


def come(me, events):
    """A thread is about to do these: it is kept waiting where an order wants it."""
    for event in events:
        event.reached = True
        _take_role(event, me)
        me.counts[event] = me.counts.get(event, 0) + 1
    mine = [one for one in events if me.counts[one] == one.count and one.is_by(me)]
    for order in ALL:
        if order.late in mine:
            keep_waiting(me, order)


def enter(me, key, events):
    """It does them; they have happened when it goes on behind `key`."""
    begun = [one for one in events if me.counts.get(one) == one.count and one.is_by(me)]
    if begun:
        me.within.append((key, begun, time.monotonic()))


def _take_role(event, me):
    """Of threads that are alike, whoever comes first to what a role does has the role."""
    alike = event.thread == me.path or (event.equal and me.kind == KINDS.get(event.thread))
    if event.role and event.role not in ROLES and me not in ROLES.values() and alike:
        ROLES[event.role] = me


def leave(me, key):
    """What began there has ended: its events have happened."""
    for entry in [one for one in me.within if one[0] is key]:
        me.within.remove(entry)
        for event in entry[1]:
            event.happened.set()


def keep_waiting(me, order):
    begin = time.monotonic()
    me.held = True
    while not order.early.happened.wait(0.01):
        now = time.monotonic()
        _wake_after_stuck(now)
        if now - max(begin, WATCH.moved) > PATIENCE or now - begin > LONGEST:
            break
    me.held = False
    order.state = "kept" if order.early.happened.is_set() else "given up"
    tell()


def _wake_after_stuck(now):
    """Who has been within one instruction for long waits in there, maybe for ever."""
    for thread in list(THREADS.values()):
        for _, events, since in list(thread.within):
            if now - since > STUCK and not thread.held:
                for event in events:
                    event.happened.set()


class Watch:
    """Notices when no thread goes on any more."""

    moved = 0.0

    def run(self):
        before, fallen = None, 0.0
        while True:
            time.sleep(0.02)
            frames = sys._current_frames()
            held = {ident for ident, one in list(THREADS.items()) if one.held}
            now = {
                (ident, id(frame), frame.f_lasti)
                for ident, frame in frames.items()
                if ident in THREADS and ident not in held
            }
            if now != before or held:
                fallen = time.monotonic()
            if now != before:
                before, self.moved = now, time.monotonic()
            if time.monotonic() - fallen > PATIENCE + 1 and (DEADLOCK or FAILURES):
                self.stands_still(frames)

    def stands_still(self, frames):
        if not FAILURES:
            rows = [_where(frame) for ident, frame in frames.items() if ident in THREADS]
            FAILURES.append("deadlock: no thread goes on: " + " | ".join(sorted(filter(None, rows))))
        tell()
        sys.stdout.flush()
        os._exit(BUG)


def _where(frame):
    """The innermost line of the program itself."""
    files = {event.file for event in EVENTS}
    while frame is not None:
        path = frame.f_code.co_filename.replace(os.sep, "/")
        if any(path.endswith(file) for file in files):
            return f"{frame.f_code.co_qualname} [{_text(frame.f_code, frame.f_lineno)}]"
        frame = frame.f_back
    return ""


WATCH = Watch()


def tell():
    """For the parent: what became of the orders so far."""
    rows = {
        "states": [one.state for one in ALL],
        "failures": FAILURES,
        "gone": [str(event) for event in EVENTS if not event.found],
        "avoided": [str(event) for event in EVENTS if event.found and not event.reached],
    }
    with NEWS, open(os.environ[FILE], "w", encoding="utf-8") as stream:
        json.dump(rows, stream)


class Lock:
    """A lock that counts who takes it, and gives it back, inside of which call of the program."""

    make = _thread.allocate_lock

    def __init__(self):
        self._real = type(self).make()

    def acquire(self, blocking=True, timeout=-1):
        if self._is_mine():
            return self._real.acquire(blocking, timeout)
        with doing("acquire"):
            return self._real.acquire(blocking, timeout)

    def release(self):
        with doing("release"):
            self._real.release()

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *_):
        self.release()

    def _is_mine(self):
        return False

    def __getattr__(self, name):
        return getattr(self._real, name)


class RLock(Lock):
    make = _thread.RLock

    def _is_mine(self):
        return self._real._is_owned()

    def _acquire_restore(self, state):
        with doing("acquire"):
            self._real._acquire_restore(state)


class doing:
    """What is done to a lock, if an order is about it."""

    def __init__(self, op):
        self.events, self.me = [], THREADS.get(threading.get_ident())
        frame = sys._getframe(2)
        while self.me is not None and frame is not None:
            if is_of_program(frame.f_code):
                table = watched(frame.f_code)
                offsets = [at for at in table[0] if at <= frame.f_lasti] if table else []
                found = table[0][max(offsets)] if offsets else ()
                self.events = [one for one in found if one.op == op and _is_at(one, frame)]
                break
            frame = frame.f_back

    def __enter__(self):
        if self.events:
            come(self.me, self.events)
            enter(self.me, self, self.events)

    def __exit__(self, *_):
        if self.events:
            leave(self.me, self)


def _is_at(event, frame):
    """Whether the frame is within that very instruction, not behind it."""
    rows = [row.offset for row in dis.get_instructions(frame.f_code)]
    begins = event.instructions(frame.f_code)[0]
    return max((at for at in rows if at <= frame.f_lasti), default=-1) in begins


LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib"))


def is_of_program(code):
    """Neither of a library, unless an order is about that, nor of this file."""
    path = code.co_filename.replace(os.sep, "/")
    if any(path.endswith("/" + event.file) for event in EVENTS):
        return True
    packages = {event.file.partition("/")[0] for event in EVENTS if "/" in event.file}
    if any(f"/{one}/" in path for one in packages):
        return True
    return not path.startswith((*LIBRARIES, "<")) and path != __file__


def wrap_locks():
    for module in (_thread, threading):
        for name in ("allocate_lock", "_allocate_lock", "allocate", "Lock"):
            if hasattr(module, name):
                setattr(module, name, Lock)
        for name in ("RLock", "_CRLock"):
            if hasattr(module, name):
                setattr(module, name, RLock)


# How the child sees instructions: sys.monitoring from Python 3.12 on, else sys.settrace.


def trace(frame, what, _):
    table = watched(frame.f_code)
    if what != "call" or table is None:
        return None
    frame.f_trace_opcodes, frame.f_trace_lines = True, False

    def local(frame, what, _):
        me = THREADS.get(threading.get_ident())
        if what == "opcode":
            arrive(frame, frame.f_lasti, table)
        elif me is not None:
            leave(me, frame)
        return local

    return local


def monitor():
    events, tool = sys.monitoring.events, 4
    sys.monitoring.use_tool_id(tool, "reproducer")

    def on_start(code, _):
        if watched(code) is not None:
            sys.monitoring.set_local_events(tool, code, events.INSTRUCTION | events.PY_RETURN)
        return sys.monitoring.DISABLE

    def on_end(code, *_):
        me = THREADS.get(threading.get_ident())
        if me is not None and me.within:
            leave(me, sys._getframe(1))

    sys.monitoring.register_callback(tool, events.PY_START, on_start)
    sys.monitoring.register_callback(
        tool, events.INSTRUCTION, lambda code, at: arrive(sys._getframe(1), at, WATCHED[code])
    )
    for event in (events.PY_RETURN, events.PY_UNWIND):
        sys.monitoring.register_callback(tool, event, on_end)
    sys.monitoring.set_events(tool, events.PY_START | events.PY_UNWIND)


def begin_thread():
    if not hasattr(sys, "monitoring"):
        sys.settrace(trace)


def begin():
    """From here on threads and instructions are counted."""
    THREADS[threading.get_ident()] = Known("0")
    if hasattr(sys, "monitoring"):
        monitor()
    begin_thread()


def wrap_threads():
    """Give every thread its path, in the order of the starts, and note what ends it."""
    def wrap(start):
        def started(function, *rest, **more):
            parent = THREADS.get(threading.get_ident())
            if parent is None:  # before the test has begun
                return start(function, *rest, **more)
            parent.started += 1
            me = Known(f"{parent.path}.{parent.started}", kind_of(function))
            KINDS[me.path] = me.kind

            def run(*arguments, **keywords):
                THREADS[threading.get_ident()] = me
                begin_thread()
                try:
                    return function(*arguments, **keywords)
                finally:
                    THREADS.pop(threading.get_ident(), None)

            return start(run, *rest, **more)

        return started

    for module in (_thread, threading):
        for name in ("start_new_thread", "start_joinable_thread"):
            for word in (name, "_" + name):
                if hasattr(module, word):
                    setattr(module, word, wrap(getattr(module, word)))
    make = threading._make_invoke_excepthook

    def make_hook():
        invoke = make()

        def hook(thread):
            note(sys.exc_info()[1])
            invoke(thread)

        return hook

    threading._make_invoke_excepthook = make_hook


def kind_of(function):
    """Equal for threads that the same code starts to run the same function, and in one pool."""
    thread = getattr(function, "__self__", None)
    target = getattr(thread, "_target", None) or (type(thread).run if thread else function)
    target = getattr(target, "__func__", target)
    code = getattr(target, "__code__", None)
    if getattr(target, "__module__", "") == "concurrent.futures.thread" and thread is not None:
        return ("pool", thread.name.rpartition("_")[0])
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename == threading.__file__:
        frame = frame.f_back
    return (code, frame.f_code, frame.f_lasti)


def note(error):
    if error is not None and not isinstance(error, SystemExit):
        FAILURES.append(f"{type(error).__name__}: {error}".splitlines()[0])
        tell()


def run_pytest(arguments):
    import pytest

    class Plugin:
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session):
            begin()

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(self, item, call):
            outcome = yield
            if outcome.excinfo is None and outcome.get_result().failed and call.excinfo:
                note(call.excinfo.value)

    return pytest.main(["-p", "no:cacheprovider", *arguments], plugins=[Plugin()])


def run_target():
    kind, words = TARGET
    sys.argv = [words[0] if kind != "pytest" else "pytest", *words[1 if kind != "pytest" else 0 :]]
    folder = os.path.dirname(os.path.realpath(words[0])) if kind == "script" else os.getcwd()
    sys.path[0:1] = [] if kind == "pytest" else [folder]
    if kind == "pytest" or (kind == "module" and words[0] == "pytest"):
        return run_pytest(words if kind == "pytest" else words[1:])
    begin()
    if kind == "module":
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(words[0], run_name="__main__")
    return 0


def child():
    prepare()
    _thread.start_new_thread(WATCH.run, ())
    wrap_threads()
    if any(event.op for event in EVENTS):
        wrap_locks()
    tell()
    status = BUG
    try:
        status = run_target()
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        if status and leaving.code is not None and not isinstance(leaving.code, int):
            print(leaving.code, file=sys.stderr)
    except BaseException as error:
        note(error)
        sys.excepthook(type(error), error, error.__traceback__)
    sys.settrace(None)
    look_for_unused()
    tell()
    sys.exit(int(status))


def look_for_unused():
    """Code that no thread came to may be there all the same."""
    files = {getattr(one, "__file__", None) or "" for one in list(sys.modules.values())}
    for file in {*files, *(words for words in TARGET[1] if os.path.isfile(words))}:
        path = os.path.abspath(file).replace(os.sep, "/")
        if not any(not one.found and path.endswith("/" + one.file) for one in EVENTS):
            continue
        with open(file, "rb") as stream:
            pending = [compile(stream.read(), file, "exec", dont_inherit=True)]
        while pending:
            code = pending.pop()
            watched(code)
            pending += [one for one in code.co_consts if hasattr(one, "co_code")]


def run_child():
    """Run the test in a process of its own: status (None for too long), output, report."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "report.json")
        variables = {**os.environ, FILE: file, "PYTHONHASHSEED": "0"}
        command = [sys.executable, *OPTIONS, os.path.abspath(__file__)]
        with open(os.path.join(folder, "output"), "w+", errors="replace") as output:
            process = subprocess.Popen(
                command, env=variables, stdin=subprocess.PIPE, stdout=output, stderr=output
            )
            try:
                process.communicate(STDIN.encode(), timeout=LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
            status = process.wait() if process.poll() is not None else None
            output.seek(0)
            text = output.read()
        try:
            with open(file, encoding="utf-8") as stream:
                return status, text, json.load(stream)
        except (OSError, ValueError):
            return status, text, {"states": [], "gone": [], "avoided": [], "failures": []}


def judge(status, output, report):
    """The exit status of the reproducer, and why."""
    failures, states = report["failures"], report["states"]
    in_words = failures[0] if failures else f"exit status {status}"
    if FAIL_IF and re.search(FAIL_IF, output):
        failures = failures or [in_words := f"the output has {FAIL_IF!r}"]
    failed = bool(failures) or status not in OK_EXIT
    recorded = failed and FAILURE in f"{failures} {output} exit status {status}"
    if recorded or (failed and states and all(one == "kept" for one in states)):
        return BUG, f"the failure is there: {in_words}"
    if failed:
        return NOT_ESTABLISHED, f"the test ended in another way: {in_words}"
    if all(one == "kept" for one in states) and states:
        return FIXED, "every order was kept and the test passed: it does no harm any more"
    if report["gone"]:
        return NOT_ESTABLISHED, "the test passed, but code that the orders are about is gone"
    if "given up" in states:
        return FIXED, "the orders can no longer come about, and the test passed"
    if "kept" in states or report["avoided"]:
        return FIXED, "the program goes another way under these orders, and the test passed"
    return NOT_ESTABLISHED, "the test passed, but no order could be tried"


def main():
    status, output, report = run_child()
    code, why = judge(status, output, report)
    print(output[-4000:].rstrip())
    print("-" * 80)
    for order, state in zip(ORDERS, report["states"], strict=False):
        early, late = (Event(0, one) for one in order)
        print(f"{state}: {early}\n    before {late}")
    for word in ("gone", "avoided"):
        for event in report[word]:
            print(f"{word}: {event}")
    print(f"{ {BUG: 'BUG', FIXED: 'FIXED', NOT_ESTABLISHED: 'NOT ESTABLISHED'}[code] }: {why}")
    return code


def test_interleaving():
    """For pytest: fails while the bug is there."""
    code = main()
    if code == NOT_ESTABLISHED:
        raise unittest.SkipTest("the interleaving could not be established")
    assert code == FIXED, "the bug is there"


if __name__ == "__main__":
    sys.exit(child() if FILE in os.environ else main())
