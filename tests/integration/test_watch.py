# SPDX-License-Identifier: Apache-2.0
"""Programs under watch: what bursts see, and what they survive."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import dedent
from typing import ClassVar

import pytest

from unsnarl.anomalies import baseline
from unsnarl.anomalies.analyst import Analyst
from unsnarl.anomalies.baseline import GraphBaseline
from unsnarl.anomalies.observed import rows
from unsnarl.model import anomaly
from unsnarl.runfile import read_run

PROGRAM = """
    import os, sys, threading, time
    import unsnarl.watch

    class Box:
        def __init__(self):
            self.count = 0
            self.items = {}

        def put(self, number):
            self.items[number % 5] = number
            self.count += 1

        def get(self, number):
            return self.items.get(number % 5), self.count

    def work(box, stop):
        number = 0
        while not stop.is_set():
            number += 1
            box.put(number)
            box.get(number)

    def busy(until):
        # Short turns: it is no matter of luck whether a thread reads what the other one wrote.
        sys.setswitchinterval(1e-5)
        box, stop = Box(), threading.Event()
        threads = [threading.Thread(target=work, args=(box, stop)) for _ in range(2)]
        for one in threads:
            one.start()
        until()
        stop.set()
        for one in threads:
            one.join()

    def bursts():
        found = unsnarl.watch._watcher
        return found[0].bursts if found else 0

    def until_bursts(wanted):
        limit = time.monotonic() + 60
        while bursts() < wanted and time.monotonic() < limit:
            time.sleep(0.01)
"""
START = """
    unsnarl.watch.start(
        program="box", budget=0.9, short_lived=True, spool="spool", analyst=False, **MORE
    )
"""


def write(folder: Path, body: str, **more: object) -> Path:
    file = folder / "box.py"
    start = dedent(START).replace("**MORE", f"**{more!r}")
    file.write_text(dedent(PROGRAM) + start + dedent(body))
    return file


def run(
    folder: Path, body: str, prefix: tuple[str, ...] = (), **more: object
) -> subprocess.CompletedProcess[str]:
    command = [*prefix, sys.executable, write(folder, body, **more).name]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


def look(folder: Path) -> Analyst:
    analyst = Analyst(folder / "spool")
    analyst.look()
    return analyst


def test_bursts_see_what_threads_share(tmp_path: Path) -> None:
    body = "busy(lambda: until_bursts(12)); print(bursts())"
    done = run(tmp_path, body)
    assert done.returncode == 0 and int(done.stdout) >= 12 and not done.stderr
    found = Analyst(tmp_path / "spool").look()
    (batch,) = found.batches
    names = {(one.function, one.op) for each in batch.anomalies for one in each.points}
    assert {("Box.put", "write"), ("Box.get", "read")} <= names
    assert batch.program.name == "box" and batch.bursts == found.bursts
    (file,) = (tmp_path / "spool" / "anomalies").glob("*.json")
    assert anomaly.decoded(file.read_bytes()) == batch


def test_functions_have_their_own_code_between_bursts(tmp_path: Path) -> None:
    body = """
    before = Box.put.__code__, work.__code__
    busy(lambda: until_bursts(12))
    unsnarl.watch.stop()
    assert (Box.put.__code__, work.__code__) == before
    assert Box.put.__code__ is before[0]
    """
    done = run(tmp_path, body)
    assert (done.returncode, done.stderr) == (0, "")


def test_functions_that_are_made_in_a_burst_lose_their_probes(tmp_path: Path) -> None:
    body = """
    made = []

    def maker(stop):
        while not stop.is_set():
            value = [0]
            def closure():
                value[0] += 1
                return value
            closure()
            made.append(closure)
            del made[:-5]

    stop = threading.Event()
    thread = threading.Thread(target=maker, args=(stop,))
    thread.start()
    until_bursts(12)
    unsnarl.watch.stop()
    stop.set()
    thread.join()
    own = [one for one in maker.__code__.co_consts if hasattr(one, "co_name")]
    maker(stop := type("", (), {"is_set": lambda self: len(made) >= 5})())
    assert all(one.__code__ is own[0] for one in made[-1:]), made
    """
    done = run(tmp_path, body)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_the_baseline_has_is_no_anomaly(tmp_path: Path) -> None:
    run(tmp_path, "busy(lambda: until_bursts(12))")
    analyst = look(tmp_path)
    points = analyst.spool.points
    edges = set()
    for one in analyst.spool.observations.values():
        edges |= {edge for edge, _ in rows(one.edges, points)}
    file = tmp_path / "baseline.json"
    file.write_bytes(GraphBaseline(edges).encoded())
    settings = {"format": 1, "baseline": str(file)}
    (tmp_path / "spool" / "watch.json").write_text(json.dumps(settings))
    found = Analyst(tmp_path / "spool").look()
    assert found.bursts >= 6 and not found.suspects and not found.batches


def test_one_missing_edge_is_the_only_new_pair(tmp_path: Path) -> None:
    run(tmp_path, "busy(lambda: until_bursts(12))")
    analyst = look(tmp_path)
    points = analyst.spool.points
    edges = {
        edge
        for one in analyst.spool.observations.values()
        for edge, _ in rows(one.edges, points)
        if not (edge[0].text.startswith("self.count") and edge[1].function == "Box.get")
    }
    file = tmp_path / "baseline.json"
    file.write_bytes(GraphBaseline(edges).encoded())
    settings = {"format": 1, "baseline": str(file)}
    (tmp_path / "spool" / "watch.json").write_text(json.dumps(settings))
    first = Analyst(tmp_path / "spool").look().suspects[0]
    assert first.is_new_pair
    functions = [points.anchors[one].function for one in first.pair]
    assert functions == ["Box.put", "Box.get"]


def test_a_program_survives_a_disk_without_room(tmp_path: Path) -> None:
    body = """
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    busy(lambda: time.sleep(3))
    print("done")
    """
    done = run(tmp_path, body)
    assert done.returncode == 0 and done.stdout == "done\n"
    assert "[watch-stopped]" in done.stderr and done.stderr.count("\n") == 1
    assert not [*(tmp_path / "spool" / "bursts").glob("*.run")]


def test_a_spool_that_cannot_be_made_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file")
    done = run(tmp_path, "busy(lambda: None); print('done')")
    assert done.returncode == 0 and done.stdout == "done\n"
    assert "[watch-stopped]" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"{}", b'{"version":1,"kind":"communication","po'])
def test_a_damaged_baseline_is_a_warning(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "b.json").write_bytes(content)
    done = run(tmp_path, "busy(lambda: until_bursts(12)); print('done')", baseline="b.json")
    assert done.returncode == 0 and done.stdout == "done\n"
    assert "[bad-baseline]" in done.stderr
    assert "no baseline" in look(tmp_path).problem


def test_copies_of_the_process_are_watched_by_themselves(tmp_path: Path) -> None:
    body = """
    def child():
        busy(lambda: until_bursts(12))
        unsnarl.watch.stop()
        os._exit(bursts() == 0 and 7)

    def fork():
        for _ in range(3):
            pid = os.fork()
            if not pid:
                child()
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    busy(fork)
    """
    done = run(tmp_path, body)
    assert (done.returncode, done.stderr) == (0, "")
    names = {file.name.partition("-")[0] for file in (tmp_path / "spool/bursts").glob("*.run")}
    assert len(names) >= 3


def test_a_fork_in_a_burst_leaves_a_copy_without_probes(tmp_path: Path) -> None:
    body = """
    own = Box.put.__code__
    def fork():
        for number in range(40):
            pid = os.fork()
            if not pid:
                unsnarl.watch.stop()
                Box().put(1)
                os._exit(0 if Box.put.__code__ is own else 9)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    busy(lambda: (until_bursts(12), fork()))
    """
    done = run(tmp_path, body)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("way", ["return", "exit", "terminate", "kill"])
def test_a_program_may_end_at_any_time(tmp_path: Path, way: str) -> None:
    ends = {
        "return": "time.sleep(float(sys.argv[1]))",
        "exit": "(time.sleep(float(sys.argv[1])), os._exit(5))",
    }
    sleep = ends.get(way, "time.sleep(60)")
    file = write(tmp_path, f"print('ready', flush=True)\nbusy(lambda: {sleep})")
    draw = random.Random(way)
    for _ in range(6):
        seconds = draw.uniform(0.1, 0.6)
        command = [sys.executable, file.name, str(seconds)]
        with subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            if way in ("terminate", "kill"):
                threading.Event().wait(seconds)
                process.send_signal(signal.SIGTERM if way == "terminate" else signal.SIGKILL)
            _, errors = process.communicate(timeout=60)
            expected = {"return": 0, "exit": 5, "terminate": -signal.SIGTERM, "kill": -9}[way]
            assert (process.returncode, errors) == (expected, "")
    for burst in (tmp_path / "spool" / "bursts").glob("*.run"):
        read_run(burst)  # whole, or not there


def test_tracebacks_and_status_are_those_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "import sys\n\ndef fail():\n    raise KeyError(sys.argv[1:], __name__)\n\nfail()\n"
    )
    plain = [sys.executable, "bad.py", "a b"]
    unsnarl = [sys.executable, "-m", "unsnarl", "watch", "--spool", "spool", "--", *plain]
    one, other = (
        subprocess.run(each, cwd=tmp_path, capture_output=True, text=True, check=False)
        for each in (plain, unsnarl)
    )
    assert (one.returncode, one.stderr) == (other.returncode, other.stderr)


def test_a_program_that_never_imports_threading_ends(tmp_path: Path) -> None:
    # Whoever imports it first is its main thread, for which the interpreter waits.
    (tmp_path / "quiet.py").write_text(
        "import _thread, time\n_thread.start_new_thread(time.sleep, (9,))\ntime.sleep(1)\n"
        "import threading\n"
        "assert threading.current_thread() is threading.main_thread()\n"
    )
    plain = [sys.executable, "quiet.py"]
    command = [sys.executable, "-m", "unsnarl", "watch", "--spool", "spool", "--", *plain]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_sitecustomize_of_the_program_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("import builtins; builtins.own = 1\n")
    (tmp_path / "show.py").write_text(
        "import sys, unsnarl.watch\nprint(own, len(unsnarl.watch._watcher))\n"
    )
    command = [sys.executable, "-m", "unsnarl", "watch", "--", sys.executable, "show.py"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "own")}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 1\n", "")


class Endpoint(BaseHTTPRequestHandler):
    """Answers as it is asked to, and keeps what it got."""

    answers: ClassVar[list[int]] = []
    got: ClassVar[list[tuple[str, str | None, bytes]]] = []

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((self.path, self.headers["Authorization"], data))
        self.send_response(self.answers.pop(0) if self.answers else 202)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def endpoint(*answers: int) -> Iterator[str]:
    Endpoint.answers, Endpoint.got = list(answers), []
    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/base/"
        server.shutdown()
        thread.join()


def test_batches_are_sent_with_the_token_until_they_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    run(tmp_path, "busy(lambda: until_bursts(12))")
    with endpoint(503) as url:
        settings = {"format": 1, "endpoint": url, "token_file": str(tmp_path / "token")}
        (tmp_path / "spool" / "watch.json").write_text(json.dumps(settings))
        analyst = look(tmp_path)
        assert analyst.sender.send(analyst.spool) == 0 and "503" in analyst.sender.problem
        assert analyst.sender.send(analyst.spool) == 0, "it waits before it tries once more"
        analyst.sender.not_before = 0
        assert analyst.sender.send(analyst.spool) == 1
        assert analyst.sender.send(analyst.spool) == 0, "and never sends it twice"
    (first, second) = Endpoint.got
    assert first == second and first[:2] == ("/base/v1/anomalies", "Bearer secret")
    assert anomaly.decoded(first[2]).program.name == "box"


def test_a_dead_endpoint_costs_nothing_but_the_sending(tmp_path: Path) -> None:
    with endpoint() as url:
        pass
    done = run(tmp_path, "busy(lambda: until_bursts(12)); print('done')", endpoint=url)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    analyst = look(tmp_path)
    assert analyst.sender.send(analyst.spool) == 0
    assert "cannot be reached" in analyst.sender.problem
    assert [*analyst.spool.unsent()]


def test_a_baseline_is_collected_and_joined(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import threading\nclass Box:\n    total = 0\nbox = Box()\ndef add():\n"
        "    box.total += 1\nthreads = [threading.Thread(target=add) for _ in '12']\n"
        "[one.start() for one in threads]\n[one.join() for one in threads]\n"
    )
    unsnarl = [sys.executable, "-m", "unsnarl", "baseline", "-o"]
    command = [*unsnarl, "a.json", "--runs", "12", "--", sys.executable, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "12 of 12 runs passed" in done.stdout
    found = baseline.load(tmp_path / "a.json")
    assert "box.total += 1" in {one.text for edge in found.edges for one in edge[:2]}
    joined = [*unsnarl, "b.json", "--join", "a.json", "--join", "a.json"]
    subprocess.run(joined, cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / "b.json").read_bytes() == (tmp_path / "a.json").read_bytes()
