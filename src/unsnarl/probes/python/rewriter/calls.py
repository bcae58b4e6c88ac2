# SPDX-License-Identifier: Apache-2.0
"""Probes around calls: methods, builtins and library functions that touch containers.

A method is recorded at its look-up if nothing that others can see happens before the call;
otherwise the receiver is stashed there and the access recorded just before the call (unless a
yield lies in between: then the look-up has to do). Values are only ever copied from slots of
arguments: the slots below them can hold NULL.
"""

from unsnarl.probes.python.rewriter import names, opcodes
from unsnarl.probes.python.rewriter.kinds import (
    CREATE,
    ITSELF,
    KEYED,
    LIBRARY_ARG,
    METHOD,
    METHOD_CALL,
    SHAPE_READ,
    SHAPE_WRITE,
    STASH,
    Probe,
)
from unsnarl.probes.python.rewriter.module import is_quiet
from unsnarl.probes.python.rewriter.tags import (
    BUILD_CLASS,
    CONST,
    DEFINED,
    DEFINITION,
    FRESH,
    FUNCTION,
    GLOBAL,
    IMMUTABLE,
    ITERATOR,
    LIBRARY,
    LOOKED_UP,
    NAMED,
    NULL,
    PRIVATE,
    QUIET,
    RESULT,
    SCALAR,
    SETTLED,
    UNKNOWN,
    Lookup,
    Tag,
)
from unsnarl.probes.python.rewriter.walk import Walk, on

_LIBRARY_ARGUMENTS = 4
_VIEWS = frozenset({"keys", "values", "items"})
_LAZY = frozenset({"enumerate", "zip", "map", "filter", "reversed", "iter"})


class Call:
    """A call instruction with everything the stack tells about it."""

    __slots__ = ("anchor", "args", "count", "index", "shift")

    def __init__(self, w: Walk, index: int, args: list[Tag], count: int, shift: int) -> None:
        self.index = index
        self.args = args  # tags of the positional arguments
        self.count = count  # of all arguments
        self.shift = shift  # values above the arguments
        self.anchor = index
        if opcodes.PRECALL >= 0:
            self.anchor -= 1  # nothing may stand between PRECALL and CALL
        if w.ops[self.anchor - 1] == opcodes.KW_NAMES:
            self.anchor -= 1

    def operand(self, position: int) -> int:
        """How deep a positional argument lies."""
        return self.count - position + self.shift


def look_up(w: Walk, index: int, name_index: int) -> None:
    """A method look-up: two values for one, the upper of them never looked at again."""
    receiver, name = w.pop(), w.names[name_index]
    w.stack += (_method_tag(w, index, name, receiver), UNKNOWN)


def _method_tag(w: Walk, index: int, name: str, receiver: Tag) -> Tag:
    kind, payload = receiver
    if kind == GLOBAL and payload in w.facts.modules:
        module = w.facts.library_module(payload)
        return (LIBRARY, f"{module}.{name}") if module else UNKNOWN
    in_table = name in names.CONTAINER_METHODS
    if kind == LIBRARY and not in_table:
        return (LIBRARY, f"{payload}.{name}")
    if not in_table and name in w.facts.methods:
        return UNKNOWN
    watched = not (IMMUTABLE[kind] or receiver is FRESH or _is_builtin_class(w, receiver))
    lookup = Lookup(index, w.units[index], name, watched)
    lookup.epoch, lookup.suspensions = w.epoch, w.suspensions
    w.lookups.append(lookup)
    if in_table:
        w.saw_container(receiver)
    return (LOOKED_UP, lookup)


def _is_builtin_class(w: Walk, tag: Tag) -> bool:
    return tag[0] == GLOBAL and tag[1] in names.BUILTIN_CLASSES and w.facts.is_builtin(tag[1])


@on("CALL")
def _call(w: Walk, index: int, arg: int) -> None:
    keywords = 0
    before = index - 2 if opcodes.PRECALL >= 0 else index - 1
    if before >= 0 and w.ops[before] == opcodes.KW_NAMES:
        keywords = len(w.body.code.co_consts[w.args[before]])
    _any_call(w, index, arg, keywords, 0)


@on("CALL_KW")
def _call_kw(w: Walk, index: int, arg: int) -> None:
    kind, payload = w.pop()
    keywords = len(w.body.code.co_consts[payload]) if kind == CONST else arg
    _any_call(w, index, arg, keywords, 1)


def _any_call(w: Walk, index: int, count: int, keywords: int, shift: int) -> None:
    args = w.pop_many(count)
    upper, lower = w.pop(), w.pop()
    callee = upper if lower is NULL else lower
    call = Call(w, index, args[: count - keywords], count, shift)
    result = _dispatch(w, call, callee, upper)
    if w.is_top:
        _note_top_call(w, index, callee, result)
    w.epoch += 1
    w.stack.append(result)


def _dispatch(w: Walk, call: Call, callee: Tag, upper: Tag) -> Tag:
    """Plan the probes of a call; returns the tag of its result."""
    kind, payload = callee
    result: Tag | None = None
    if kind == LOOKED_UP:
        result = _method_call(w, call, payload)
    elif kind == LIBRARY:
        result = _library_call(w, call, payload)
    elif kind == GLOBAL:
        result = _global_call(w, call, payload)
    elif kind == FUNCTION and not call.count and upper is not NULL:
        result = _comprehension(w, payload, upper)
    if result is not None:
        return result
    is_decorator = not call.count and upper is not NULL and DEFINED[upper[0]]
    return DEFINITION if callee is BUILD_CLASS or is_decorator else (RESULT, call.index)


def _global_call(w: Walk, call: Call, name: str) -> Tag | None:
    if library := w.facts.library_name(name):
        return _library_call(w, call, library)
    return _builtin_call(w, call, name) if w.facts.is_builtin(name) else None


def _comprehension(w: Walk, const: int | None, iterator: Tag) -> Tag:
    """A comprehension is called at once, with its iterator in the slot of `self`."""
    if const is not None and iterator is QUIET and const in w.body.children:
        w.body.children[const].quiet_argument = True
    return FRESH


def _note_top_call(w: Walk, index: int, callee: Tag, result: Tag) -> None:
    """Keep calls of the module's top level, apart from what only defines things."""
    if result is not DEFINITION:
        w.calls.add(index)
    elif callee[0] == RESULT:
        w.calls.discard(callee[1])  # it only made the decorator


def _method_call(w: Walk, call: Call, lookup: Lookup) -> Tag:
    if lookup.watched:
        _place_method(w, call, lookup)
    if lookup.name in names.ARGUMENT_READERS:
        for position, tag in enumerate(call.args):
            w.read_shape(call.anchor, lookup.name, call.operand(position), tag, w.units[call.index])
    return ITERATOR if lookup.name in _VIEWS else (RESULT, call.index)


def _place_method(w: Walk, call: Call, lookup: Lookup) -> None:
    lookup.settled = True
    keyed = lookup.name in names.KEYED_METHODS and bool(call.args)
    # A generator may go on in another thread, or never: a stash would outlive its receiver.
    suspended = lookup.suspensions != w.suspensions
    if suspended or (not keyed and lookup.epoch == w.epoch):
        w.probes.append(Probe(lookup.index, METHOD, lookup.unit, lookup.name, 1))
        return
    operand = call.operand(0) if keyed else ITSELF
    flags = KEYED if keyed else 0
    w.probes.append(Probe(lookup.index, STASH, lookup.unit, lookup.name, 1))
    w.probes.append(Probe(call.anchor, METHOD_CALL, lookup.unit, lookup.name, operand, flags))


# ---- builtins


def _builtin_call(w: Walk, call: Call, name: str) -> Tag:
    if name in names.READING_BUILTINS:
        for position in _looked_into(name, len(call.args)):
            _builtin_argument(w, call, name, position)
    if name in names.CREATED_BUILTINS:
        created(w, call.index)
    return _builtin_result(call, name)


def _looked_into(name: str, count: int) -> range:
    if name in names.FIRST_ONLY:
        return range(min(count, 1))
    if name in names.SINGLE_ONLY:
        return range(count if count == 1 else 0)
    return range(1 if name in names.SKIP_FIRST else 0, count)


def _builtin_argument(w: Walk, call: Call, name: str, position: int) -> None:
    tag, operand = call.args[position], call.operand(position)
    if name not in names.RENDERERS:
        w.read_shape(call.anchor, name, operand, tag, w.units[call.index])
    elif NAMED[tag[0]]:
        probe = Probe(call.anchor, SHAPE_READ, w.units[call.index], name, operand)
        w.maybe.append((probe, tag))


def _builtin_result(call: Call, name: str) -> Tag:
    if name == "range":
        return QUIET
    if name in names.FRESH_BUILTINS:
        return FRESH
    if name in names.SCALAR_BUILTINS:
        return SCALAR
    if name in _LAZY:
        settled = all(SETTLED[tag[0]] for tag in call.args[name in names.SKIP_FIRST :])
        return QUIET if settled and call.args else ITERATOR
    return (RESULT, call.index)


def created(w: Walk, index: int) -> None:
    """Tell the core that the value just left on the stack is a new container."""
    w.probes.append(Probe(index + 1, CREATE, w.units[index], "new", 1, 0, True))


# ---- library functions


def _library_call(w: Walk, call: Call, dotted: str) -> Tag:
    if not is_quiet(dotted):
        kind = _library_kind(dotted)
        watched = 1 if kind == SHAPE_WRITE else _LIBRARY_ARGUMENTS
        for position, tag in enumerate(call.args[:watched]):
            if not PRIVATE[tag[0]]:
                _library_argument(w, call, kind, dotted, position)
    module, _, name = dotted.rpartition(".")
    if module == "collections" and name in names.CREATED_COLLECTIONS:
        created(w, call.index)
        return FRESH
    return (RESULT, call.index)


def _library_kind(dotted: str) -> int:
    if dotted in names.MUTATORS:
        return SHAPE_WRITE
    if dotted in names.READER_FUNCTIONS or dotted.partition(".")[0] in names.READER_MODULES:
        return SHAPE_READ
    return LIBRARY_ARG


def _library_argument(w: Walk, call: Call, kind: int, dotted: str, position: int) -> None:
    w.epoch += 1
    name = dotted.rpartition(".")[2]
    w.probes.append(Probe(call.anchor, kind, w.units[call.index], name, call.operand(position)))
    if kind != LIBRARY_ARG:
        w.saw_container(call.args[position])


@on("CALL_FUNCTION_EX")
def _call_function_ex(w: Walk, index: int, arg: int) -> None:
    if arg & 1:
        w.pop()
    starred = w.pop()
    if NAMED[starred[0]]:
        w.maybe_shape(index, SHAPE_READ, "*", 1 + (arg & 1), starred)
    w.pop_many(2)
    w.epoch += 1
    if w.is_top:
        w.calls.add(index)
    w.stack.append((RESULT, index))
