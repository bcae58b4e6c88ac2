# SPDX-License-Identifier: Apache-2.0
"""Probes for containers as a whole, and what else instructions tell about values."""

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.calls import created
from unsnarl.probes.python.rewriter.kinds import ITER, SHAPE_READ, SHAPE_WRITE
from unsnarl.probes.python.rewriter.tags import (
    BUILD_CLASS,
    CONST,
    DEFINITION,
    FRESH,
    FUNCTION,
    IMMUTABLE,
    ITERATOR,
    LOCAL,
    NAMED,
    NULL,
    PRIVATE,
    QUIET,
    SCALAR,
    SETTLED,
    UNKNOWN,
    Tag,
)
from unsnarl.probes.python.rewriter.walk import Walk, on

_IN_PLACE = 13  # first of BINARY_OP's arguments that stand for += and its kin
_CONTAINER_OPERATORS = frozenset({0, 1, 7, 10, 12})  # + & | - ^


# ---- membership, iteration, unpacking, operators, truth


@on("CONTAINS_OP")
def _contains(w: Walk, index: int, arg: int) -> None:
    w.read_shape(index, "in", 1, w.pop())
    w.pop()
    w.stack.append(SCALAR)


@on("GET_ITER")
def _get_iter(w: Walk, index: int, arg: int) -> None:
    source = w.pop()
    if SETTLED[source[0]]:
        w.stack.append(QUIET)
        return
    if source is not ITERATOR:
        w.read_shape(index, "iter", 1, source)
    w.stack.append(ITERATOR)


@on("FOR_ITER")
def _for_iter(w: Walk, index: int, arg: int) -> None:
    if w.peek(1) is not QUIET:
        w.probe(index, ITER, "for", 1)
    w.stack.append(UNKNOWN)


def _unpack(w: Walk, index: int, left: int) -> None:
    source = w.pop()
    if source[0] == LOCAL:
        w.maybe_shape(index, SHAPE_READ, "unpack", 1, source)
    elif NAMED[source[0]]:
        w.read_shape(index, "unpack", 1, source)
    w.stack.extend([UNKNOWN] * left)


@on("UNPACK_SEQUENCE")
def _unpack_sequence(w: Walk, index: int, arg: int) -> None:
    _unpack(w, index, arg)


@on("UNPACK_EX")
def _unpack_ex(w: Walk, index: int, arg: int) -> None:
    _unpack(w, index, (arg & 0xFF) + (arg >> 8) + 1)


@on("LIST_EXTEND SET_UPDATE DICT_UPDATE DICT_MERGE")
def _extend(w: Walk, index: int, arg: int) -> None:
    source = w.pop()
    if NAMED[source[0]]:
        w.read_shape(index, "*", 1, source)


@on("BINARY_OP")
def _binary_op(w: Walk, index: int, arg: int) -> None:
    right, left = w.pop(), w.pop()
    result = SCALAR
    if arg >= _IN_PLACE:
        if right is FRESH and not PRIVATE[left[0]]:
            w.probe(index, SHAPE_WRITE, "+=", 2)
            w.saw_container(left)
            result = left
        elif NAMED[left[0]] and not IMMUTABLE[right[0]]:
            w.maybe_shape(index, SHAPE_WRITE, "+=", 2, left)
    elif arg in _CONTAINER_OPERATORS:
        result = _combine(w, index, left, right)
    w.stack.append(result)


def _combine(w: Walk, index: int, left: Tag, right: Tag) -> Tag:
    if right is FRESH and NAMED[left[0]]:
        w.read_shape(index, "+", 2, left)
    elif left is FRESH and NAMED[right[0]]:
        w.read_shape(index, "+", 1, right)
    return FRESH if FRESH in (left, right) else SCALAR


@on("COMPARE_OP")
def _compare(w: Walk, index: int, arg: int) -> None:
    right, left = w.pop(), w.pop()
    if right is FRESH and NAMED[left[0]]:
        w.read_shape(index, "==", 2, left)
    elif left is FRESH and NAMED[right[0]]:
        w.read_shape(index, "==", 1, right)
    w.stack.append(SCALAR)


@on(
    "POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_FORWARD_IF_TRUE POP_JUMP_FORWARD_IF_FALSE"
    " POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE"
    " JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP"
)
def _truth(w: Walk, index: int, arg: int) -> None:
    value = w.pop()
    if NAMED[value[0]]:
        w.maybe_shape(index, SHAPE_READ, "bool", 1, value)


@on("UNARY_NOT TO_BOOL")
def _to_bool(w: Walk, index: int, arg: int) -> None:
    _truth(w, index, arg)
    w.stack.append(SCALAR)


@on("UNARY_NEGATIVE UNARY_POSITIVE UNARY_INVERT FORMAT_SIMPLE CONVERT_VALUE")
def _unary(w: Walk, index: int, arg: int) -> None:
    w.pop()
    w.stack.append(SCALAR)


@on("IS_OP FORMAT_WITH_SPEC")
def _binary(w: Walk, index: int, arg: int) -> None:
    w.pop_many(2)
    w.stack.append(SCALAR)


@on("FORMAT_VALUE")
def _format(w: Walk, index: int, arg: int) -> None:
    w.pop_many(2 if arg & 4 else 1)
    w.stack.append(SCALAR)


# ---- new values


@on("BUILD_LIST BUILD_SET")
def _build(w: Walk, index: int, arg: int) -> None:
    w.pop_many(arg)
    w.stack.append(FRESH)
    created(w, index)


@on("BUILD_MAP")
def _build_map(w: Walk, index: int, arg: int) -> None:
    _build(w, index, 2 * arg)


@on("BUILD_CONST_KEY_MAP")
def _build_const_key_map(w: Walk, index: int, arg: int) -> None:
    _build(w, index, arg + 1)


@on("BUILD_TUPLE BUILD_STRING")
def _build_immutable(w: Walk, index: int, arg: int) -> None:
    w.pop_many(arg)
    w.stack.append(SCALAR)


@on("LOAD_CONST")
def _load_const(w: Walk, index: int, arg: int) -> None:
    w.stack.append((CONST, arg))


@on("MAKE_FUNCTION")
def _make_function(w: Walk, index: int, arg: int) -> None:
    code = w.pop()
    if opcodes.VERSION < (3, 13):
        w.pop_many((arg & 15).bit_count())
    w.stack.append((FUNCTION, code[1] if code[0] == CONST else None))


@on("SET_FUNCTION_ATTRIBUTE")
def _set_function_attribute(w: Walk, index: int, arg: int) -> None:
    function = w.pop()
    w.pop()
    w.stack.append(function)


@on("LOAD_BUILD_CLASS")
def _load_build_class(w: Walk, index: int, arg: int) -> None:
    w.stack.append(BUILD_CLASS)


@on("IMPORT_NAME")
def _import_name(w: Walk, index: int, arg: int) -> None:
    w.epoch += 1
    w.pop_many(2)
    w.stack.append(DEFINITION)


@on("IMPORT_FROM")
def _import_from(w: Walk, index: int, arg: int) -> None:
    w.stack.append(DEFINITION)


@on("YIELD_VALUE SEND")
def _suspend(w: Walk, index: int, arg: int) -> None:
    w.epoch += 1
    w.suspensions += 1
    w.pop()
    w.stack.append(UNKNOWN)


@on("BEFORE_WITH BEFORE_ASYNC_WITH")
def _enter(w: Walk, index: int, arg: int) -> None:
    w.epoch += 1
    w.pop()
    w.stack += (UNKNOWN, UNKNOWN)


# ---- the stack itself


@on("PUSH_NULL")
def _push_null(w: Walk, index: int, arg: int) -> None:
    w.stack.append(NULL)


@on("COPY")
def _copy(w: Walk, index: int, arg: int) -> None:
    w.stack.append(w.peek(arg))


@on("SWAP")
def _swap(w: Walk, index: int, arg: int) -> None:
    stack = w.stack
    if len(stack) < arg:
        stack[:0] = [UNKNOWN] * (arg - len(stack))
    stack[-1], stack[-arg] = stack[-arg], stack[-1]


@on("RAISE_VARARGS")
def _raise(w: Walk, index: int, arg: int) -> None:
    w.pop_many(arg)
