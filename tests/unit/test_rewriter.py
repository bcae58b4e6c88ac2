# SPDX-License-Identifier: Apache-2.0
"""Which access meets which probe: small programs run with sites that write down what they see."""

import ast
import io
import sys
import textwrap
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from unsnarl.probes.python import registry
from unsnarl.probes.python.rewriter import ModuleInfo, rewrite
from unsnarl.probes.python.rewriter.kinds import BREAKER, INIT, KEYED, KIND_NAMES, LOOP

pytestmark = pytest.mark.core


class Log:
    """Makes sites that record every visit as (kind, name, operand, flags)."""

    def __init__(self) -> None:
        self.visits: list[tuple[str, str, Any, int]] = []

    def site(self, kind: int, id: int, name: str, flags: int) -> Any:
        return RecordingSite(self, KIND_NAMES[kind], name, flags)

    def kinds(self, *leave_out: str) -> list[str]:
        return [f"{kind} {name}" for kind, name, _, _ in self.visits if kind not in leave_out]


class RecordingSite:
    def __init__(self, log: Log, kind: str, name: str, flags: int) -> None:
        self.log, self.kind, self.name, self.flags = log, kind, name, flags

    def __delitem__(self, operand: Any) -> None:
        self.log.visits.append((self.kind, self.name, operand, self.flags))

    def __setitem__(self, key: Any, container: Any) -> None:
        self.log.visits.append((self.kind, self.name, (container, key), self.flags))


def load(
    source: str, log: Log, is_main: bool = False, among_threads: bool = False
) -> dict[str, Any]:
    info = ModuleInfo("subject", "subject.py", is_main, among_threads=among_threads)
    code = rewrite(compile(textwrap.dedent(source), "subject.py", "exec"), info, log.site)
    names: dict[str, Any] = {"__name__": "subject"}
    exec(code, names)
    return names


def visits(body: str, *args: Any, before: str = "") -> Log:
    """What `body`, as a function of (a, b, c), meets."""
    log = Log()
    source = textwrap.dedent(before) + "\ndef f(a=None, b=None, c=None):\n"
    names = load(source + textwrap.indent(textwrap.dedent(body), "    "), log)
    log.visits.clear()
    names["f"](*args)
    return log


def thing(**attributes: Any) -> SimpleNamespace:
    return SimpleNamespace(**attributes)


# ---- attributes and items


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a.x", ["attr_read x"]),
        ("a.y = 1", ["attr_write y"]),
        ("del a.x", ["attr_write x"]),
        ("a.x += 1", ["attr_read x", "attr_write x"]),
        ("return a.x.real", ["attr_read x", "attr_read real"]),
        ("return 'text'.join", []),
        ("x = a; y = x; return y", []),
    ],
)
def test_attributes(body: str, expected: list[str]) -> None:
    assert visits(body, thing(x=1)).kinds() == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a[b]", ["item_read []"]),
        ("a[b] = 5", ["item_write []"]),
        ("del a[b]", ["item_delete []"]),
        ("a[b] += 5", ["item_read []", "item_write []"]),
    ],
)
def test_items_name_container_and_key(body: str, expected: list[str]) -> None:
    container = {"k": 1}
    log = visits(body, container, "k")
    assert log.kinds() == expected
    assert all(operand == (container, "k") for _, _, operand, _ in log.visits)
    assert all(operand[0] is container for _, _, operand, _ in log.visits)


def test_store_on_self_in_init_is_marked() -> None:
    log = Log()
    source = """
    class C:
        def __init__(self, other):
            self.x = 1
            other.x = 2
        def set(self):
            self.x = 3
    """
    names = load(source, log)
    names["C"](thing()).set()
    assert [flags & INIT for kind, _, _, flags in log.visits if kind == "attr_write"] == [
        INIT,
        0,
        0,
    ]


def test_self_in_init_may_be_captured() -> None:
    log = Log()
    names = load("class C:\n def __init__(self):\n  self.x = lambda: self\n", log)
    names["C"]()
    assert [flags & INIT for kind, _, _, flags in log.visits if kind == "attr_write"] == [INIT]


def test_slices_reach_the_container() -> None:
    values = [1, 2, 3]
    for body in ("return a[1:]", "a[1:] = [5]", "del a[1:]", "return a[::2]"):
        log = visits(body, values)
        seen = [operand for kind, _, operand, _ in log.visits if kind != "create"]
        assert len(seen) == 1
        assert (seen[0][0] if isinstance(seen[0], tuple) else seen[0]) is values


# ---- containers as a whole


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return 1 in a", ["shape_read in"]),
        ("return 1 not in (1, 2)", []),
        ("return len(a)", ["shape_read len"]),
        ("return sorted(a)", ["shape_read sorted", "create new"]),
        ("return sum(a), max(a), any(a)", ["shape_read sum", "shape_read max", "shape_read any"]),
        ("return max(b, (3,))", []),
        ("return len('abc')", []),
        ("return list(map(str, a))", ["shape_read map", "iter list", "create new"]),
        ("return tuple(a)", ["shape_read tuple"]),
        ("return list(a)", ["shape_read list", "create new"]),
        ("x, y = b", []),
        ("x, *y = a; return a[0]", ["shape_read unpack", "item_read []"]),
        ("return [*a]", ["create new", "shape_read *"]),
        ("return a + [1]", ["create new", "shape_read +"]),
        ("a += [1]", ["create new", "shape_write +="]),
        ("return a == []", ["create new", "shape_read =="]),
    ],
)
def test_containers(body: str, expected: list[str]) -> None:
    assert visits(body, [1, 2], (3, 4)).kinds() == expected


def test_truth_is_a_read_where_a_container_shows() -> None:
    assert visits("if a: return 1", [1]).kinds() == []
    body = "while a:\n    a.pop()"
    assert visits(body, [1]).kinds() == ["shape_read bool", "method pop", "shape_read bool"]
    body = "if a.items: return a.items[0]"
    assert "shape_read bool" in visits(body, thing(items=[1])).kinds()
    assert visits("if a.flag: return a.items[0]", thing(flag=0)).kinds() == ["attr_read flag"]


def test_loops_watch_the_iterator() -> None:
    log = visits("for x in a: pass", [1])
    assert log.kinds() == ["shape_read iter", "iter for", "iter for"]
    # From 3.15 on a loop over a list has no iterator but the list and an index.
    stands_on = list if sys.version_info >= (3, 15) else type(iter([]))
    assert type(log.visits[1][2]) is stands_on


@pytest.mark.parametrize(
    "body",
    [
        "for x in range(3): pass",
        "for x in (1, 2): pass",
        "for x in (y for y in range(3)): pass",
        "for x, y in zip(range(2), range(3)): pass",
        "return [x for x in range(3)][0]",
        "i = 0\nwhile i < 3: i += 1",
        "for x in sorted((3, 1)): pass",
        "t = 0\nfor i in range(9):\n    t = max(t, i * i) if i else t + 1\nreturn str(t)",
    ],
)
def test_code_on_locals_stays_free(body: str) -> None:
    assert visits(body).kinds("create") == []


def test_a_rebound_builtin_is_none() -> None:
    before = "def len(x): return 0\ndef range(n): return c\nc = [1]"
    log = visits("len(a)\nfor x in range(3): pass", [1], before=before)
    assert "shape_read len" not in log.kinds()
    assert "shape_read iter" in log.kinds()


# ---- methods


def test_a_plain_method_is_seen_at_its_look_up() -> None:
    values: list[int] = []
    log = visits("a.append(b)", values, 1)
    assert log.kinds() == ["method append"]
    assert log.visits[0][2] is values


@pytest.mark.parametrize("argument", ["b.x", "b()", "b[0]", "b.x if b else 0", "[*b]"])
def test_a_method_with_busy_arguments_is_seen_at_its_call(argument: str) -> None:
    class Anything(list[int]):
        x = 1

        def __call__(self) -> int:
            return 1

    log = Log()
    names = load(f"def f(a, b):\n    a.append({argument})\n", log)
    values: list[Any] = []
    names["f"](values, Anything([1]))
    kinds = log.kinds("create")
    assert kinds[0] == "stash append"
    assert kinds[-1] == "method_call append"
    assert len(values) == 1


@pytest.mark.parametrize("call", ["a.append((yield))", "a.setdefault((yield), 1)"])
def test_a_stash_never_outlives_a_yield(call: str) -> None:
    log = Log()
    names = load(f"def f(a):\n    {call}\n", log)
    list(names["f"]([] if "append" in call else {}))
    assert [kind for kind, *_ in log.visits] == ["method", "yield", "yield"]


@pytest.mark.parametrize("call", ["a.get(b)", "a.pop(b, 0)", "a.setdefault(b, c)"])
def test_keyed_methods_tell_their_key(call: str) -> None:
    log = visits(call, {}, "key")
    assert log.kinds()[0].startswith("stash")
    kind, _, operand, flags = log.visits[1]
    assert (kind, operand, flags & KEYED) == ("method_call", "key", KEYED)


def test_keyed_methods_with_keywords() -> None:
    class Store:
        def get(self, key: str, default: int = 0) -> int:
            return default

    log = visits("return a.get(b, default=c.x)", Store(), "key", thing(x=2))
    assert log.visits[-1][:3] == ("method_call", "get", "key")
    log = visits("return a.get(key=b)", Store(), "key")
    assert log.kinds() == ["method get"]


def test_own_methods_get_no_probe() -> None:
    before = "class C:\n    def work(self): pass\n    def append(self, x): pass\n"
    body = "o = C()\no.work()\no.append(1)\na.other()"
    log = visits(body, thing(other=lambda: None), before=before)
    assert log.kinds() == ["method append", "method other"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("getattr(a, 'x')", "named_read getattr"),
        ("getattr(a, 'x', None)", "named_read getattr"),
        ("setattr(a, 'x', 1)", "named_write setattr"),
        ("object.__setattr__(a, 'x', 1)", "named_write __setattr__"),
        ("vars(a)", "namespace vars"),
        ("globals()", "namespace globals"),
        ("b(a)", "callee_arg call"),
        ("b(*c)", "callee_arg call"),
        ("os.getcwd()", "state_read os:cwd"),
        ("random.seed(1)", "state_write random._inst"),
        ("print('', file=a)", "library_arg print"),
        ("import itertools as tools; tools.chain(c)", "shape_read chain"),
        ("from itertools import chain; chain(c)", "shape_read chain"),
    ],
)
def test_what_c_code_does_on_behalf_of_the_program(body: str, expected: str) -> None:
    a = io.StringIO() if "print" in body else thing(x=0)
    log = visits(body, a, str, [a], before="import os, random")
    assert expected in log.kinds()


def test_two_operands_lie_as_deep_as_they_do() -> None:
    log = visits("setattr(a, 'x', 1)", thing(x=0))
    (visit,) = [visit for visit in log.visits if visit[0] == "named_write"]
    assert visit[2][1] == "x"


def test_a_decorated_method_may_be_a_cache() -> None:
    before = "class C:\n    @staticmethod\n    def cached(): pass\n    def plain(self): pass\n"
    assert visits("C().cached()\nC().plain()", before=before).kinds() == ["method cached"]


def test_constants_and_modules_are_no_receivers() -> None:
    log = visits("','.join(b)\nos.getpid()", None, ["x"], before="import os")
    assert log.kinds() == ["shape_read join"]


def test_methods_that_read_their_arguments() -> None:
    log = visits("a.extend(b)", [], [1])
    assert log.kinds() == ["method extend", "shape_read extend"]


# ---- library calls and new containers


def test_library_functions() -> None:
    before = "import heapq, json, zlib, time\nfrom bisect import insort\nfrom zlib import crc32\n"
    body = """
    heapq.heappush(a, 1)
    json.dumps(a)
    zlib.crc32(b, 0)
    insort(a, 3)
    crc32(b)
    time.sleep(0)
    """
    assert visits(body, [], b"x", before=before).kinds() == [
        "shape_write heappush",
        "shape_read dumps",
        "library_arg crc32",
        "shape_write insort",
        "library_arg crc32",
    ]


def test_creation_is_seen_once_and_only_there() -> None:
    before = "import collections\nfrom collections import deque\n"
    body = "return [[], {}, {1: a}, {a, b}, deque(), dict(), collections.Counter()]"
    log = visits(body, 1, 2, before=before)
    made = [operand for kind, _, operand, _ in log.visits]
    assert log.kinds() == ["create new"] * 8
    assert made[:3] == [[], {}, {1: 1}] and isinstance(made[4], deque)
    log = visits("x = a if a else []\nreturn x", [1])
    assert log.kinds("shape_read") == []


# ---- globals


def test_globals_stored_in_functions_are_watched() -> None:
    log = Log()
    source = """
    counter = 0
    LIMIT = 5
    def f():
        global counter
        counter += LIMIT
    """
    names = load(source, log)
    names["f"]()
    assert log.kinds() == ["global_write counter", "global_read counter", "global_write counter"]


def test_globals_of_a_module_that_is_imported_among_threads() -> None:
    log = Log()
    source = """
    import json
    from os import path
    def f():
        return Maker, LIMIT, json, path
    LIMIT = 5
    class Maker: pass
    """
    names = load(source, log, among_threads=True)
    names["f"]()
    assert [kind for kind in log.kinds() if kind.startswith("global")] == [
        "global_write f",
        "global_write LIMIT",
        "global_write Maker",
        "global_read Maker",
        "global_read LIMIT",
    ]
    log = Log()
    load(source, log)
    assert log.kinds() == []


SCRIPT = """
import sys
LIMIT = 5
def deco(f): return f
def maker(x): return deco
class C: pass
@deco
@maker(1)
def f(): return LIMIT, late, twice
early = 1
twice = 1
late = f
result = deco(1)
late = 2
twice = 2
after = LIMIT
f()
"""


def test_globals_of_a_script_that_change_after_its_first_call() -> None:
    log = Log()
    load(SCRIPT, log, is_main=True)
    names = {name for kind, name, _, _ in log.visits if kind.startswith("global")}
    assert names == {"late", "twice", "result", "after"}
    log = Log()
    load(SCRIPT, log)
    assert log.kinds() == ["callee f"]  # what decorates it may be a cache


# ---- closures

CLOSURES = {
    "assigned once": ("x = 1\ndef g(): return x\nreturn g()", []),
    "nonlocal": (
        "x = 1\ndef g():\n    nonlocal x\n    x += 1\ng()",
        ["cell_write x", "cell_read x", "cell_write x"],
    ),
    "twice": (
        "x = 1\nx = 2\ndef g(): return x\ng()",
        ["cell_write x", "cell_write x", "cell_read x"],
    ),
    "after capture": ("def g(): return x\nx = 1\ng()", ["cell_write x", "cell_read x"]),
    "argument": ("def g(): return a\nreturn g()", []),
    "argument rebound": (
        "a = 1\ndef g(): return a\nreturn g()",
        ["cell_write a", "cell_read a"],
    ),
    "loop": (
        "for x in range(2):\n    def g(): return x\nreturn g()",
        ["cell_write x", "cell_write x", "cell_read x"],
    ),
    "loop before": ("for i in range(2): pass\nx = i\ndef g(): return x\nreturn g()", []),
    "through another": (
        "x = 1\ndef g():\n    def h():\n        nonlocal x\n        x = 2\n    h()\ng()\nreturn x",
        ["cell_write x", "cell_write x", "cell_read x"],
    ),
}


@pytest.mark.parametrize("name", CLOSURES)
def test_closures(name: str) -> None:
    body, expected = CLOSURES[name]
    log = visits(body)
    assert log.kinds() == expected
    assert all(type(operand).__name__ == "cell" for _, _, operand, _ in log.visits)


def test_class_bodies_read_cells() -> None:
    body = "x = 1\nx = 2\nclass C:\n    y = x\nreturn C.y"
    assert visits(body).kinds()[:3] == ["cell_write x", "cell_write x", "cell_read x"]


# ---- breakers


def flags_of(body: str, *args: Any, before: str = "") -> list[tuple[str, bool]]:
    log = visits(body, *args, before=before)
    switch = BREAKER | LOOP
    return [(f"{kind} {name}", bool(flags & switch)) for kind, name, _, flags in log.visits]


def test_augmented_assignment_is_one_piece() -> None:
    assert flags_of("a.x += 1", thing(x=1)) == [("attr_read x", True), ("attr_write x", False)]
    assert flags_of("a[0] += 1", [1]) == [("item_read []", True), ("item_write []", False)]


def test_a_call_in_between_breaks() -> None:
    assert flags_of("a.x = b(a.x)", thing(x=1), abs)[-1] == ("attr_write x", True)
    assert flags_of("a.x = b(*[a.x])", thing(x=1), abs)[-1] == ("attr_write x", True)
    assert flags_of("a.x = b(real=a.x)", thing(x=1), complex)[-1] == ("attr_write x", True)


def test_a_with_breaks() -> None:
    import contextlib

    flags = flags_of("a.x\nwith b:\n    a.x", thing(x=1), contextlib.nullcontext())
    at_the_end = ("callee __exit__", False)
    assert flags == [("attr_read x", True), ("attr_read x", True), at_the_end]


def test_every_path_must_break() -> None:
    body = "a.x\nif b:\n    c()\na.x"
    assert flags_of(body, thing(x=1), True, list)[-1] == ("attr_read x", False)
    body = "a.x\nif b:\n    c()\nelse:\n    c()\na.x"
    assert flags_of(body, thing(x=1), True, list)[-1] == ("attr_read x", True)


def test_the_first_site_of_a_loop_breaks() -> None:
    flags = flags_of("for i in range(2):\n    a.x += 1", thing(x=1))
    assert flags == [("attr_read x", True), ("attr_write x", False)] * 2
    flags = flags_of("a.x\nwhile a.x < 3:\n    a.x += 1", thing(x=1))
    assert ("attr_read x", True) in flags[2:]


def test_the_way_into_a_loop_is_told_from_the_ways_back() -> None:
    log = visits("a.x\nwhile a.x < 3:\n    a.x += 1", thing(x=1))
    assert {flags & (BREAKER | LOOP) for _, _, _, flags in log.visits[2:]} <= {0, LOOP}
    log = visits("while a.x < 3:\n    a.x += 1", thing(x=1))
    assert log.visits[0][3] & (BREAKER | LOOP) == BREAKER


def test_a_waiting_loop_can_always_be_left() -> None:
    """Each turn has a switch, whatever stands before the loop."""
    flags = flags_of("a.x\nwhile a.x: a.x -= 1", thing(x=3))
    turns = "".join("B" if breaks else "." for _, breaks in flags[2:])
    assert turns.count("B") >= 3


def test_code_after_a_handler_is_no_loop() -> None:
    body = "try:\n    b = a.x\nexcept AttributeError:\n    b = 0\na.x"
    assert flags_of(body, thing(x=1)) == [("attr_read x", True), ("attr_read x", False)]


def test_resumed_generators_break() -> None:
    log = Log()
    names = load("def f(a):\n    a.x\n    yield\n    a.x\n", log)
    list(names["f"](thing(x=1)))
    assert [(kind, flags & BREAKER) for kind, _, _, flags in log.visits] == [
        ("attr_read", BREAKER),
        ("yield", 0),
        ("attr_read", BREAKER),
        ("yield", 0),
    ]


# ---- the registry


def test_registry_describes_every_site(tmp_path: Any) -> None:
    source = "class C:\n    def f(self, é):\n        return é + self.items[0]\n\nC\n"
    code = compile(source, "described.py", "exec")
    watermark = registry.REGISTRY.watermark
    rewrite(code, ModuleInfo("m", "described.py"), Log().site)
    entries = {entry["function"]: entry for entry in registry.since(watermark)}
    entry = entries["C.f"]
    assert entry["file"] == "described.py" and entry["line"] == 2
    rows = {row[1]: row for row in entry["sites"]}
    assert rows["attr_read"][2:] == ["items", 3, 3, 20, 30]
    assert rows["item_read"][2:] == ["[]", 3, 3, 20, 33]
    assert all(0 <= row[0] < entry["size"] for row in entry["sites"])
    assert entry["base"] >= watermark
    dumped = registry.dump()
    assert dumped["watermark"] == registry.REGISTRY.watermark
    assert entry in dumped["codes"]


def test_calls_are_listed_for_sync_events() -> None:
    watermark = registry.REGISTRY.watermark
    source = "def f(lock):\n    with lock:\n        lock.locked()\n"
    rewrite(compile(source, "calls.py", "exec"), ModuleInfo("m", "calls.py"), Log().site)
    rows = [row for entry in registry.since(watermark) for row in entry["sites"]]
    lines = sorted(row[3] for row in rows if row[1] == "call")
    assert lines.count(3) == 1 and lines.count(2) >= 2


def test_blocks_do_not_overlap() -> None:
    log = Log()
    load("def f(): return f.x\n", log)
    load("def g(): return g.x\n", log)
    blocks = registry.REGISTRY.blocks
    ends = [block.base + block.size for block in blocks]
    assert [block.base for block in blocks[1:]] == ends[:-1]
    assert all(len(block.code.co_code) // 2 == block.size for block in blocks[-2:])


class Kept(ast.NodeTransformer):
    """Names as pytest gives them to what it keeps of an assert: `kept_1` becomes `@kept_1`."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = node.id.replace("kept", "@kept")
        return node


def test_a_literal_that_pytest_keeps_is_not_read():
    """`assert a.items == [1]`: reports named the literal's value as that of `a.items`."""
    log = Log()
    body = """
        def f(a):
            kept_1 = a.items
            kept_2 = [1]
            kept_3 = kept_1 == kept_2
            return kept_3
    """
    tree = Kept().visit(ast.parse(textwrap.dedent(body)))
    code = rewrite(compile(tree, "subject.py", "exec"), ModuleInfo("s", "subject.py"), log.site)
    names: dict[str, Any] = {}
    exec(code, names)
    log.visits.clear()
    assert names["f"](SimpleNamespace(items=[2])) is False
    assert [operand for _, name, operand, _ in log.visits if name == "=="] == [[2]]
