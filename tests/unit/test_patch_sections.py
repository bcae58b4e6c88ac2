# SPDX-License-Identifier: Apache-2.0
"""What is moved out of critical sections, and into them."""

import textwrap

from tests.unit.conflicts import conflict
from tests.unit.test_patch_kinds import at, of_kind

from unsnarl.patches.drafts import drafts

HELD = "lock held while waiting"
HOOKS = textwrap.dedent(
    """\
    @synchronized(hooks_lock)
    def loaded(module):
        name = module.name
        hooks = found.get(name)

        if hooks:
            found[name] = []
            for hook in hooks:
                hook(module)
    """
)


def moved(text: str, *points: object, **more: str) -> list[str]:
    return of_kind("move", text, *points, **more)  # type: ignore[arg-type]


def waits(text: str, part: str, function: str, lock: str):
    return at(text, part, 1, "wait", "", function=function, locks=(lock,))


def test_callbacks_leave_the_lock_of_a_decorator() -> None:
    """The condition is about a local variable that nothing changes: it is asked twice."""
    point = waits(HOOKS, "hook(module)", "loaded", "hooks_lock")
    (text,) = moved(HOOKS, point, shape=HELD)
    assert text == textwrap.dedent(
        """\
        def loaded(module):
            with hooks_lock:
                name = module.name
                hooks = found.get(name)

                if hooks:
                    found[name] = []
            if hooks:
                for hook in hooks:
                    hook(module)
        """
    )


def test_a_decorator_with_another_lock_stays() -> None:
    point = waits(HOOKS, "hook(module)", "loaded", "other_lock")
    assert moved(HOOKS, point, shape=HELD) == []


def test_a_condition_that_may_change_is_not_asked_twice() -> None:
    text = HOOKS.replace("found[name] = []", "hooks.append(1)")
    point = waits(text, "hook(module)", "loaded", "hooks_lock")
    (changed,) = moved(text, point, shape=HELD)
    # All of the `if` leaves the lock instead.
    assert "    if hooks:\n        hooks.append(1)\n" in changed


LISTENERS = textwrap.dedent(
    """\
    class Bus:
        def send(self, event):
            with self.lock:
                for listener in self.listeners:
                    listener(event)
    """
)


def test_a_loop_that_leaves_a_lock_goes_through_a_copy() -> None:
    point = waits(LISTENERS, "listener(event)", "Bus.send", "Bus.lock")
    (text,) = moved(LISTENERS, point, shape=HELD)
    assert text == textwrap.dedent(
        """\
        class Bus:
            def send(self, event):
                with self.lock:
                    listeners = list(self.listeners)
                for listener in listeners:
                    listener(event)
        """
    )


def test_what_is_done_to_the_container_stays_with_its_copy() -> None:
    text = LISTENERS.replace("self.listeners", "self.open") + "            self.open.clear()\n"
    point = waits(text, "listener(event)", "Bus.send", "Bus.lock")
    (changed,) = moved(text, point, shape=HELD)
    assert changed == textwrap.dedent(
        """\
        class Bus:
            def send(self, event):
                with self.lock:
                    open_ = list(self.open)
                    self.open.clear()
                for listener in open_:
                    listener(event)
        """
    )


def test_the_container_is_not_emptied_before_a_loop_that_may_leave() -> None:
    text = LISTENERS.replace("listener(event)", "listener(event)\n                return")
    text += "            self.listeners.clear()\n"
    point = waits(text, "listener(event)", "Bus.send", "Bus.lock")
    assert not moved(text, point, shape=HELD)


def test_the_wait_may_be_in_a_function_that_is_called() -> None:
    line = next(n for n, one in enumerate(LISTENERS.splitlines(), 1) if "listener(event)" in one)
    inner = at(LISTENERS, "class", 1, "wait", "", stack=(f"a.py:{line} in Bus.send",))
    assert len(moved(LISTENERS, inner, shape=HELD)) == 1


CLOSING = textwrap.dedent(
    """\
    class Line:
        def close(self):
            with self.lock:
                self.shut()
            if self.reader:
                self.reader.join()
            self.sock = None
            self.poller = None

        def shut(self):
            if self.sock:
                self.sock.close()
    """
)


def closing(text: str):
    call = next(n for n, one in enumerate(text.splitlines(), 1) if "self.shut()" in one)
    inside = {"function": "Line.shut", "stack": (f"a.py:{call} in Line.close",)}
    return (
        at(text, "if self.sock", 1, "read", "Line.sock", locks=("Line.lock",), **inside),
        at(text, "if self.sock", 2, "read", "Line.sock", locks=("Line.lock",), **inside),
        at(text, "self.sock = None", 1, "write", "Line.sock", function="Line.close"),
    )


def test_a_write_joins_the_section_that_it_belongs_to() -> None:
    """Alone, or with the other attributes that are reset there."""
    one, both = moved(CLOSING, *closing(CLOSING))
    assert "            self.shut()\n            self.sock = None\n        if self.reader:" in one
    assert "self.sock = None\n            self.poller = None\n        if self.reader:" in both


def test_a_write_does_not_pass_what_reads_it_or_leaves() -> None:
    for between in ("self.reader.join(self.sock)", "return", "assert self.reader"):
        text = CLOSING.replace("self.reader.join()", between)
        assert moved(text, *closing(text)) == [], between


def test_threads_that_wait_with_locks_held_get_no_lock_first() -> None:
    """Also where a line could be locked that only brought the threads there."""
    points = (
        at(LISTENERS, "for listener", 1, "read", "Bus.listeners", function="Bus.send"),
        at(LISTENERS, "for listener", 2, "write", "Bus.listeners", function="Bus.send"),
        waits(LISTENERS, "listener(event)", "Bus.send", "Bus.lock"),
    )
    kinds = [one.kind for one in drafts(conflict(LISTENERS, *points, shape=HELD))]
    assert kinds[0] == "move" and "lock" in kinds
