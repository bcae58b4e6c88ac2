# SPDX-License-Identifier: Apache-2.0
"""The tables of instructions, held against the interpreter's own."""

import dis
import opcode
import sysconfig
from pathlib import Path
from types import CodeType

import pytest

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.flow import read_exception_table
from unsnarl.probes.python.rewriter.handlers import HANDLERS
from unsnarl.probes.python.rewriter.module import Body, Facts, ModuleInfo
from unsnarl.probes.python.rewriter.tags import UNKNOWN
from unsnarl.probes.python.rewriter.walk import Walk

pytestmark = pytest.mark.core

REAL = {name: n for name, n in opcode.opmap.items() if n < 256 and not name.startswith("INSTR")}


def effect(number: int, arg: int) -> int:
    """How the walk changes the height of the stack."""
    code = compile("def f(a, b): return a.b.c.d", "<test>", "exec").co_consts[0]
    walk = Walk(Body(code), Facts(ModuleInfo("m", "m.py")))
    walk.names = tuple("abcdefgh")
    walk.slots = list("abcdefgh")
    walk.local_tags = [(9, slot) for slot in range(8)]
    walk.stack.extend([UNKNOWN] * 40)
    handler = HANDLERS[number]
    if handler is not None:
        handler(walk, 0, arg)
    else:
        del walk.stack[len(walk.stack) - opcodes.POPS[number] :]
        walk.stack.extend([UNKNOWN] * opcodes.PUSHES[number])
    return len(walk.stack) - 40


@pytest.mark.parametrize("name", sorted(REAL.keys() - opcodes.INTERNAL))
def test_stack_effects(name: str) -> None:
    number = REAL[name]
    if name in ("RETURN_GENERATOR", "RETURN_VALUE"):
        return  # a value that leaves for another frame is counted in different ways
    has_arg = number in getattr(dis, "hasarg", range(opcode.HAVE_ARGUMENT, 256))
    # A slice takes two or three, a raise none to two, the others anything.
    args = {"BUILD_SLICE": (2, 3), "RAISE_VARARGS": (0, 1, 2), "RERAISE": (0, 1)}
    for arg in args.get(name, (0, 1, 2, 3, 4, 5)) if has_arg else (0,):
        if name in ("SWAP", "COPY") and arg == 0:
            continue
        expected = dis.stack_effect(number, arg if has_arg else None, jump=False)
        if opcodes.PRECALL >= 0 and name in ("PRECALL", "CALL"):
            # 3.11 parts a call in two; the walk counts it all at the second.
            expected = 0 if name == "PRECALL" else expected - arg
        assert effect(number, arg) == expected, arg


def test_every_instruction_is_classified() -> None:
    """A new version's instructions must be looked at: nothing tells that none was needed."""
    assert opcodes.unclassified() == []
    for name in REAL.keys() - opcodes.INTERNAL:
        assert opcodes.SIZES[REAL[name]] >= 1


def all_code(code: CodeType) -> list[CodeType]:
    nested = [const for const in code.co_consts if isinstance(const, CodeType)]
    return [code, *(found for const in nested for found in all_code(const))]


@pytest.mark.parametrize("module", ["argparse", "asyncio/tasks", "typing", "contextlib"])
def test_decoding_agrees_with_dis(module: str) -> None:
    file = Path(sysconfig.get_path("stdlib")) / f"{module}.py"
    for code in all_code(compile(file.read_bytes(), str(file), "exec")):
        ops, args, _, units = opcodes.decode(code.co_code)
        found = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
        assert ops == [i.opcode for i in found]
        assert units == [i.offset // 2 for i in found]
        assert all(i.arg is None or i.arg == arg for i, arg in zip(found, args, strict=True))
        # END_ASYNC_FOR only says where its loop began (native/binding/splice.c).
        jumps = [i.opcode in dis.hasjrel and i.opname != "END_ASYNC_FOR" for i in found]
        assert jumps == [bool(opcodes.JUMPS[number]) for number in ops]
        entries = dis._parse_exception_table(code)  # type: ignore[attr-defined]
        expected = [(e.start // 2, e.end // 2, e.target // 2) for e in entries]
        assert read_exception_table(code.co_exceptiontable) == expected
