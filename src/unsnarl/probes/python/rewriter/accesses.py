# SPDX-License-Identifier: Apache-2.0
"""Probes for what the language itself reads and writes: attributes, items and names."""

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.calls import created, look_up, swapped_attribute
from unsnarl.probes.python.rewriter.kinds import (
    ALONE,
    ATTR_READ,
    ATTR_WRITE,
    CELL_READ,
    CELL_WRITE,
    CONTAINER_AND_KEY,
    GLOBAL_READ,
    GLOBAL_WRITE,
    INIT,
    ITEM_DELETE,
    ITEM_READ,
    ITEM_WRITE,
    ITSELF,
    SHAPE_WRITE,
    SUPER,
    cell_operand,
)
from unsnarl.probes.python.rewriter.names import BUILTIN_CLASSES
from unsnarl.probes.python.rewriter.tags import (
    ARGUMENT_ITERATOR,
    ARGUMENT_SOURCE,
    DECORATED,
    FRESH,
    FUNCTION,
    GLOBAL,
    HEAP,
    IMMUTABLE,
    LIBRARY,
    LOCAL,
    NULL,
    PRIVATE,
    QUIET,
    SCALAR,
    UNKNOWN,
    Tag,
)
from unsnarl.probes.python.rewriter.walk import Handlers, Walk

handlers = Handlers()
# 3.12 has merged LOAD_METHOD into LOAD_ATTR: the low bit of its argument asks for a method.
_HAS_METHOD_BIT = opcodes.VERSION >= (3, 12)
# 3.13 has swapped the two: the callable lies below NULL or self, no longer above.
_CALLABLE_FIRST = opcodes.VERSION >= (3, 13)
# The first argument of a comprehension: from 3.15 on it is what the comprehension itself asks for
# an iterator.
_ARGUMENT = ARGUMENT_ITERATOR if opcodes.VERSION < (3, 15) else ARGUMENT_SOURCE
_BUILD_SLICE = opcodes.op("BUILD_SLICE")
_CONSTRUCTORS = frozenset({"__init__", "__post_init__"})


# ---- attributes


@handlers.on("LOAD_ATTR")
def _load_attr(w: Walk, index: int, arg: int) -> None:
    if _HAS_METHOD_BIT:
        if arg & 1:
            look_up(w, index, arg >> 1)
            return
        arg >>= 1
    name, receiver = w.names[arg], w.pop()
    kind = receiver[0]
    swapped = swapped_attribute(w, index, receiver, name)
    if kind == GLOBAL and (module := w.facts.library_module(receiver[1])):
        w.stack.append((LIBRARY, f"{module}.{name}"))
    elif kind == LIBRARY:
        w.stack.append((LIBRARY, f"{receiver[1]}.{name}"))
    else:
        if not IMMUTABLE[kind] and not swapped:
            w.probe(index, ATTR_READ, name, 1)
        w.stack.append((HEAP, name))


@handlers.on("LOAD_METHOD")
def _load_method(w: Walk, index: int, arg: int) -> None:
    look_up(w, index, arg)


@handlers.on("STORE_ATTR")
def _store_attr(w: Walk, index: int, arg: int) -> None:
    receiver, value = w.pop(), w.pop()
    name = w.names[arg]
    code = w.body.code
    # In a constructor nobody else has the object yet, and its address may have been another's:
    # the core drops what is known of that one (SITE_INIT in native/binding/site.c).
    constructing = receiver == (LOCAL, 0) and code.co_argcount > 0 and code.co_name in _CONSTRUCTORS
    w.probe(index, ATTR_WRITE, name, 1, INIT if constructing else 0)
    if value is FRESH:
        w.facts.containers.add(name)


@handlers.on("DELETE_ATTR")
def _delete_attr(w: Walk, index: int, arg: int) -> None:
    w.pop()
    w.probe(index, ATTR_WRITE, w.names[arg], 1)


@handlers.on("LOAD_SUPER_ATTR")
def _load_super_attr(w: Walk, index: int, arg: int) -> None:
    # From 3.12 on `super().name` is one instruction, with super, the class and self on the stack.
    w.pop_many(3)
    w.stack.append(UNKNOWN)
    w.probe(index, SUPER, w.names[arg >> 2], 1)
    if arg & 1:
        w.stack.append(UNKNOWN)


# ---- items


def _is_subscriptable_type(w: Walk, container: Tag) -> bool:
    """list[int], Optional[str] and the like: no container is touched."""
    if container[0] != GLOBAL:
        return False
    name = container[1]
    if name == "__annotations__" or (name in BUILTIN_CLASSES and w.facts.is_builtin(name)):
        return True
    return w.facts.imported.get(name, "").startswith(("typing.", "collections.abc."))


def _item(w: Walk, index: int, kind: int, container: Tag) -> None:
    # Something in a library may well be shared: os.environ.
    private = PRIVATE[container[0]] and container[0] != LIBRARY
    if private or _is_subscriptable_type(w, container):
        return
    w.probe(index, kind, "[]", CONTAINER_AND_KEY)
    w.saw_container(container)


@handlers.on("BINARY_SUBSCR")
def read_item(w: Walk, index: int, arg: int) -> None:
    """A subscript: from 3.14 on it is one of the binary operators."""
    w.pop()
    _item(w, index, ITEM_READ, w.pop())
    w.stack.append((HEAP, None))
    if w.ops[index - 1] == _BUILD_SLICE:
        created(w, index, ALONE)


@handlers.on("STORE_SUBSCR")
def _store_subscr(w: Walk, index: int, arg: int) -> None:
    w.pop()
    _item(w, index, ITEM_WRITE, w.pop())
    w.pop()


@handlers.on("DELETE_SUBSCR")
def _delete_subscr(w: Walk, index: int, arg: int) -> None:
    w.pop()
    _item(w, index, ITEM_DELETE, w.pop())


@handlers.on("BINARY_SLICE")
def _binary_slice(w: Walk, index: int, arg: int) -> None:
    w.read_shape(index, "[:]", 3, w.pop_many(3)[0])
    w.stack.append(FRESH)
    created(w, index, ALONE)


@handlers.on("STORE_SLICE")
def _store_slice(w: Walk, index: int, arg: int) -> None:
    container = w.pop_many(4)[1]
    if not PRIVATE[container[0]]:
        w.probe(index, SHAPE_WRITE, "[:]", 3)
        w.saw_container(container)


@handlers.on("BUILD_SLICE")
def _build_slice(w: Walk, index: int, arg: int) -> None:
    w.pop_many(3 if arg == 3 else 2)
    w.stack.append(SCALAR)


# ---- names: globals, closure cells, locals


def _global(w: Walk, index: int, kind: int, name: str) -> None:
    if name in w.facts.shared:
        w.probe(index, kind, name, ITSELF)


@handlers.on("LOAD_GLOBAL")
def _load_global(w: Walk, index: int, arg: int) -> None:
    # The low bit asks for a NULL next to the value, for a call.
    name = w.names[arg >> 1]
    _global(w, index, GLOBAL_READ, name)
    if not arg & 1:
        w.stack.append((GLOBAL, name))
    elif _CALLABLE_FIRST:
        w.stack += ((GLOBAL, name), NULL)
    else:
        w.stack += (NULL, (GLOBAL, name))


@handlers.on("LOAD_NAME")
def _load_name(w: Walk, index: int, arg: int) -> None:
    name = w.names[arg]
    # In the body of a class the name may be the class's own, which is no global.
    if w.is_top:
        _global(w, index, GLOBAL_READ, name)
    w.stack.append((GLOBAL, name))


@handlers.on("STORE_NAME")
def _store_name(w: Walk, index: int, arg: int) -> None:
    name, value = w.names[arg], w.pop()
    if w.is_top:
        _global(w, index, GLOBAL_WRITE, name)
        w.stores.append((name, index, value))
    if value is FRESH:
        w.facts.containers.add(name)
    elif value is DECORATED:
        w.facts.decorated.add(name)
    elif value[0] == LIBRARY and w.is_top and name not in w.facts.modules:
        w.facts.imported.setdefault(name, value[1])


@handlers.on("STORE_GLOBAL")
def _store_global(w: Walk, index: int, arg: int) -> None:
    name = w.names[arg]
    _global(w, index, GLOBAL_WRITE, name)
    if w.pop() is FRESH:
        w.facts.containers.add(name)


@handlers.on("DELETE_GLOBAL")
def _delete_global(w: Walk, index: int, arg: int) -> None:
    _global(w, index, GLOBAL_WRITE, w.names[arg])


@handlers.on("DELETE_NAME")
def _delete_name(w: Walk, index: int, arg: int) -> None:
    if w.is_top:
        _global(w, index, GLOBAL_WRITE, w.names[arg])


def _cell(w: Walk, index: int, kind: int, slot: int) -> str:
    name = w.slots[slot]
    if name in w.body.rebound:
        w.probe(index, kind, name, cell_operand(slot))
    return name


@handlers.on("LOAD_DEREF LOAD_CLASSDEREF")
def _load_deref(w: Walk, index: int, arg: int) -> None:
    name = _cell(w, index, CELL_READ, arg)
    is_first = arg == 0 and w.body.code.co_argcount > 0
    w.stack.append(w.local_tags[0] if is_first else (HEAP, name))


@handlers.on("LOAD_FROM_DICT_OR_DEREF")
def _load_from_dict_or_deref(w: Walk, index: int, arg: int) -> None:
    w.pop()
    w.stack.append((HEAP, _cell(w, index, CELL_READ, arg)))


@handlers.on("STORE_DEREF")
def _store_deref(w: Walk, index: int, arg: int) -> None:
    name = _cell(w, index, CELL_WRITE, arg)
    if w.pop() is FRESH:
        w.facts.containers.add(name)


@handlers.on("DELETE_DEREF")
def _delete_deref(w: Walk, index: int, arg: int) -> None:
    _cell(w, index, CELL_WRITE, arg)


@handlers.on("LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_BORROW")
def _load_fast(w: Walk, index: int, arg: int) -> None:
    tag = w.local_tags[arg]
    # The compiler's name for the iterator that a comprehension is called with.
    if arg == 0 and w.slots[0] == ".0":
        tag = QUIET if w.body.quiet_argument else _ARGUMENT
    w.stack.append(tag)


@handlers.on("LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def _load_two(w: Walk, index: int, arg: int) -> None:
    # 3.13 joins two loads or stores where both slots fit into four bits.
    _load_fast(w, index, arg >> 4)
    _load_fast(w, index, arg & 15)


@handlers.on("STORE_FAST")
def _store_fast(w: Walk, index: int, arg: int) -> None:
    value = w.pop()
    if value is FRESH:
        w.local_containers.add(arg)
    elif value[0] == FUNCTION:
        w.local_functions.add(arg)
    # A function's own import; or a new container that pytest keeps while it rewrites an assert, in
    # a name that no program can have: it is still the literal, and nobody else's.
    keeps = value[0] == LIBRARY or (value is FRESH and w.slots[arg].startswith("@"))
    w.local_tags[arg] = value if keeps else (LOCAL, arg)


@handlers.on("STORE_FAST_LOAD_FAST")
def _store_load(w: Walk, index: int, arg: int) -> None:
    _store_fast(w, index, arg >> 4)
    _load_fast(w, index, arg & 15)


@handlers.on("STORE_FAST_STORE_FAST")
def _store_two(w: Walk, index: int, arg: int) -> None:
    _store_fast(w, index, arg >> 4)
    _store_fast(w, index, arg & 15)
