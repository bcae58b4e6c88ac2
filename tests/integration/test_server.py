# SPDX-License-Identifier: Apache-2.0
"""The fork server, driven over its socket, against what plain Python does with the same program."""

import json
import re
import subprocess
import textwrap
from pathlib import Path

import pytest
from tests.integration.interpreters import PYTHON, version
from tests.integration.server_client import Client, environment

from unsnarl.runfile.reader import read_run

pytestmark = pytest.mark.core


@pytest.fixture
def start(tmp_path):
    clients = []

    def make(kind, *args, **files):
        for name, text in files.items():
            path = tmp_path / (name.replace("__in__", "/") + ".py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(text))
        clients.append(Client(tmp_path, kind, *args))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def wait_until_gone(pid):
    """Return once the process is dead; the suite's time limit is the one that fails."""
    state = Path(f"/proc/{pid}/stat")
    try:
        while state.read_text().split()[2] not in "ZX":
            pass
    except (FileNotFoundError, ProcessLookupError):
        pass


def plain(folder, *args):
    """A plain run: its status and its output, both streams into one file as the server does."""
    with (folder / "plain.out").open("w+") as file:
        command = [PYTHON, *args]
        ended = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=environment(),
            check=False,
        )
        file.seek(0)
        return ended.returncode, file.read()


ENDINGS = {
    "returns": "print('hello')",
    "raises": """
        def inner(value):
            print('before')
            return 1 / value
        def outer():
            try:
                {}['key']
            except KeyError:
                inner(0)
        outer()
    """,
    "exits_3": "import sys\nprint('a')\nsys.exit(3)",
    "exits_text": "import sys\nsys.exit('reason')",
    "exits_none": "raise SystemExit",
    "exits_big": "raise SystemExit(259)",
    "is_interrupted": "print('x')\nraise KeyboardInterrupt",
    "leaves": "import os, sys\nsys.stdout.write('y\\n')\nsys.stdout.flush()\nos._exit(9)",
    "aborts": "import os\nos.abort()",
    "is_killed": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "has_hook": """
        import sys
        def hook(kind, value, trace):
            print('hooked', kind.__name__, trace.tb_frame.f_code.co_name)
        sys.excepthook = hook
        raise ValueError('x')
    """,
    "breaks_hook": """
        import sys
        def hook(kind, value, trace):
            raise RuntimeError('in the hook')
        sys.excepthook = hook
        raise ValueError('x')
    """,
    "exits_in_hook": "import sys\nsys.excepthook = lambda *a: sys.exit(5)\nraise ValueError('x')",
    "registers": """
        import atexit, threading
        atexit.register(print, 'atexit')
        said = threading.Event()
        def work():
            said.wait()
            print('thread')
        threading.Thread(target=work).start()
        print('main')
        said.set()
    """,
    "pools": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(2)
        print(sum(pool.map(lambda n: n * n, range(9))))
    """,
    "dies_in_thread": """
        import threading
        def work():
            raise LookupError('lost')
        thread = threading.Thread(target=work, name='worker')
        thread.start()
        thread.join()
        print('main goes on')
    """,
    "cannot_flush": "import sys, os\nprint('x')\nos.close(1)",
    "looks_around": """
        '''doc'''
        import sys
        hidden = ('__loader__', '__builtins__', '__spec__')
        names = {k: v for k, v in globals().items() if k.startswith('__') and k not in hidden}
        print(names, type(__loader__), __builtins__, getattr(__spec__, 'name', __spec__))
        print(sys.argv, sys.path[0], sys.modules['__main__'], sys.orig_argv[1:])
        print(sys.stdin.read(), vars(sys.modules['__main__']) is globals())
    """,
}


@pytest.mark.parametrize("name", sorted(ENDINGS))
def test_a_script_ends_as_it_does_in_plain_python(start, tmp_path, name):
    client = start("script", "./subject.py", "one", "-x", subject=ENDINGS[name])
    status, output = plain(tmp_path, "./subject.py", "one", "-x")
    done = client.run()
    assert client.output() == output
    expected = (128 - status, -status) if status < 0 else (status, 0)
    assert (done["status"], done["signal"]) == expected


@pytest.mark.parametrize("name", ["raises", "exits_3", "looks_around"])
def test_a_module_ends_as_it_does_in_plain_python(start, tmp_path, name):
    files = {"pack__in____init__": "", "pack__in____main__": ENDINGS[name]}
    client = start("module", "pack", "one", **files)
    status, output = plain(tmp_path, "-m", "pack", "one")
    assert client.run()["status"] == status
    assert client.output() == output


def test_a_relative_import_of_a_module_is_made_ahead(start):
    files = {
        "pack__in____init__": "",
        "pack__in__part": "import os\npid = os.getpid()",
        "pack__in__tool": "from .part import pid\nimport os\nprint(pid == os.getppid())",
    }
    client = start("module", "pack.tool", **files)
    client.run()
    assert client.output() == "True\n"


def test_the_server_says_what_it_instrumented(start, tmp_path):
    client = start("script", "a.py", a="import b\nb.box.n += 1", b="class Box: n = 0\nbox = Box()")
    ready = client.first["ready"]
    codes = json.loads((tmp_path / "codes.json").read_text())
    assert ready["modules"] == codes["modules"] == 2
    assert ready["probes"] == codes["probes"] > 0
    assert ready["python"] == version()
    assert ready["threads"] == 0
    assert {code["file"] for code in codes["codes"]} >= {"a.py"}  # relative to the project


def test_code_loaded_after_the_fork_is_noted(start):
    late = "class Box: n = 0\nbox = Box()\ndef add(): box.n += 1"
    client = start("script", "a.py", a="x = 1\nimport late\nlate.add()", late=late)
    client.run()
    run = read_run(client.path(1, "run"))
    assert {Path(code.file).name for code in run.codes} == {"late.py"}
    assert "Box.n" in run.variables.values()


PID = "import os\npid = os.getpid()\n"
SHOW = "import os\nprint(early.pid == os.getppid(), %s.pid == os.getpid())"


def test_imports_at_the_top_are_made_once_and_others_in_the_run(start):
    client = start(
        "script",
        "a.py",
        a="import early\nx = 1\nimport late\n" + SHOW % "late",
        early=PID,
        late=PID,
    )
    client.run()
    assert client.output() == "True True\n"


@pytest.mark.parametrize("bad", ["1 / 0", "raise SystemExit(4)"])
def test_an_import_that_raises_is_left_to_the_run(start, tmp_path, bad):
    files = {"a": "import early\nimport bad", "early": "print('early')", "bad": f"print(1)\n{bad}"}
    client = start("script", "a.py", **files)
    status, output = plain(tmp_path, "a.py")
    assert client.run()["status"] == status
    assert client.output() == output


def test_an_import_that_starts_a_thread_is_left_to_the_run(start):
    bad = PID + "import threading\n"
    bad += "threading.Thread(target=os.read, args=(os.pipe()[0], 1), daemon=True).start()"
    client = start(
        "script", "a.py", a="import early\nimport bad\n" + SHOW % "bad", early=PID, bad=bad
    )
    assert client.first["ready"]["threads"] == 0
    client.run()
    assert client.output() == "True True\n"


def test_what_imports_print_is_in_every_run(start):
    client = start("script", "a.py", a="import early\nprint('run')", early="print('loaded')")
    for number in (1, 2):
        client.run(number)
        assert client.output(number) == "loaded\nrun\n"


def test_the_targets_own_module_wins_over_a_standard_one(start):
    client = start("script", "a.py", a="import queue\nprint(queue.mine)", queue="mine = 'mine'")
    client.run()
    assert client.output() == "mine\n"


def test_random_numbers_follow_the_seed(start):
    client = start("script", "a.py", a="import random\nprint(random.random())")
    client.run(1)
    client.run(2)
    client.run(3, seed=6)
    assert client.output(1) == client.output(2) != client.output(3)


def test_temporary_files_have_the_same_names_in_all_runs(start):
    source = """
        import os, tempfile
        for folder in [tempfile.mkdtemp(), tempfile.mkdtemp()]:
            print(os.path.basename(folder))
            os.rmdir(folder)
    """
    client = start("script", "a.py", a=source)
    client.run(1)
    client.run(2, seed=6)
    assert client.output(1) == client.output(2)
    assert len(set(client.output(1).split())) == 2


def test_an_exception_of_the_main_thread_is_noted(start, tmp_path):
    client = start("script", "subject.py", subject=ENDINGS["raises"])
    client.run()
    (failure,) = client.failures()
    assert (failure.kind, failure.type) == ("exception", "ZeroDivisionError")
    assert failure.message == "division by zero"
    assert failure.thread == "0"
    assert [frame.function for frame in failure.frames] == ["<module>", "outer", "inner"]
    assert failure.frames[-1].file == str(tmp_path / "subject.py")
    assert failure.frames[-1].line == 4
    assert failure.text in client.output()


def test_an_exception_of_a_thread_is_noted_once(start):
    client = start("script", "subject.py", subject=ENDINGS["dies_in_thread"])
    assert client.run()["status"] == 0
    (failure,) = client.failures()
    assert (failure.type, failure.message, failure.thread) == ("LookupError", "lost", "0.1")
    assert [frame.function for frame in failure.frames] == ["work"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("exits_3", "SystemExit"), ("leaves", "os._exit"), ("exits_text", "SystemExit")],
)
def test_a_status_that_the_target_chose_is_noted(start, name, kind):
    client = start("script", "subject.py", subject=ENDINGS[name])
    client.run()
    (failure,) = client.failures()
    assert (failure.kind, failure.type) == ("exit", kind)
    assert failure.frames[-1].function == "<module>"


def test_a_run_that_ends_well_notes_no_failure(start):
    client = start("script", "subject.py", subject=ENDINGS["pools"])
    client.run()
    assert client.failures() == ()


def test_a_deadlock_is_noted_with_everybody_who_waits(start):
    source = """
        import threading
        a, b, both = threading.Lock(), threading.Lock(), threading.Barrier(2)
        def work(first, second):
            with first:
                both.wait()
                with second:
                    pass
        threading.Thread(target=work, args=(a, b), name='one').start()
        threading.Thread(target=work, args=(b, a), name='two').start()
    """
    client = start("script", "subject.py", subject=source)
    assert client.run()["status"] == 96
    (failure,) = client.failures()
    assert failure.kind == "deadlock"
    assert "thread 0.1 waits for a lock held by thread 0.2" in failure.message
    assert "thread 0.2 waits for a lock held by thread 0.1" in failure.message
    assert "Thread one:" in failure.text
    assert "with second:" in failure.text


def test_a_process_that_the_target_forks_is_let_go(start):
    source = """
        import os, threading
        pid = os.fork()
        if pid == 0:
            thread = threading.Thread(target=print, args=('grandchild',))
            thread.start()
            thread.join()
            raise SystemExit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """
    client = start("script", "subject.py", subject=source)
    assert client.run()["status"] == 0
    assert sorted(client.output().split()) == ["7", "grandchild"]
    assert client.failures() == ()


def test_a_process_that_the_target_forks_writes_no_run_file(start, tmp_path):
    source = """
        import os, signal
        pid = os.fork()
        if pid == 0:
            raise SystemExit(7)
        os.waitpid(pid, 0)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    client = start("script", "subject.py", subject=source)
    assert client.run()["signal"] == 9
    assert not Path(client.path(1, "run")).exists()


def test_a_run_past_its_limit_is_killed_with_its_children(start):
    source = """
        import signal, subprocess, sys, time
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        child = subprocess.Popen(['sleep', '600'])
        print(child.pid, flush=True)
        while True:
            pass
    """
    client = start("script", "subject.py", subject=source)
    done = client.run(timeout=2.0)
    assert done["timed_out"] is True
    wait_until_gone(int(client.output()))


def test_a_run_that_nobody_waits_for_is_ended(start):
    source = """
        import signal
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while True:
            pass
    """
    client = start("script", "subject.py", subject=source)
    client.ask(1, timeout=600.0)
    client.send({"cancel": [1, 7]})
    done = client.receive()["done"]
    assert (done["number"], done["signal"], done["timed_out"]) == (1, 9, False)


def test_runs_in_flight_do_not_wait_for_each_other(start, tmp_path):
    source = """
        import os, pathlib, time
        here = pathlib.Path('.')
        (here / f'{os.getpid()}.here').touch()
        while len(list(here.glob('*.here'))) < 2:
            pass
        print('met')
    """
    client = start("script", "subject.py", subject=source)
    client.ask(1)
    client.ask(2)
    numbers = {client.receive()["done"]["number"] for _ in range(2)}
    assert numbers == {1, 2}
    assert client.output(1) == client.output(2) == "met\n"


def test_the_end_of_the_parent_ends_the_runs(start, tmp_path):
    source = "import os\nopen('pid', 'w').write(str(os.getpid()))\nwhile True: pass"
    client = start("script", "subject.py", subject=source)
    client.ask(1)
    pid_file = tmp_path / "pid"
    while not (pid_file.exists() and pid_file.read_text()):
        pass
    assert client.close() == 0
    wait_until_gone(int(pid_file.read_text()))


@pytest.mark.parametrize(
    ("kind", "args", "slug", "text"),
    [
        ("script", ["nowhere.py"], "target-not-found", ""),
        ("script", ["broken.py"], "target-import-failed", "SyntaxError"),
        ("module", ["nowhere"], "target-not-found", ""),
        ("module", ["pack.tool"], "target-import-failed", "ZeroDivisionError"),
        ("pytest", ["nowhere.py"], "collection-failed", "not found"),
        ("pytest", ["broken.py"], "collection-failed", "SyntaxError"),
        ("pytest", ["empty.py"], "no-tests", "no tests ran"),
        ("pytest", ["--no-such-option"], "collection-failed", "no-such-option"),
    ],
)
def test_what_cannot_be_prepared_is_said(start, kind, args, slug, text):
    files = {"broken": "a b", "empty": "", "pack__in____init__": "1 / 0", "pack__in__tool": ""}
    client = start(kind, *args, **files)
    error = client.first["error"]
    assert error["slug"] == slug
    assert text in error["output"]
    assert client.receive() is None


TESTS = """
    import os, threading
    import pytest
    loaded_by = os.getpid()
    @pytest.fixture
    def broken():
        raise OSError('fixture')
    def test_good(capfd, tmp_path):
        os.system('echo from a shell')
        assert capfd.readouterr().out == 'from a shell\\n'
        assert loaded_by == os.getppid()
    def test_assertion():
        print('captured text')
        value = [1, 2]
        assert value == [1, 3]
    def test_setup(broken):
        pass
    def test_thread():
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()
    def test_skip():
        pytest.skip('not now')
    @pytest.mark.xfail
    def test_expected():
        assert False
"""


def test_pytest_runs_what_it_collected_once(start):
    client = start("pytest", "-q", "test_it.py", test_it=TESTS)
    for number in (1, 2):
        assert client.run(number)["status"] == 1
        output = client.output(number)
        assert "E       assert [1, 2] == [1, 3]" in output
        assert "captured text" in output
        assert "PytestUnhandledThreadExceptionWarning" in output
        assert "1 failed, 2 passed, 1 skipped, 1 xfailed, 1 warning, 1 error" in output


def test_a_brief_run_fails_the_same_way_without_its_traceback(start):
    client = start("pytest", "-q", "test_it.py", test_it=TESTS)
    assert client.run(1)["status"] == client.run(2, brief=True)["status"] == 1
    assert "E       assert [1, 2] == [1, 3]" in client.output(1)
    assert "E       assert [1, 2] == [1, 3]" not in client.output(2)
    whole, brief = (
        [(one.kind, one.type, one.message, one.frames) for one in client.failures(number)]
        for number in (1, 2)
    )
    assert whole == brief


def test_failures_under_pytest_are_noted(start):
    client = start("pytest", "-q", "test_it.py", test_it=TESTS)
    client.run()
    notes = client.failures()
    assert [(note.kind, note.type) for note in notes] == [
        ("assertion", "AssertionError"),
        ("exception", "OSError"),
        ("exception", "ZeroDivisionError"),
    ]
    assert notes[0].message.startswith("assert [1, 2] == [1, 3]")
    assert notes[0].frames[-1].function == "test_assertion"
    assert notes[2].thread == "0.1"


def test_captured_output_of_runs_in_flight_is_kept_apart(start):
    test = """
        import os, pathlib
        def test_it(tmp_path_factory):
            here = pathlib.Path('.')
            os.write(1, b'<%d>' % os.getpid())
            (here / f'{os.getpid()}.here').touch()
            while len(list(here.glob('*.here'))) < 2:
                pass
            raise RuntimeError(f'this is {os.getpid()}')
    """
    client = start("pytest", "-q", "test_it.py", test_it=test)
    client.ask(1)
    client.ask(2)
    client.receive()
    client.receive()
    for number in (1, 2):
        (failure,) = client.failures(number)
        pid = failure.message.removeprefix("this is ")
        assert re.findall(r"<(\d+)>", client.output(number)) == [pid]


def test_pytest_that_passes_ends_with_0(start):
    client = start("pytest", "test_it.py::test_good", test_it=TESTS)
    assert client.run()["status"] == 0
    assert client.failures() == ()


def test_values_are_captured_on_demand(start, tmp_path):
    source = """
        import threading
        class Box:
            def __init__(self):
                self.n = 0
                self.lock = threading.Lock()
        box = Box()
        def work():
            with box.lock:
                box.n = box.n + 1
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    """
    client = start("script", "subject.py", subject=source)
    codes = json.loads((tmp_path / "codes.json").read_text())["codes"]
    (work,) = [code for code in codes if code["function"] == "work"]
    sites = {row[1]: work["base"] + row[0] for row in work["sites"] if row[2] == "n"}
    points = [sites["attr_read"] << 4, sites["attr_write"] << 4 | 1]
    assert client.run(capture=points)["status"] == 0
    values = [value[1:] for value in read_run(client.path(1, "run")).notes.values]
    taken = [value for value in values if value[0] in points]
    assert [(value[0], value[2]) for value in taken] == [
        (points[0], "0"),
        (points[1], "1"),
        (points[0], "1"),
        (points[1], "2"),
    ]
    assert {value[4] for value in taken} == {"Box.n"}
    assert all(value[3] == ["Box.lock"] for value in taken)
