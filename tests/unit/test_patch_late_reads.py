# SPDX-License-Identifier: Apache-2.0
"""Reads of what is not ready wait for the critical section in which it is made."""

import textwrap

from tests.unit.conflicts import conflict, line_of, point, source

from unsnarl.patches.drafts import drafts

KEYS = textwrap.dedent(
    """\
    import threading


    class Keys:
        def __init__(self):
            self._lock = threading.Lock()
            self.key = self.frozen = None

        def refresh(self):
            if self.key is None:
                with self._lock:
                    self.key = fetch()
                    self.frozen = (self.key,)

        def get(self):
            self.refresh()
            return self.frozen


    class Own(Keys):
        def name(self):
            return "own"
    """
)


def read_late(owner: str = "Keys", sections: tuple[int, int] = (3, 3)) -> list[str]:
    file = source(KEYS)
    held = [{"locks": (f"{owner}._lock",), "sections": (one,)} for one in sections]
    points = (
        point(line_of(file, "= fetch"), 1, "write", f"{owner}.key", function="Keys.refresh",
              **held[0]),
        point(line_of(file, "key is None"), 2, "read", f"{owner}.key", function="Keys.refresh"),
        point(line_of(file, "return self.f"), 2, "read", f"{owner}.frozen", function="Keys.get"),
        point(line_of(file, "= (self.key"), 1, "write", f"{owner}.frozen", function="Keys.refresh",
              **held[1]),
    )  # fmt: skip
    made = drafts(conflict(KEYS, *points, shape="published before initialised"))
    return [draft.texts["a.py"] for draft in made]


WAITED = KEYS.replace(
    "        return self.frozen\n",
    "        with self._lock:\n            return self.frozen\n",
)


def test_what_is_made_under_a_lock_is_read_under_it() -> None:
    assert WAITED in read_late()


def test_the_lock_may_be_that_of_a_base_class() -> None:
    assert WAITED in read_late("Own")


def test_a_section_that_ends_between_both_writes_keeps_nobody_waiting() -> None:
    assert WAITED not in read_late(sections=(3, 4))
