# SPDX-License-Identifier: Apache-2.0
"""State of one call that was kept for all threads."""

import textwrap

from tests.unit.conflicts import conflict, line_of, point, source

from unsnarl.patches.drafts import drafts

FILE_LOCK = textwrap.dedent(
    """\
    import os
    import time


    class FileLock(object):
        def __init__(self, name):
            self.name = name
            self.fd = None

        def acquire(self):
            self.fd = os.open(self.name, 0)
            lock(self.fd)

        def release(self):
            fd, self.fd = self.fd, None
            unlock(fd)
    """
)


def local(text: str, order: tuple[tuple[int, str], ...]) -> list[str]:
    parts = {"write": ("os.open", "FileLock.acquire"), "read": ("fd, self", "FileLock.release")}
    points = [
        point(line_of(source(text), parts[op][0]), role, op, "FileLock.fd", function=parts[op][1])
        for role, op in order
    ]
    made = drafts(conflict(text, *points))
    return [draft.texts["a.py"] for draft in made if draft.kind == "thread-local"]


OVERWRITTEN = ((1, "write"), (2, "write"), (1, "read"))


def test_a_thread_finds_what_it_wrote_itself() -> None:
    (text,) = local(FILE_LOCK, OVERWRITTEN)
    assert "import os\nimport threading\nimport time\n" in text
    assert "class FileLock(threading.local):\n" in text


def test_what_another_thread_is_to_find_is_for_all() -> None:
    assert not local(FILE_LOCK, ((1, "write"), (2, "read"), (1, "read")))


def test_a_count_is_for_all() -> None:
    text = FILE_LOCK.replace("lock(self.fd)", "self.fd += 1", 1)
    assert not local(text, OVERWRITTEN)


def test_a_cache_is_for_all() -> None:
    """Each thread would have its own, though none would see the other's any more."""
    text = FILE_LOCK.replace("self.fd = None", "self.fd = None\n        self.known = {}", 1)
    assert not local(text, OVERWRITTEN)
    counts = FILE_LOCK.replace("unlock(fd)", "unlock(fd)\n        self.released += 1")
    assert not local(counts, OVERWRITTEN)


def test_what_is_never_replaced_is_for_all() -> None:
    text = FILE_LOCK.replace("self.fd = os.open(self.name, 0)", "self.fd.add(os.open)")
    text = text.replace("fd, self.fd = self.fd, None", "fd = self.fd.pop()  # fd, self")
    assert not local(text, OVERWRITTEN)


def test_a_class_with_a_base_is_left_alone() -> None:
    assert not local(FILE_LOCK.replace("object", "dict"), OVERWRITTEN)


def test_a_base_that_only_has_methods_stays() -> None:
    base = "class Base(object):\n    def __enter__(self):\n        self.acquire()\n\n\n"
    text = FILE_LOCK.replace("class FileLock(object)", f"{base}class FileLock(Base)")
    (made,) = local(text, OVERWRITTEN)
    assert "class FileLock(Base, threading.local):\n" in made


def test_what_a_thread_wrote_before_need_not_be_a_point() -> None:
    file = source(FILE_LOCK)
    taken, swapped = line_of(file, "lock(self.fd)"), line_of(file, "fd, self")
    made = drafts(
        conflict(
            FILE_LOCK,
            point(taken, 1, "acquire", "lock of FileLock.fd", function="FileLock.acquire"),
            point(taken - 1, 2, "write", "FileLock.fd", function="FileLock.acquire"),
            point(swapped, 1, "write", "FileLock.fd", function="FileLock.release"),
        )
    )
    assert "thread-local" in [one.kind for one in made]
