# SPDX-License-Identifier: Apache-2.0
"""What the running interpreter's instructions do: the tables all analyses of bytecode stand on.

Only this file knows that versions differ. An instruction that a version lacks gets the number -1,
so a comparison with it is never true.
"""

import opcode
import sys
from collections.abc import Mapping

VERSION = sys.version_info[:2]
_MAP = opcode.opmap


def op(name: str) -> int:
    """The number of an instruction of this version, or -1."""
    number = _MAP.get(name, -1)
    # From 3.12 on the map also has the compiler's pseudo-instructions, which no code contains.
    return number if number < 256 else -1


def numbers(names: str) -> frozenset[int]:
    """Those of some instructions, as far as this version has them."""
    return frozenset(op(name) for name in names.split()) - {-1}


def _cache_counts() -> list[int]:
    counts: list[int] | Mapping[str, int] = opcode._inline_cache_entries  # type: ignore[attr-defined]
    # 3.13 has made a dictionary by name of what was a list by number, and 3.15 has frozen it.
    if not isinstance(counts, Mapping):
        return list(counts)
    return [counts.get(opcode.opname[number], 0) for number in range(256)]


# Units an instruction takes, its cache entries included.
SIZES = [1 + caches for caches in _cache_counts()]

EXTENDED_ARG = op("EXTENDED_ARG")
LOAD_CONST = op("LOAD_CONST")
COPY = op("COPY")
DELETE_SUBSCR = op("DELETE_SUBSCR")
STORE_SUBSCR = op("STORE_SUBSCR")
STORE_GLOBAL = op("STORE_GLOBAL")
STORE_ATTR = op("STORE_ATTR")
DELETE_GLOBAL = op("DELETE_GLOBAL")
STORE_DEREF = op("STORE_DEREF")
DELETE_DEREF = op("DELETE_DEREF")
STORE_NAME = op("STORE_NAME")
IMPORT_NAME = op("IMPORT_NAME")
IMPORT_FROM = op("IMPORT_FROM")
KW_NAMES = op("KW_NAMES")
PRECALL = op("PRECALL")
CALL = op("CALL")
RESUME = op("RESUME")
SEND = op("SEND")
END_FOR = op("END_FOR")
NOT_TAKEN = op("NOT_TAKEN")
# 3.13 loads a cell object, for a closure, with the instruction for locals.
LOAD_CLOSURE = op("LOAD_CLOSURE") if VERSION < (3, 13) else op("LOAD_FAST")
_LOAD_SMALL_INT = op("LOAD_SMALL_INT")
_LOAD_COMMON_CONSTANT = op("LOAD_COMMON_CONSTANT")
_COMMON_CONSTANTS = getattr(opcode, "_common_constants", ())
NO_CONSTANT = object()

_LOADS = numbers("LOAD_CLOSURE") if VERSION < (3, 13) else numbers("LOAD_FAST LOAD_FAST_BORROW")
_DOUBLE_LOADS = numbers("LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW")

CALLS = numbers("CALL CALL_KW CALL_FUNCTION_EX")
CALL_SITES = CALLS | numbers("BEFORE_WITH BEFORE_ASYNC_WITH WITH_EXCEPT_START")

_FORWARD = numbers(
    "FOR_ITER SEND JUMP_FORWARD JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP"
    " POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_TRUE"
    " POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE"
    " POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE"
)
_BACKWARD = numbers(
    "JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT"
    " POP_JUMP_BACKWARD_IF_FALSE POP_JUMP_BACKWARD_IF_TRUE"
    " POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE"
)
# 1: jumps forward, -1: backward, 0: no jump.
JUMPS = [1 if n in _FORWARD else -1 if n in _BACKWARD else 0 for n in range(256)]
# Never go on to the next instruction.
TERMINAL = numbers(
    "RETURN_VALUE RETURN_CONST RAISE_VARARGS RERAISE JUMP_FORWARD JUMP_BACKWARD"
    " JUMP_BACKWARD_NO_INTERRUPT INTERPRETER_EXIT"
)

# Where the interpreter looks whether another thread wants the GIL (ceval.c, CHECK_EVAL_BREAKER).
# A `with` is here too, although it has no such check: the lock it enters may block.
BREAKERS = CALLS | numbers("RESUME BEFORE_WITH BEFORE_ASYNC_WITH")
# Jumps that look there when they are taken.
BREAKER_JUMPS = _BACKWARD - numbers("JUMP_BACKWARD_NO_INTERRUPT")

# (values taken, values left) where the argument has no say. tests/unit/test_rewriter_opcodes.py
# holds this against the interpreter's own stack_effect.
_EFFECTS = {
    "CACHE NOP SETUP_ANNOTATIONS DELETE_NAME DELETE_GLOBAL DELETE_FAST DELETE_DEREF MAKE_CELL"
    " COPY_FREE_VARS RESUME PRECALL KW_NAMES EXTENDED_ARG NOT_TAKEN JUMP_FORWARD JUMP_BACKWARD"
    " JUMP_BACKWARD_NO_INTERRUPT RETURN_CONST": (0, 0),
    "POP_TOP POP_ITER RETURN_VALUE IMPORT_STAR PRINT_EXPR POP_EXCEPT STORE_NAME STORE_GLOBAL"
    " STORE_FAST STORE_DEREF DELETE_ATTR RERAISE LIST_APPEND SET_ADD LIST_EXTEND SET_UPDATE"
    " DICT_MERGE DICT_UPDATE INTERPRETER_EXIT EXIT_INIT_CHECK POP_JUMP_FORWARD_IF_FALSE"
    " POP_JUMP_FORWARD_IF_TRUE POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE"
    " POP_JUMP_BACKWARD_IF_FALSE POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_BACKWARD_IF_NONE"
    " POP_JUMP_BACKWARD_IF_NOT_NONE POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE POP_JUMP_IF_NONE"
    " POP_JUMP_IF_NOT_NONE JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP": (1, 0),
    "DELETE_SUBSCR STORE_ATTR MAP_ADD END_ASYNC_FOR STORE_FAST_STORE_FAST": (2, 0),
    "STORE_SUBSCR": (3, 0),
    "STORE_SLICE": (4, 0),
    "PUSH_NULL GET_LEN MATCH_MAPPING MATCH_SEQUENCE MATCH_KEYS WITH_EXCEPT_START GET_ANEXT"
    " LOAD_BUILD_CLASS LOAD_ASSERTION_ERROR RETURN_GENERATOR LOAD_CONST LOAD_SMALL_INT"
    " LOAD_COMMON_CONSTANT LOAD_NAME IMPORT_FROM LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_BORROW"
    " LOAD_FAST_AND_CLEAR LOAD_CLOSURE LOAD_DEREF LOAD_CLASSDEREF LOAD_LOCALS FOR_ITER COPY": (
        0,
        1,
    ),
    "LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW": (0, 2),
    "UNARY_POSITIVE UNARY_NEGATIVE UNARY_NOT UNARY_INVERT TO_BOOL CHECK_EXC_MATCH GET_AITER"
    " GET_ITER GET_YIELD_FROM_ITER LIST_TO_TUPLE YIELD_VALUE ASYNC_GEN_WRAP GET_AWAITABLE"
    " LOAD_FROM_DICT_OR_DEREF LOAD_FROM_DICT_OR_GLOBALS FORMAT_SIMPLE CONVERT_VALUE"
    " CALL_INTRINSIC_1 SEND STORE_FAST_LOAD_FAST": (1, 1),
    "PUSH_EXC_INFO BEFORE_ASYNC_WITH BEFORE_WITH LOAD_METHOD LOAD_SPECIAL": (1, 2),
    "BINARY_SUBSCR COMPARE_OP IS_OP CONTAINS_OP BINARY_OP IMPORT_NAME PREP_RERAISE_STAR END_SEND"
    " SET_FUNCTION_ATTRIBUTE FORMAT_WITH_SPEC CALL_INTRINSIC_2 BUILD_TEMPLATE": (2, 1),
    "CHECK_EG_MATCH": (2, 2),
    "BINARY_SLICE MATCH_CLASS": (3, 1),
    "CLEANUP_THROW": (3, 2),
}
# Instructions whose handlers say what they take (rewriter/handlers.py).
_BY_ARGUMENT = (
    "BINARY_OP BUILD_CONST_KEY_MAP BUILD_INTERPOLATION BUILD_LIST BUILD_MAP BUILD_SET BUILD_SLICE"
    " BUILD_STRING BUILD_TUPLE CALL CALL_FUNCTION_EX CALL_KW END_FOR FORMAT_VALUE LOAD_ATTR"
    " LOAD_GLOBAL LOAD_SUPER_ATTR MAKE_FUNCTION RAISE_VARARGS SWAP UNPACK_EX UNPACK_SEQUENCE"
)
# A new version's instructions must be looked at: tests/unit/test_rewriter_opcodes.py.
CLASSIFIED = frozenset(" ".join((*_EFFECTS, _BY_ARGUMENT)).split())
# Never in a co_code.
INTERNAL = {
    "CACHE", "RESERVED", "INTERPRETER_EXIT", "ENTER_EXECUTOR", "EXIT_INIT_CHECK", "TRACE_RECORD",
}  # fmt: skip
POPS = [0] * 256
PUSHES = [0] * 256


def _fill_effects() -> None:
    for names, (taken, left) in _EFFECTS.items():
        for number in numbers(names):
            POPS[number], PUSHES[number] = taken, left
    # 3.12 drops iterator and value at once; in 3.13 a POP_TOP follows. 3.11 has no END_FOR.
    if VERSION == (3, 12):
        POPS[END_FOR] = 2
    elif VERSION > (3, 12):
        POPS[END_FOR] = 1
    # 3.15 keeps an index, or NULL, above every iterator that it goes over.
    if VERSION >= (3, 15):
        PUSHES[op("GET_ITER")] = 2
        POPS[op("POP_ITER")] = 2
        POPS[op("END_SEND")] = 3
        POPS[op("CLEANUP_THROW")], PUSHES[op("CLEANUP_THROW")] = 4, 3


_fill_effects()


def constant(number: int, arg: int, consts: tuple[object, ...]) -> object:
    """What an instruction loads that loads a constant; else NO_CONSTANT."""
    if number == LOAD_CONST:
        return consts[arg]
    if number == _LOAD_SMALL_INT:
        return arg
    return _COMMON_CONSTANTS[arg] if number == _LOAD_COMMON_CONSTANT else NO_CONSTANT


def imported_name(arg: int) -> int:
    """The index of the name that IMPORT_NAME imports; from 3.15 on two bits say if lazily."""
    return arg >> 2 if VERSION >= (3, 15) else arg


def loaded_slots(number: int, arg: int) -> tuple[int, ...]:
    """The slots of the frame from which an instruction loads, as a closure is made."""
    if number in _LOADS:
        return (arg,)
    return (arg >> 4, arg & 15) if number in _DOUBLE_LOADS else ()


def decode(code: bytes) -> tuple[list[int], list[int], list[int], list[int]]:
    """Instructions of a co_code: opcodes, arguments, first units and units of the opcodes.

    The first unit differs from the opcode's where EXTENDED_ARGs stand before it.
    """
    ops: list[int] = []
    args: list[int] = []
    firsts: list[int] = []
    units: list[int] = []
    unit, end, sizes = 0, len(code) >> 1, SIZES
    while unit < end:
        firsts.append(unit)
        number = code[2 * unit]
        arg = code[2 * unit + 1]
        while number == EXTENDED_ARG:
            unit += 1
            number = code[2 * unit]
            arg = arg << 8 | code[2 * unit + 1]
        ops.append(number)
        args.append(arg)
        units.append(unit)
        unit += sizes[number]
    return ops, args, firsts, units


def unclassified() -> list[str]:
    """Instructions of this interpreter that nobody has looked at: none, of a supported version."""
    real = {name for name, n in _MAP.items() if n < 256 and not name.startswith("INSTR")}
    return sorted(real - INTERNAL - CLASSIFIED)
