# SPDX-License-Identifier: Apache-2.0
import threading

import pykka
import pytest


class Oracle(pykka.ThreadingActor):
    use_daemon_thread = True

    def on_receive(self, message):
        return 6 * 7


@pytest.fixture
def oracle():
    ref = Oracle.start()
    yield ref
    ref.stop(block=False)


class Reader(threading.Thread):
    def __init__(self, future):
        super().__init__(daemon=True)
        self.future, self.answer = future, None

    def run(self):
        self.answer = self.future.get()


def test_one_answer_is_read_by_two_threads(oracle):
    future = oracle.ask("what is it?", block=False)
    readers = [Reader(future) for _ in range(2)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(timeout=2)
    assert [reader.answer for reader in readers] == [42, 42]
