# SPDX-License-Identifier: Apache-2.0
"""Waits in the middle of a critical section."""

import textwrap

from tests.unit.conflicts import conflict, line_of, point, source

from unsnarl.patches.drafts import drafts

LIVE = textwrap.dedent(
    """\
    class Live:
        def stop(self):
            with self.lock:
                if not self.started:
                    return
                try:
                    if self.thread is not None:
                        self.thread.stop()
                        self.thread.join()
                        self.thread = None
                    self.refresh()
                finally:
                    self.show()

        def run(self):
            with self.lock:
                self.refresh()
    """
)


def stuck(text: str, wait: str, function: str) -> list[str]:
    file = source(text)
    made = drafts(
        conflict(
            text,
            point(line_of(file, "with self.lock"), 1, "acquire", "Live.lock", function="Live.stop"),
            point(line_of(file, wait), 1, "wait", "", function=function, locks=("Live.lock",)),
            point(line_of(file, "def run") + 1, 2, "wait", "Live.lock", function="Live.run"),
            kind="deadlock",
            shape="lock held while waiting",
        )
    )
    return [draft.texts["a.py"] for draft in made if draft.kind == "move"]


def test_the_thread_is_joined_behind_the_lock() -> None:
    text = stuck(LIVE, "join()", "Live.stop")[0]
    assert "        thread = None\n        with self.lock:\n" in text
    assert "            self.thread.stop()\n                    thread = self.thread\n" in text
    wanted = (
        "                self.show()\n        if thread is not None:\n            thread.join()\n\n"
    )
    assert wanted in text


def test_nothing_is_joined_behind_what_leaves() -> None:
    text = LIVE.replace("self.show()", "return")
    assert not any("thread.join()\n\n" in one for one in stuck(text, "join()", "Live.stop"))


CALLS = textwrap.dedent(
    """\
    class Live:
        def stop(self):
            with self.lock:
                # The pool is not needed any more.
                self.terminate()
                if self.managed:
                    self.start()
            raise ValueError

        def terminate(self):
            self.pool.join()

        def run(self):
            with self.lock:
                self.refresh()
    """
)


def test_a_call_that_waits_needs_no_lock_if_nothing_else_does() -> None:
    # The calls that led to the wait were not recorded: who took the lock has called it.
    (text,) = stuck(CALLS, "pool.join()", "Live.terminate")
    assert text.startswith(
        "class Live:\n    def stop(self):\n        # The pool is not needed any more.\n"
        "        self.terminate()\n        if self.managed:\n            self.start()\n"
        "        raise ValueError\n"
    )


def test_a_lock_stays_around_what_is_changed() -> None:
    text = CALLS.replace("self.start()", "self.pool = None")
    assert not any(
        "stop(self):\n        #" in one for one in stuck(text, "pool.join", "Live.terminate")
    )
