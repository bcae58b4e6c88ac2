# SPDX-License-Identifier: Apache-2.0
"""Work is handed to the thread that runs a CurrentThreadExecutor just when that thread's own future is done."""

import threading
from concurrent.futures import Future, TimeoutError

from asgiref.current_thread_executor import CurrentThreadExecutor


def new_executor():
    try:
        return CurrentThreadExecutor(None)
    except TypeError:  # before 3.9 there was no outer executor
        return CurrentThreadExecutor()


def test_accepted_work_is_run():
    executor = new_executor()
    outer = Future()
    outcome = []

    def stray_task():
        try:
            job = executor.submit(threading.get_ident)
        except RuntimeError:
            outcome.append("refused")
            return
        try:
            outcome.append(job.result(timeout=1))
        except TimeoutError:
            outcome.append("accepted, but never run")

    stray = threading.Thread(target=stray_task)
    finisher = threading.Thread(target=outer.set_result, args=("done",))
    stray.start()
    finisher.start()
    executor.run_until_future(outer)
    stray.join(timeout=5)
    finisher.join(timeout=5)

    assert outcome in (["refused"], [threading.get_ident()])
