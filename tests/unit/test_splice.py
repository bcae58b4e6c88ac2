# SPDX-License-Identifier: Apache-2.0
"""splice: code between the instructions, everything that counts code units mended."""

import struct
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from unsnarl import _core
from unsnarl.probes.python.rewriter import opcodes

pytestmark = pytest.mark.core

NOP = bytes((opcodes.op("NOP"), 0))
# Instructions that the interpreter finds by counting from another one.
BOUND = {
    opcodes.op(name)
    for name in (
        "RESUME",
        "END_FOR",
        "SEND",
        "YIELD_VALUE",
        "RETURN_GENERATOR",
        "MAKE_CELL",
        "COPY_FREE_VARS",
    )
}
if opcodes.PRECALL >= 0:
    BOUND.add(opcodes.CALL)


def free_places(code: CodeType) -> Iterator[int]:
    """First units of the instructions before which code may stand."""
    ops, _, firsts, _ = opcodes.decode(code.co_code)
    start = ops.index(opcodes.RESUME) + 1
    for index in range(start, len(ops)):
        if ops[index] not in BOUND and ops[index - 1] != opcodes.END_FOR:
            yield firsts[index]


def pad(code: CodeType, units: int) -> CodeType:
    """The code with NOPs before every instruction, alternating before and behind."""
    consts = tuple(pad(c, units) if isinstance(c, CodeType) else c for c in code.co_consts)
    places = enumerate(free_places(code))
    inserts = [(unit, NOP * units, number % 2 == 1) for number, unit in places]
    padded, origin = _core.splice(code, inserts, consts)
    check_positions(code, padded, origin)
    return padded


def check_positions(code: CodeType, padded: CodeType, origin: bytes) -> None:
    units = struct.unpack(f"{len(origin) // 4}I", origin)
    before, after = list(code.co_positions()), list(padded.co_positions())
    assert len(after) == len(units) == len(padded.co_code) // 2
    assert [before[unit] for unit in units] == after


def compile_function(source: str, name: str = "f", units: int = 1) -> object:
    names: dict[str, object] = {}
    exec(pad(compile(source, "<test>", "exec"), units), names)
    return names[name]


def stdlib_files() -> list[Path]:
    return sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))


def test_whole_stdlib_keeps_its_positions() -> None:
    files = stdlib_files()
    assert len(files) > 100
    for file in files:
        pad(compile(file.read_bytes(), str(file), "exec", dont_inherit=True), 3)


@pytest.mark.parametrize("units", [1, 9, 130])
def test_padded_modules_work(units: int) -> None:
    library = Path(sysconfig.get_path("stdlib"))
    loaded = {}
    for name in ("argparse", "heapq", "textwrap", "colorsys"):
        file = library / f"{name}.py"
        module = ModuleType(f"padded_{name}")
        exec(pad(compile(file.read_bytes(), str(file), "exec"), units), module.__dict__)
        loaded[name] = module
    parser = loaded["argparse"].ArgumentParser(prog="p")
    parser.add_argument("--number", type=int)
    parser.add_argument("rest", nargs="*")
    found = parser.parse_args(["--number", "3", "a", "b"])
    assert (found.number, found.rest) == (3, ["a", "b"])
    assert "--number NUMBER" in parser.format_help()
    assert loaded["heapq"].nlargest(2, range(9)) == [8, 7]
    assert list(loaded["heapq"].merge([1, 4], [2, 3])) == [1, 2, 3, 4]
    assert loaded["textwrap"].fill("a b c", 3) == "a b\nc"
    assert loaded["colorsys"].rgb_to_hsv(0.0, 1.0, 0.0) == (1 / 3, 1.0, 1.0)


CONTROL_FLOW = """
def f(n):
    out = []
    for i in range(n):
        if i == 2:
            continue
        try:
            if i % 3 == 0:
                raise ValueError(i)
            out.append(i)
        except ValueError as e:
            out.append(str(e))
        finally:
            out.append('f')
        while i > 0:
            i -= 1
            if i == 4:
                break
        else:
            out.append('e')
    out += [x or y for x in range(2) for y in (3, None) if x is not None]
    match out:
        case [first, *_]:
            out.append(first)
    def gen():
        got = yield from (1, 2)
        yield got
    return out + list(gen())
"""


@pytest.mark.parametrize("units", [1, 7, 8, 17, 130, 2000])
def test_control_flow_survives_long_jumps(units: int) -> None:
    plain: dict[str, object] = {}
    exec(compile(CONTROL_FLOW, "<test>", "exec"), plain)
    padded = compile_function(CONTROL_FLOW, units=units)
    assert padded(9) == plain["f"](9)  # type: ignore[operator]


def test_jumps_of_four_bytes() -> None:
    source = "def f(n):\n    while n > 2:\n        n -= 1\n    return n\n"
    assert compile_function(source, units=70_000)(5) == 2  # type: ignore[operator]


@pytest.mark.parametrize("statements", [20, 120, 300, 30_000])
def test_one_unit_more_widens_a_jump(statements: int) -> None:
    """A body near 255 and 65535 units: inserted code pushes its jumps over the limit."""
    body = "\n".join(["        x = n"] * statements)
    source = f"def f(n):\n    for i in range(3):\n{body}\n    return x, i\n"
    for units in (1, 2, 3):
        assert compile_function(source, units=units)(5) == (5, 2)  # type: ignore[operator]


def test_jump_lands_on_code_before_but_not_behind() -> None:
    code = compile("a = (b if c else d) + e + e + e + e", "<test>", "exec")
    ops, args, firsts, _ = opcodes.decode(code.co_code)
    loads = zip(ops, args, firsts, strict=True)
    load_e = (opcodes.op("LOAD_NAME"), code.co_names.index("e"))
    join = next(first for number, arg, first in loads if (number, arg) == load_e)
    log: list[object] = []

    class Site:
        def __delitem__(self, key: object) -> None:
            log.append(key)

    number = len(code.co_consts)
    probe = bytes((opcodes.LOAD_CONST, number, opcodes.COPY, 2, opcodes.DELETE_SUBSCR, 0))
    for behind, expected in ((False, ["b", "d"]), (True, ["d"])):
        spliced, _ = _core.splice(code, [(join, probe, behind)], (*code.co_consts, Site()))
        log.clear()
        for c in (True, False):
            exec(spliced, {"b": "b", "c": c, "d": "d", "e": "e"})
        assert log == expected


FAILING = """
def inner(values):
    return (values[0] +
            values[1].missing)

def f(values):
    try:
        with open('/dev/null'):
            return [inner(v) for v in values]
    except AttributeError as error:
        raise KeyError('k') from error
"""


def render(function: object) -> str:
    try:
        function([[1, 2]])  # type: ignore[operator]
    except KeyError as error:
        error.__traceback__ = error.__traceback__.tb_next  # type: ignore[union-attr]
        return "".join(traceback.format_exception(error))
    raise AssertionError("it should have failed")


def test_tracebacks_are_the_same_to_the_caret(tmp_path: Path) -> None:
    file = tmp_path / "failing.py"
    file.write_text(FAILING)
    plain: dict[str, object] = {}
    padded: dict[str, object] = {}
    exec(compile(FAILING, str(file), "exec"), plain)
    exec(pad(compile(FAILING, str(file), "exec"), 11), padded)
    text = render(plain["f"])
    assert "^^^^^" in text
    assert render(padded["f"]) == text


def test_line_events_are_the_same() -> None:
    def trace(code: CodeType) -> list[tuple[str, int]]:
        lines: list[tuple[str, int]] = []

        def tracer(frame, event, arg):  # type: ignore[no-untyped-def]
            if frame.f_code.co_filename == "<test>":
                lines.append((event, frame.f_lineno))
                return tracer
            return None

        names: dict[str, object] = {}
        old = sys.gettrace()
        sys.settrace(tracer)
        try:
            exec(code, names)
            names["f"](6)  # type: ignore[operator]
        finally:
            sys.settrace(old)
        return lines

    code = compile(CONTROL_FLOW, "<test>", "exec")
    assert trace(pad(code, 2)) == trace(code)


SECOND = opcodes.SIZES[opcodes.RESUME]  # the unit of a module's second instruction


@pytest.mark.parametrize(
    ("inserts", "message"),
    [
        ([(10**6, NOP, False)], "before an instruction"),
        ([(0, NOP, False), (SECOND, NOP, False), (0, NOP, False)], "sorted"),
        ([(0, NOP, False), (0, NOP, True)], "behind"),
        (["x"], "not \\(unit"),
    ],
)
def test_wrong_inserts_are_refused(inserts: list[object], message: str) -> None:
    code = compile("a = 1", "<test>", "exec")
    with pytest.raises(ValueError, match=message):
        _core.splice(code, inserts, code.co_consts)


def test_inserts_inside_an_instruction_are_refused() -> None:
    code = compile("a.b.c", "<test>", "exec")
    ops, _, firsts, _ = opcodes.decode(code.co_code)
    attribute = firsts[ops.index(opcodes.op("LOAD_ATTR"))]
    with pytest.raises(ValueError, match="before an instruction"):
        _core.splice(code, [(attribute + 1, NOP, False)], code.co_consts)
