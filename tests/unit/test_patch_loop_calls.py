# SPDX-License-Identifier: Apache-2.0
"""Calls into an event loop from another thread, and signals that nobody is sure to give."""

import textwrap

import pytest
from tests.unit.conflicts import conflict, line_of, point, source

from unsnarl.model.report import Fix, SourceLine
from unsnarl.patches.drafts import drafts

LOOP = textwrap.dedent(
    """\
    import threading

    class Background:
        def __init__(self, loop):
            self.loop = loop
            self.thread = threading.Thread(target=self.serve)
            self.thread.start()

        def serve(self):
            self.loop.run_forever()

        def submit(self, work):
            self.loop.call_soon(work, 1)  # now

        def close(self):
            self.loop.stop()

        def flush(self):
            self.file.stop()
    """
)


def made(*, early: str, late: str, kind: str = "order") -> list[tuple[str, str]]:
    lines = {part: line_of(source(LOOP), part) for part in (early, late)}
    named = {"run_forever": "serve", "call_soon": "submit", "stop": "close", "start()": "__init__"}
    begin, end = (
        SourceLine("a.py", lines[part], f"Background.{named[part]}") for part in (late, early)
    )
    found = conflict(
        LOOP,
        point(lines[early], 1, "call", "Background.loop", function=end.function),
        point(lines[late], 2, "call", "Background.loop", function=begin.function),
        kind=kind,
        fix=Fix("order", begin, end, scope="once", runs=1),
    )
    return [(draft.kind, draft.texts["a.py"]) for draft in drafts(found)]


@pytest.mark.parametrize(
    ("part", "wanted"),
    [
        ("call_soon", "        self.loop.call_soon_threadsafe(work, 1)  # now\n"),
        ("stop", "        self.loop.call_soon_threadsafe(self.loop.stop)\n"),
    ],
)
def test_a_loop_is_called_in_the_thread_safe_form(part: str, wanted: str) -> None:
    texts = [
        text for kind, text in made(early="run_forever", late=part) if kind == "threadsafe-call"
    ]
    assert texts
    assert all(wanted in text for text in texts)


def test_nobody_waits_for_a_call_that_may_never_come() -> None:
    assert "event" not in {kind for kind, _ in made(early="run_forever", late="call_soon")}


def test_what_the_constructor_does_is_waited_for() -> None:
    assert "event" in {kind for kind, _ in made(early="run_forever", late="start()")}


def test_what_a_thread_does_first_is_waited_for() -> None:
    assert "event" in {kind for kind, _ in made(early="call_soon", late="run_forever")}
