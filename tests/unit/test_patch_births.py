# SPDX-License-Identifier: Apache-2.0
"""Where a new lock is made and what it is called; whose accesses it has to protect."""

import textwrap
from pathlib import Path

import msgspec
import pytest
from tests.unit.conflicts import conflict, line_of, point, source

from unsnarl.model.report import FindingPoint, Fix, SourceLine
from unsnarl.patches.blocks import LineSpan
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.drafts import drafts
from unsnarl.patches.locks import LockChoice
from unsnarl.patches.regions import lock_draft
from unsnarl.patches.source import SourceFile, UnpatchableError

POOL = textwrap.dedent(
    """\
    from queue import Queue
    from threading import Event, Thread


    class Pool(Base):
        def __init__(self, size):
            super().__init__()
            # How many there may be.
            self.size = size
            self.made = 0
            self.ready = Event()

        def make(self):
            if self.made < self.size:
                self.made = self.made + 1
    """
)


def made_twice(text: str, variable: str = "Pool.made") -> list[str]:
    file = source(text)
    look, make = line_of(file, "if self.made"), line_of(file, "self.made + 1")
    points = [
        point(look, 1, "read", variable, function="Pool.make"),
        point(make, 2, "write", variable, function="Pool.make"),
        point(make, 1, "write", variable, function="Pool.make"),
    ]
    found = drafts(conflict(text, *points, shape="check-then-act"))
    return [draft.texts["a.py"] for draft in found if draft.kind == "lock"]


def test_a_lock_is_made_beside_what_it_guards() -> None:
    text = made_twice(POOL)[0]
    assert "from threading import Event, Lock, Thread\n" in text
    assert "        self.made = 0\n        self._lock = Lock()\n        self.ready" in text
    assert "        super().__init__()\n        # How" in text


COUNT = """
count = 0


def add():
    global count
    n = count
    count = n + 1
"""


@pytest.mark.parametrize(
    "head",
    [
        '__author__ = "Ada"\n\nimport os\nimport threading\n',
        "import os\n\nlimit = os.cpu_count()\n\nfrom threading import Lock\n",
        'VERSION = "1"\nimport threading\n',
    ],
)
def test_a_lock_of_a_module_is_made_behind_the_import_that_it_needs(head: str) -> None:
    text = head + COUNT
    read, write = line_of(source(text), "n = count"), line_of(source(text), "count = n + 1")
    where = {"function": "add"}
    points = [point(read, 1, "read", "count", **where), point(write, 2, "write", "count", **where)]
    points.append(point(write, 1, "write", "count", **where))
    found = drafts(conflict(text, *points, shape="lost update"))
    locks = [one.texts["a.py"] for one in found if one.kind == "lock"]
    assert locks
    for one in locks:
        made: dict[str, object] = {}
        exec(one, made)
        assert "_lock" in made


def test_a_lock_is_made_by_the_class_that_assigns_what_it_guards() -> None:
    text = f"{POOL}\n\nclass Small(Pool):\n    def __init__(self):\n        super().__init__(1)\n"
    found = made_twice(text, "Small.made")[0]
    assert "        self.made = 0\n        self._lock = Lock()\n" in found


def test_a_second_lock_is_called_by_what_it_guards() -> None:
    text = POOL.replace("self.ready = Event()", "self._lock = Event()")
    assert "        self._made_lock = Lock()\n" in made_twice(text)[0]


def test_an_import_has_its_place_among_the_others() -> None:
    text = POOL.replace("from threading import Event, Thread", "import zlib")
    text = text.replace("from queue import Queue", "import os").replace("Event()", "None")
    assert made_twice(text)[0].startswith("import os\nimport threading\nimport zlib\n\n\nclass")


def test_a_lock_of_the_module_comes_after_imports_that_are_tried() -> None:
    tried = "try:\n    import fast\nexcept ImportError:\n    fast = None\n"
    text = f"import os\n{tried}x = 1\nx += 1\n"
    points = [point(7, role, "write", "x") for role in (1, 2)]
    found = [one.texts["a.py"] for one in drafts(conflict(text, *points))]
    wanted = (
        "import os\nimport threading\ntry:\n    import fast\nexcept ImportError:\n    fast = None\n"
    )
    assert found[0].startswith(f"{wanted}\n_lock = threading.Lock()\n\nx = 1\n")


MASK = textwrap.dedent(
    """\
    import os


    def write():
        mask = os.umask(0)
        try:
            save()
        finally:
            os.umask(mask)
    """
)


def mask_points(outside: FindingPoint) -> list[FindingPoint]:
    calls = [(5, 1), (5, 2), (9, 1), (9, 2)]
    return [*(point(line, role, "write", "os", function="write") for line, role in calls), outside]


def with_script(found: Conflict) -> Conflict:
    files = {**found.sources, "test_a.py": source("import os\nassert os.umask(0)\n")}
    return Conflict(found.finding, files, found.message)


def test_a_look_of_the_test_needs_no_lock() -> None:
    look = msgspec.structs.replace(point(2, 3, "write", "os"), file="test_a.py", thread="0")
    found = drafts(with_script(conflict(MASK, *mask_points(look))))
    assert "with _lock:\n        mask = os.umask(0)\n" in found[0].texts["a.py"]
    assert set(found[0].texts) == {"a.py"}


QUEUE = textwrap.dedent(
    """\
    class Repeats:
        def __init__(self):
            self.last = None

        def put(self, item):
            if item != self.last:
                self.last = item

        def get(self):
            self.last = None
    """
)


def test_what_the_main_thread_collects_at_the_end_needs_no_lock() -> None:
    at = {name: line_of(source(QUEUE), name) for name in ("if item", "= item", "def get")}
    where = {"function": "Repeats.put"}
    last = point(at["def get"] + 1, 3, "write", "Repeats.last", function="Repeats.get")
    points = [
        point(at["if item"], 1, "read", "Repeats.last", **where),
        point(at["= item"], 2, "write", "Repeats.last", **where),
        point(at["= item"], 1, "write", "Repeats.last", **where),
        msgspec.structs.replace(last, thread="0"),
    ]
    first, end = (SourceLine("a.py", at[name], "Repeats.put", "") for name in ("if item", "= item"))
    fix = Fix("region", first, end, fail=0, runs=200)
    spans = [one.spans for one in drafts(conflict(QUEUE, *points, fix=fix)) if one.kind == "lock"]
    assert [(one.first, one.last) for one in spans[0]] == [(at["if item"], at["= item"])]
    # Without such a region, all that the finding names is protected.
    assert not any(
        len(one.spans) == 1 for one in drafts(conflict(QUEUE, *points)) if one.kind == "lock"
    )


BOX = """\
class Box:
    def put(self, one):
        if self.one is None:
            self.one = one
"""


def put_twice(text: str) -> list[str]:
    file = source(text)
    look, put = line_of(file, "if self.one"), line_of(file, "self.one = one")
    points = [
        point(look, 1, "read", "Box.one", function="Box.put"),
        point(put, 2, "write", "Box.one", function="Box.put"),
        point(put, 1, "write", "Box.one", function="Box.put"),
    ]
    found = drafts(conflict(text, *points, shape="check-then-act"))
    return [draft.texts["a.py"] for draft in found if draft.kind == "lock"]


def test_the_first_import_of_a_file_is_set_apart() -> None:
    heads = {text.partition("class Box")[0] for text in put_twice(BOX)}
    assert heads == {
        "import threading\n\n\n",
        "import threading\n\n_lock = threading.Lock()\n\n\n",
    }


def test_the_first_import_comes_before_a_decorator() -> None:
    assert put_twice(f"@final\n{BOX}")[0].startswith("import threading\n\n\n@final\nclass Box")


def test_the_first_import_is_set_apart_from_what_the_file_says_of_itself() -> None:
    wanted = '"""A box."""\n\nimport threading\n\n\nclass Box'
    assert put_twice(f'"""A box."""\n\n\n{BOX}')[0].startswith(wanted)
    assert put_twice(f'"""A box."""\n{BOX}')[0].startswith(wanted)


SHOP = """\
import os


def sell(stock):
    if stock.count:
        stock.count = stock.count - 1
"""


def held_in_both(text: str) -> dict[str, str]:
    """A new lock of the module shop, held there and in another file."""
    files = {
        name: SourceFile(Path(name), name, content.encode())
        for name, content in (("app/shop.py", SHOP), ("app/till.py", text))
    }
    count = line_of(files["app/till.py"], "stock.count")
    spans = [LineSpan("app/shop.py", 5, 6), LineSpan("app/till.py", count, count)]
    choice = LockChoice("", "_lock", "app/shop.py", is_new=True)
    return dict(lock_draft(files, spans, choice).texts)


def test_a_lock_is_imported_beside_what_comes_from_its_module() -> None:
    text = "from app.shop import sell\n\n\ndef back(stock):\n    stock.count += 1\n"
    texts = held_in_both(text)
    assert "_lock = threading.Lock()\n" in texts["app/shop.py"]
    assert texts["app/till.py"] == (
        "from app.shop import _lock, sell\n\n\n"
        "def back(stock):\n    with _lock:\n        stock.count += 1\n"
    )
    near = held_in_both(text.replace("from app.shop", "from .shop"))["app/till.py"]
    assert near.startswith("from .shop import sell\nfrom .shop import _lock\n\n\n")


@pytest.mark.parametrize("line", ["from other.shop import sell", "from app import sell", ""])
def test_a_lock_of_an_unknown_module_is_out_of_reach(line: str) -> None:
    text = f"{line}\n\n\ndef back(stock):\n    stock.count += 1\n"
    with pytest.raises(UnpatchableError):
        held_in_both(text)
