# SPDX-License-Identifier: Apache-2.0
"""Looks before waits, locks that are let go of, and what a thread's starter assigns."""

import textwrap

from tests.unit.test_patch_kinds import CHANGED, at, of_kind

RESULT = textwrap.dedent(
    """\
    class Result:
        def set(self, value):
            with self.ready:
                self.value = value
                self.ready.notify_all()

        def wait(self, timeout):
            with self.ready:
                self.ready.wait(timeout)
            return self.value is not None
    """
)


def looked(text: str) -> list[str]:
    return of_kind(
        "recheck",
        text,
        at(text, "self.ready.wait", 1, "wait", "Result.ready", function="Result.wait"),
        at(text, "notify_all", 2, "call", "Result.ready", function="Result.set"),
    )


def test_whoever_comes_late_looks_before_it_waits() -> None:
    (text,) = looked(RESULT)
    wanted = "if self.value is None:\n                self.ready.wait(timeout)\n        ret"
    assert wanted in text


def test_without_a_time_limit_it_looks_again() -> None:
    (text,) = looked(RESULT.replace("wait(timeout)", "wait()"))
    assert "while self.value is None:\n                self.ready.wait()" in text


def test_any_answer_can_be_asked_for() -> None:
    for answer, asked in (("self.value", "not self.value"), ("not self.value", "self.value")):
        (text,) = looked(RESULT.replace("self.value is not None", answer))
        assert f"            if {asked}:\n" in text


def test_what_nobody_tells_is_not_waited_for() -> None:
    assert looked(RESULT.replace("return self.value", "return self.other")) == []
    assert looked(RESULT.replace("self.ready.notify_all()", "pass  # notify_all")) == []


CACHED = textwrap.dedent(
    """\
    class Rule:
        def each(self):
            acquire = self.lock.acquire
            release = self.lock.release
            while self.more:
                acquire()
                if self.complete:
                    break
                for one in self.source:
                    if one:
                        break
                    if one is None:
                        return
                release()
                yield 1
    """
)


def released(text: str) -> list[str]:
    where = {"function": "Rule.each"}
    return of_kind(
        "release",
        text,
        at(text, "    acquire()", 1, "wait", "Rule.lock", **where),
        at(text, "self.complete", 2, "read", "Rule.complete", **where),
        kind="deadlock",
    )


def test_a_lock_is_let_go_of_before_its_section_is_left() -> None:
    """By its local name; a loop within the section is not its end."""
    (text,) = released(CACHED)
    assert (
        "            if self.complete:\n                release()\n                break\n" in text
    )
    assert "                if one:\n                    break\n" in text
    assert "                    release()\n                    return\n" in text


def test_a_lock_that_is_released_on_all_paths_stays() -> None:
    text = CACHED.replace(
        "                break\n            for", "                pass\n            for"
    )
    assert (
        released(text.replace("                    return\n", "                    pass\n")) == []
    )


CLIENT = textwrap.dedent(
    """\
    class Client:
        def start(self):
            self.thread = Thread(target=self.loop)
            self.thread.start()

        def loop(self):
            self.stopped = False
            while not self.stopped:
                self.turn()

        def stop(self):
            self.stopped = True
            self.thread.join()
    """
)


def begun(text: str) -> list[str]:
    return of_kind(
        "move",
        text,
        at(text, "self.stopped = True", 1, "write", "Client.stopped", function="Client.stop"),
        at(text, "self.stopped = False", 2, "write", "Client.stopped", function="Client.loop"),
    )


def test_who_starts_a_thread_assigns_what_it_begins_with() -> None:
    (text,) = begun(CLIENT)
    assert "        self.stopped = False\n        self.thread.start()\n" in text
    assert "    def loop(self):\n        while not self.stopped:\n" in text


def test_only_constants_of_methods_that_a_thread_begins_with() -> None:
    assert begun(CLIENT.replace("stopped = False", "stopped = False or x")) == []
    assert begun(CLIENT.replace("target=self.loop", "target=self.turn")) == []


POOL = textwrap.dedent(
    """\
    from itertools import chain

    class Pool:
        def close(self):
            every = chain(self.free, self.used)
            for one in every:
                one.close()

        def take(self):
            self.used.add(self.free.pop())
    """
)


def test_what_is_iterated_under_a_local_name_is_copied() -> None:
    points = (
        at(POOL, "for one", 1, "read", "Pool.used", function="Pool.close"),
        at(POOL, "used.add", 2, "write", "Pool.used", function="Pool.take"),
    )
    (text,) = of_kind("copy", POOL, *points, message=CHANGED)
    assert "for one in list(every):" in text
    other = POOL.replace("chain(self.free, self.used)", "sorted(self.used)")
    assert of_kind("copy", other, *points, message=CHANGED) == []


BY_HAND = textwrap.dedent(
    """\
    class Reply:
        def set(self, value):
            try:
                self.log(value)
            finally:
                self.lock.acquire()
                self.value = value
                self.lock.notifyAll()
                self.lock.release()

        def get(self):
            if self.value is not None:
                return self.value
            self.lock.acquire()
            self.lock.wait(self.timeout)
            self.lock.release()
            return self.value
    """
)


def test_a_lock_that_is_taken_by_hand_and_a_look_before_it() -> None:
    (text,) = of_kind(
        "recheck",
        BY_HAND,
        at(BY_HAND, "if self.value", 1, "read", "Reply.value", function="Reply.get"),
        at(BY_HAND, "self.value = value", 2, "write", "Reply.value", function="Reply.set"),
        at(BY_HAND, "self.lock.wait", 1, "call", "Reply.lock", function="Reply.get"),
    )
    changed = "        if self.value is None:\n            self.lock.wait(self.timeout)\n"
    wanted = BY_HAND.replace("        self.lock.wait(self.timeout)\n", changed)
    assert text == wanted


def test_who_waits_without_the_lock_or_for_something_else_is_left_alone() -> None:
    for wrong in ("self.other.acquire()", "pass"):
        text = BY_HAND[: BY_HAND.index("def get")] + BY_HAND[BY_HAND.index("def get") :].replace(
            "self.lock.acquire()", wrong
        )
        point = at(text, "self.lock.wait", 1, "call", "Reply.lock", function="Reply.get")
        assert of_kind("recheck", text, point) == []
