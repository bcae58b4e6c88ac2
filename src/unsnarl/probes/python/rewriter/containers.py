# SPDX-License-Identifier: Apache-2.0
"""Probes for containers as a whole, and what else instructions say about values."""

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.accesses import read_item
from unsnarl.probes.python.rewriter.calls import created
from unsnarl.probes.python.rewriter.kinds import (
    ARGUMENT,
    ITER,
    ITSELF,
    SHAPE_READ,
    SHAPE_WRITE,
    YIELD,
)
from unsnarl.probes.python.rewriter.tags import (
    ARGUMENT_ITERATOR,
    ARGUMENT_SOURCE,
    BUILD_CLASS,
    CONST,
    DEFINITION,
    EXIT,
    FRESH,
    FUNCTION,
    IMMUTABLE,
    ITERATOR,
    LIBRARY,
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
from unsnarl.probes.python.rewriter.walk import Handlers, Walk

handlers = Handlers()
_CO_GENERATOR = 0x20
# Numbers of the NB_* operators (opcode.h), the same in all versions; the last one is of 3.14.
_ITERATOR_DEPTH = 2 if opcodes.VERSION >= (3, 15) else 1  # an index, or NULL, lies above it
_AUGMENTED = 13  # first of BINARY_OP's arguments that stand for += and its kin
_SUBSCRIPT = 26
_EXITS = (1, 3)  # arguments of LOAD_SPECIAL: __exit__, __aexit__
_CONTAINER_OPERATORS = frozenset({0, 1, 5, 7, 10, 12})  # + & * | - ^


# ---- membership, iteration, unpacking, operators, truth


@handlers.on("CONTAINS_OP")
def _contains(w: Walk, index: int, arg: int) -> None:
    w.read_shape(index, "in", 1, w.pop())
    w.pop()
    w.stack.append(SCALAR)


@handlers.on("GET_ITER")
def _get_iter(w: Walk, index: int, arg: int) -> None:
    source = w.pop()
    if opcodes.VERSION >= (3, 15):
        w.stack.append(UNKNOWN)
    if arg:  # of 3.15: what `yield from` goes over
        w.stack.append(UNKNOWN)
        return
    if SETTLED[source[0]]:
        result = QUIET
    else:
        result = ARGUMENT_ITERATOR if source is ARGUMENT_SOURCE else ITERATOR
        if source[0] != ITERATOR[0]:
            w.read_shape(index, "iter", 1, source)
    w.stack.insert(len(w.stack) + 1 - _ITERATOR_DEPTH, result)


@handlers.on("FOR_ITER")
def _for_iter(w: Walk, index: int, arg: int) -> None:
    iterator = w.peek(_ITERATOR_DEPTH)
    if iterator is not QUIET:
        flags = ARGUMENT if iterator is ARGUMENT_ITERATOR else 0
        w.probe(index, ITER, "for", _ITERATOR_DEPTH, flags)
    w.stack.append(UNKNOWN)


def _unpack(w: Walk, index: int, left: int) -> None:
    source = w.pop()
    if source[0] == LOCAL:
        w.maybe_shape(index, SHAPE_READ, "unpack", 1, source)
    elif NAMED[source[0]]:
        w.read_shape(index, "unpack", 1, source)
    w.stack.extend([UNKNOWN] * left)


@handlers.on("UNPACK_SEQUENCE")
def _unpack_sequence(w: Walk, index: int, arg: int) -> None:
    _unpack(w, index, arg)


@handlers.on("UNPACK_EX")
def _unpack_ex(w: Walk, index: int, arg: int) -> None:
    # Low byte: names before the star; the rest: those after it.
    _unpack(w, index, (arg & 0xFF) + (arg >> 8) + 1)


@handlers.on("LIST_EXTEND SET_UPDATE DICT_UPDATE DICT_MERGE")
def _extend(w: Walk, index: int, arg: int) -> None:
    source = w.pop()
    if NAMED[source[0]]:
        w.read_shape(index, "*", 1, source)


@handlers.on("BINARY_OP")
def _binary_op(w: Walk, index: int, arg: int) -> None:
    if arg == _SUBSCRIPT:
        read_item(w, index, arg)
        return
    right, left = w.pop(), w.pop()
    result = SCALAR
    if arg >= _AUGMENTED:
        # A new container on the right shows that the left side is one, too, which is changed
        # itself; numbers, the usual case, need no probe.
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
    else:
        _maybe_operands(w, index, "+", left, right)
    return FRESH if FRESH in (left, right) else SCALAR


def _maybe_operands(w: Walk, index: int, name: str, left: Tag, right: Tag) -> None:
    """Numbers, the usual case, need no probe."""
    for depth, operand in ((2, left), (1, right)):
        if NAMED[operand[0]]:
            w.maybe_shape(index, SHAPE_READ, name, depth, operand)


@handlers.on("COMPARE_OP")
def _compare(w: Walk, index: int, arg: int) -> None:
    right, left = w.pop(), w.pop()
    if right is FRESH and NAMED[left[0]]:
        w.read_shape(index, "==", 2, left)
    elif left is FRESH and NAMED[right[0]]:
        w.read_shape(index, "==", 1, right)
    else:
        _maybe_operands(w, index, "==", left, right)
    w.stack.append(SCALAR)


@handlers.on(
    "POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_FORWARD_IF_TRUE POP_JUMP_FORWARD_IF_FALSE"
    " POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE"
    " JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP"
)
def _truth(w: Walk, index: int, arg: int) -> None:
    value = w.pop()
    if NAMED[value[0]]:
        w.maybe_shape(index, SHAPE_READ, "bool", 1, value)


@handlers.on("UNARY_NOT TO_BOOL")
def _to_bool(w: Walk, index: int, arg: int) -> None:
    _truth(w, index, arg)
    w.stack.append(SCALAR)


@handlers.on("UNARY_NEGATIVE UNARY_POSITIVE UNARY_INVERT")
def _unary(w: Walk, index: int, arg: int) -> None:
    w.pop()
    w.stack.append(SCALAR)


def _render(w: Walk, index: int, value: Tag, depth: int) -> None:
    if NAMED[value[0]]:
        w.maybe_shape(index, SHAPE_READ, "format", depth, value)
    w.stack.append(SCALAR)


@handlers.on("FORMAT_SIMPLE CONVERT_VALUE")
def _format_simple(w: Walk, index: int, arg: int) -> None:
    _render(w, index, w.pop(), 1)


@handlers.on("IS_OP FORMAT_WITH_SPEC")
def _binary(w: Walk, index: int, arg: int) -> None:
    w.pop_many(2)
    w.stack.append(SCALAR)


@handlers.on("FORMAT_VALUE")
def _format(w: Walk, index: int, arg: int) -> None:
    # FVS_HAVE_SPEC: a format specification lies on top.
    values = w.pop_many(2 if arg & 4 else 1)
    _render(w, index, values[0], len(values))


# ---- new values


@handlers.on("BUILD_LIST BUILD_SET")
def _build(w: Walk, index: int, arg: int) -> None:
    w.pop_many(arg)
    w.stack.append(FRESH)
    created(w, index)


@handlers.on("BUILD_MAP")
def _build_map(w: Walk, index: int, arg: int) -> None:
    _build(w, index, 2 * arg)


@handlers.on("BUILD_CONST_KEY_MAP")
def _build_const_key_map(w: Walk, index: int, arg: int) -> None:
    _build(w, index, arg + 1)


@handlers.on("BUILD_TUPLE BUILD_STRING")
def _build_immutable(w: Walk, index: int, arg: int) -> None:
    w.pop_many(arg)
    w.stack.append(SCALAR)


@handlers.on("LOAD_CONST")
def _load_const(w: Walk, index: int, arg: int) -> None:
    w.stack.append((CONST, arg))


@handlers.on("LOAD_SMALL_INT LOAD_COMMON_CONSTANT")
def _load_small(w: Walk, index: int, arg: int) -> None:
    w.stack.append(SCALAR)


@handlers.on("BUILD_INTERPOLATION")
def _build_interpolation(w: Walk, index: int, arg: int) -> None:
    # Of a t-string: the value and its text; the low bit: and how it is to be formatted.
    w.pop_many(2 + (arg & 1))
    w.stack.append(SCALAR)


@handlers.on("MAKE_FUNCTION")
def _make_function(w: Walk, index: int, arg: int) -> None:
    code = w.pop()
    # Defaults, annotations and closure: from 3.13 on each has a SET_FUNCTION_ATTRIBUTE.
    if opcodes.VERSION < (3, 13):
        w.pop_many((arg & 15).bit_count())
    w.stack.append((FUNCTION, code[1] if code[0] == CONST else None))


@handlers.on("SET_FUNCTION_ATTRIBUTE")
def _set_function_attribute(w: Walk, index: int, arg: int) -> None:
    function = w.pop()
    w.pop()
    w.stack.append(function)


@handlers.on("LOAD_BUILD_CLASS")
def _load_build_class(w: Walk, index: int, arg: int) -> None:
    w.stack.append(BUILD_CLASS)


@handlers.on("IMPORT_NAME")
def _import_name(w: Walk, index: int, arg: int) -> None:
    w.epoch += 1
    w.pop_many(2)
    consts, module = w.body.code.co_consts, w.names[opcodes.imported_name(arg)]
    level, wanted = (
        opcodes.constant(w.ops[at], w.args[at], consts) for at in (index - 2, index - 1)
    )
    if level != 0 or not w.facts.info.is_library(module):
        w.stack.append(DEFINITION)
        return
    has_names = wanted is not None and wanted is not opcodes.NO_CONSTANT
    # `import a.b` binds a; `from a.b import c` and `import a.b as c` ask a.b for more.
    whole = has_names or (index + 1 < len(w.ops) and w.ops[index + 1] == opcodes.IMPORT_FROM)
    w.stack.append((LIBRARY, module if whole else module.partition(".")[0]))


@handlers.on("IMPORT_FROM")
def _import_from(w: Walk, index: int, arg: int) -> None:
    kind, module = w.peek(1)
    w.stack.append((LIBRARY, f"{module}.{w.names[arg]}") if kind == LIBRARY else DEFINITION)


@handlers.on("YIELD_VALUE")
def _yield(w: Walk, index: int, arg: int) -> None:
    _leave_generator(w, index)
    _suspend(w, index, arg)


@handlers.on("SEND")
def _suspend(w: Walk, index: int, arg: int) -> None:
    w.epoch += 1
    w.suspensions += 1
    w.pop()
    w.stack.append(UNKNOWN)


@handlers.on("RETURN_VALUE")
def _return(w: Walk, index: int, arg: int) -> None:
    _leave_generator(w, index)
    w.pop()


@handlers.on("RETURN_CONST")
def _return_const(w: Walk, index: int, arg: int) -> None:
    _leave_generator(w, index)


def _leave_generator(w: Walk, index: int) -> None:
    code = w.body.code
    # A generator expression is nearly always consumed where it stands. Between SEND and its
    # YIELD_VALUE nothing may stand: gen.throw() counts on it (genobject.c).
    if not code.co_flags & _CO_GENERATOR or code.co_name == "<genexpr>":
        return
    if w.ops[index - 1] != opcodes.SEND:
        w.probe(index, YIELD, "yield", ITSELF)


@handlers.on("BEFORE_WITH BEFORE_ASYNC_WITH")
def _enter(w: Walk, index: int, arg: int) -> None:
    w.epoch += 1
    w.pop()
    w.stack += (EXIT, UNKNOWN)


@handlers.on("LOAD_SPECIAL")
def _load_special(w: Walk, index: int, arg: int) -> None:
    # From 3.14 on a with statement looks its two methods up, and calls them as any other.
    w.epoch += 1
    w.pop()
    w.stack += (EXIT if arg in _EXITS else UNKNOWN, UNKNOWN)


# ---- the stack itself


@handlers.on("PUSH_NULL")
def _push_null(w: Walk, index: int, arg: int) -> None:
    w.stack.append(NULL)


@handlers.on("COPY")
def _copy(w: Walk, index: int, arg: int) -> None:
    w.stack.append(w.peek(arg))


@handlers.on("SWAP")
def _swap(w: Walk, index: int, arg: int) -> None:
    stack = w.stack
    if len(stack) < arg:
        stack[:0] = [UNKNOWN] * (arg - len(stack))
    stack[-1], stack[-arg] = stack[-arg], stack[-1]


@handlers.on("RAISE_VARARGS")
def _raise(w: Walk, index: int, arg: int) -> None:
    w.pop_many(arg)
