# SPDX-License-Identifier: Apache-2.0
"""Signals of the target reach their handlers while the main thread waits at the gate."""

from textwrap import dedent

import pytest
from tests.integration.server_client import Client

pytestmark = pytest.mark.core

SERVICES = {
    "an event that a handler sets": """
        import os, signal, threading, time
        stop = threading.Event()
        handled = []
        def on_signal(number, frame):
            handled.append(number)
            stop.set()
        def work():
            time.sleep(3600)
            os.kill(os.getpid(), signal.SIGTERM)
        signal.signal(signal.SIGTERM, on_signal)
        worker = threading.Thread(target=work)
        worker.start()
        stop.wait()
        worker.join()
        assert handled == [signal.SIGTERM]
    """,
    "KeyboardInterrupt in a join": """
        import signal, threading, time
        main = threading.main_thread().ident
        gone = threading.Event()
        def work():
            time.sleep(3600)
            signal.pthread_kill(main, signal.SIGINT)
            gone.wait()
        worker = threading.Thread(target=work)
        worker.start()
        try:
            worker.join()
        except KeyboardInterrupt:
            gone.set()
        assert gone.is_set()
    """,
    "an alarm that ends a wait without a limit": """
        import signal, threading
        class Late(Exception):
            pass
        def on_alarm(number, frame):
            raise Late
        signal.signal(signal.SIGALRM, on_alarm)
        signal.alarm(2)
        try:
            threading.Event().wait()
        except Late:
            rang = True
        assert rang
    """,
    "an alarm that comes before a limit, and one after": """
        import signal, threading, time
        rang = []
        signal.signal(signal.SIGALRM, lambda *_: rang.append(time.monotonic()))
        begin = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 600)
        assert not threading.Event().wait(60)
        assert not rang
        assert not threading.Event().wait(6000)
        assert len(rang) == 1 and 600 <= rang[0] - begin < 660, rang
        assert 6060 <= time.monotonic() - begin < 6120
        signal.alarm(0)
    """,
    "an alarm that rings again and again": """
        import signal, time
        ticks = 0
        def tick(number, frame):
            global ticks
            ticks += 1
        signal.signal(signal.SIGALRM, tick)
        signal.setitimer(signal.ITIMER_REAL, 20, 20)
        deadline = time.monotonic() + 7200
        while ticks < 3 and time.monotonic() < deadline:
            time.sleep(15)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert ticks >= 3, ticks
    """,
}
GUARDED = """
import signal, threading
signal.signal(signal.SIGALRM, lambda *_: print("late"))
signal.alarm(60)
threading.Event().wait()
"""


@pytest.fixture
def client(tmp_path):
    clients = []

    def make(source):
        (tmp_path / "subject.py").write_text(dedent(source))
        clients.append(Client(tmp_path, "script", "subject.py"))
        return clients[-1]

    yield make
    for one in clients:
        one.close()


@pytest.mark.parametrize("service", SERVICES)
def test_handlers_run_where_their_thread_waits(client, service):
    server = client(SERVICES[service])
    for number, strategy in enumerate(("walk", "pos", "pct", "surw"), start=1):
        assert server.run(number, strategy=strategy)["status"] == 0, server.output(number)
        assert not server.failures(number)


def test_an_alarm_that_only_watches_over_a_test_hides_no_deadlock(client):
    server = client(GUARDED)
    server.run(1)
    (failure,) = server.failures(1)
    assert failure.kind == "deadlock"
    assert "late" not in server.output(1)
