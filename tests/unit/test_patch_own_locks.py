# SPDX-License-Identifier: Apache-2.0
"""A lock that is borrowed from another object, for variables that no other call knows."""

import textwrap

import pytest
from tests.unit.test_patch_kinds import at, of_kind

COMBINED = textwrap.dedent(
    """\
    def combine(*sources):
        parent = sources[0]

        def subscribe(observer):
            values = [None for _ in sources]
            ended = [False]

            def tell():
                if all(values):
                    observer.on_next(tuple(values))

            def follow(i):
                def on_next(x):
                    with parent.lock:
                        values[i] = x
                        tell()

                def on_end():
                    with parent.lock:
                        ended[0] = True

                sources[i].subscribe(on_next, on_end)

            for i in range(len(sources)):
                follow(i)

        return Source(subscribe)
    """
)


def owned(text: str) -> list[str]:
    where = {"function": "combine.<locals>.subscribe.<locals>.follow.<locals>.on_next"}
    made = of_kind(
        "lock-order",
        text,
        at(text, "with parent.lock", 1, "acquire", "Source.lock #1", **where),
        at(text, "with parent.lock", 2, "acquire", "Source.lock #2", **where),
        at(text, "sources[i].subscribe", 1, "wait", "Source.lock #2"),
        at(text, "sources[i].subscribe", 2, "wait", "Source.lock #1"),
        kind="deadlock",
    )
    return [one for one in made if "with lock:" in one]


def test_all_that_take_it_there_take_one_lock_of_the_call() -> None:
    (text,) = owned(COMBINED)
    assert (
        "        values = [None for _ in sources]\n"
        "        lock = threading.RLock()\n"
        "        ended = [False]\n"
    ) in text
    assert text.count("                with lock:\n") == 2
    assert "parent.lock" not in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("                    tell()", "                    parent.last = x"),  # it is the parent's
        ("                    tell()", "                    totals[i] += 1"),  # everybody's
        ("                    tell()", "                    sources.append(x)"),
        ("                    values[i] = x\n", ""),  # nothing is guarded there
        ("        for i in range", "        parent.lock.acquire()\n        for i in range"),
        ("    parent = sources[0]", "    lock = sources[0].lock"),
        (
            "        values = [",
            "        parent = sources[0]\n        values = [",
        ),  # its own already
    ],
)
def test_where_others_count_on_it_it_stays(old: str, new: str) -> None:
    text = COMBINED.replace(old, new)
    assert text != COMBINED
    if "values[i] = x" not in text:
        text = text.replace("tell()\n\n", "print(x)\n\n").replace("ended[0] = True", "print(i)")
    assert owned(text) == []
