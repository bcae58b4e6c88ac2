# SPDX-License-Identifier: Apache-2.0
"""Probes around calls: methods, builtins and library functions that touch containers.

A method is recorded at its look-up if nothing that others can see happens before the call;
otherwise the receiver is stashed there and the access recorded just before the call (unless a
yield lies in between: then the look-up has to do). Values are only ever copied from slots of
arguments: the slots below them can hold NULL.
"""

from unsnarl.probes.python.rewriter import names, opcodes
from unsnarl.probes.python.rewriter.kinds import (
    ALONE,
    CALLEE,
    CALLEE_ARG,
    CREATE,
    FIRST,
    ITSELF,
    KEYED,
    LIBRARY_ARG,
    METHOD,
    METHOD_CALL,
    MOST_DEPTH,
    NAMED_READ,
    NAMED_WRITE,
    NAMESPACE,
    SHAPE_READ,
    SHAPE_WRITE,
    STASH,
    STATE_READ,
    STATE_WRITE,
    Probe,
    pair,
)
from unsnarl.probes.python.rewriter.module import is_quiet
from unsnarl.probes.python.rewriter.tags import (
    BUILD_CLASS,
    CONST,
    DECORATED,
    DEFINED,
    DEFINITION,
    EXIT,
    FRESH,
    FUNCTION,
    GLOBAL,
    HEAP,
    IMMUTABLE,
    ITERATOR,
    LIBRARY,
    LOCAL,
    LOOKED_UP,
    NAMED,
    NULL,
    OF_SUPER,
    PRIVATE,
    QUIET,
    RESULT,
    SCALAR,
    SETTLED,
    UNKNOWN,
    Lookup,
    Tag,
)
from unsnarl.probes.python.rewriter.walk import Handlers, Walk

handlers = Handlers()
_LIBRARY_ARGUMENTS = 4
_CALLEE_ARGUMENTS = 3
_DYNAMIC = frozenset({LOCAL, HEAP, RESULT})
_VIEWS = frozenset({"keys", "values", "items"})
_LAZY = frozenset({"enumerate", "zip", "map", "filter", "reversed", "iter"})


class Call:
    """A call instruction with everything the stack says about it."""

    __slots__ = ("anchor", "args", "count", "index", "keywords", "named", "shift")

    def __init__(
        self, w: Walk, index: int, args: list[Tag], keywords: tuple[str, ...], shift: int
    ) -> None:
        self.index = index
        self.count = len(args)  # of all arguments
        self.keywords = keywords
        self.args = args[: self.count - len(keywords)]  # tags of the positional arguments
        self.named = args[self.count - len(keywords) :]
        self.shift = shift  # values above the arguments
        self.anchor = index
        if opcodes.PRECALL >= 0:
            self.anchor -= 1  # nothing may stand between PRECALL and CALL
        # KW_NAMES (3.11, 3.12) sets a register that the call reads: it must be the last before it.
        if w.ops[self.anchor - 1] == opcodes.KW_NAMES:
            self.anchor -= 1

    def operand(self, position: int) -> int:
        """How deep a positional argument lies."""
        return self.count - position + self.shift


def look_up(w: Walk, index: int, name_index: int) -> None:
    """A method look-up: two values for one, the upper of them never looked at again."""
    receiver, name = w.pop(), w.names[name_index]
    w.stack += (_method_tag(w, index, name, receiver), UNKNOWN)


def swapped_attribute(w: Walk, index: int, receiver: Tag, name: str) -> bool:
    """Whether this is an attribute of a module that others assign: then it is read, a function too.

    The attribute of a module is skipped where it is code (native/binding/types.c).
    """
    module = w.facts.modules.get(receiver[1]) if receiver[0] == GLOBAL else None
    if module is None or name not in w.facts.outside:
        return False
    w.probe(index, STATE_READ, f"{module}:{name}", ITSELF)
    return True


def _method_tag(w: Walk, index: int, name: str, receiver: Tag) -> Tag:
    kind, payload = receiver
    swapped_attribute(w, index, receiver, name)
    if kind == GLOBAL and payload in w.facts.modules:
        module = w.facts.library_module(payload)
        return (LIBRARY, f"{module}.{name}") if module else UNKNOWN
    in_table = name in names.CONTAINER_METHODS
    if not in_table and (dotted := _library_attribute(w, receiver, name)):
        return (LIBRARY, dotted)
    # Probably a method of the module's own classes, which has probes inside. Behind super() it is
    # that of a base, although the class has one of this name.
    if not in_table and name in w.facts.methods and receiver is not OF_SUPER:
        of_objects = name in names.OBJECT_METHODS or name in names.THREAD_METHODS
        is_object = of_objects and receiver != (LOCAL, 0)
        if not is_object and name in w.facts.assigned:
            w.probe(index, METHOD, name, 1)  # self.f = g: of which of the two is it the call?
            return UNKNOWN
        if not is_object:
            w.decorated.append((Probe(index, METHOD, w.units[index], name, 1), name))
            return UNKNOWN
    watched = not (IMMUTABLE[kind] or receiver is FRESH or _is_builtin_class(w, receiver))
    lookup = Lookup(index, w.units[index], name, watched)
    lookup.of_class = _is_builtin_class(w, receiver)
    lookup.epoch, lookup.suspensions = w.epoch, w.suspensions
    w.lookups.append(lookup)
    if in_table:
        w.saw_container(receiver)
    return (LOOKED_UP, lookup)


def _library_attribute(w: Walk, receiver: Tag, name: str) -> str | None:
    """The dotted name of a function of a library, as far as it is one."""
    kind, payload = receiver
    if kind == LIBRARY:
        # `sys.stdout.write` is a method of an object, `itertools.chain` is none.
        is_object = "." in payload and name in names.OBJECT_METHODS
        return None if is_object else f"{payload}.{name}"
    dotted = w.facts.library_name(payload) if kind == GLOBAL else None
    if dotted and dotted.partition(".")[0] in names.READER_MODULES:
        return f"{dotted}.{name}"  # chain.from_iterable
    return None


def _is_builtin_class(w: Walk, tag: Tag) -> bool:
    return tag[0] == GLOBAL and tag[1] in names.BUILTIN_CLASSES and w.facts.is_builtin(tag[1])


@handlers.on("CALL")
def _call(w: Walk, index: int, arg: int) -> None:
    keywords: tuple[str, ...] = ()
    before = index - 2 if opcodes.PRECALL >= 0 else index - 1
    if before >= 0 and w.ops[before] == opcodes.KW_NAMES:
        keywords = w.body.code.co_consts[w.args[before]]
    _any_call(w, index, arg, keywords, 0)


@handlers.on("CALL_KW")
def _call_kw(w: Walk, index: int, arg: int) -> None:
    # 3.13 has the names of keyword arguments on the stack, as a constant.
    kind, payload = w.pop()
    keywords = w.body.code.co_consts[payload] if kind == CONST else ("",) * arg
    _any_call(w, index, arg, keywords, 1)


def _any_call(w: Walk, index: int, count: int, keywords: tuple[str, ...], shift: int) -> None:
    args = w.pop_many(count)
    upper, lower = w.pop(), w.pop()
    # Up to 3.12 a plain call has NULL below its callable; a method lies below its self, and so does
    # every callable from 3.13 on.
    callee = upper if lower is NULL else lower
    call = Call(w, index, args, keywords, shift)
    if callee is EXIT:
        _callee(w, call, count + 2 + shift, "__exit__")
    elif (lower if opcodes.VERSION < (3, 13) else upper) is NULL:
        _any_callee(w, call, callee)
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
    # Its one argument, the function, lies in the slot of `self`.
    is_decorator = not call.count and upper is not NULL and DEFINED[upper[0]]
    if is_decorator:
        return DECORATED
    if result is not None:
        return result
    return DEFINITION if callee is BUILD_CLASS else (RESULT, call.index)


# ---- what may turn out to be C code only when it is called


def _any_callee(w: Walk, call: Call, callee: Tag) -> None:
    """Watch the arguments of a call whose function is a value like any other."""
    kind, name = callee
    depth = call.count + call.shift + (1 if opcodes.VERSION < (3, 13) else 2)
    if depth > MOST_DEPTH:
        return
    if kind == GLOBAL:
        w.decorated.append((_callee_probe(w, call, depth, name), name))
    elif kind in _DYNAMIC:
        _dynamic_callee(w, call, depth, callee)


def _dynamic_callee(w: Walk, call: Call, depth: int, callee: Tag) -> None:
    name = _called_name(callee)
    watched = [at for at, tag in enumerate(call.args) if not PRIVATE[tag[0]]]
    is_own = callee[0] == LOCAL and callee[1] in w.local_functions
    if not is_own and (not watched or watched[0]):
        _callee(w, call, depth, name)  # a method that is a value: of what?
    for position in watched[:_CALLEE_ARGUMENTS]:
        operand = pair(depth, call.operand(position))
        flags = 0 if position else FIRST
        w.epoch += 1
        w.probes.append(Probe(call.anchor, CALLEE_ARG, w.units[call.index], name, operand, flags))


def _called_name(callee: Tag) -> str:
    return callee[1] if callee[0] == HEAP and callee[1] else "call"


def _callee(w: Walk, call: Call, depth: int, name: str) -> None:
    w.epoch += 1
    w.probes.append(_callee_probe(w, call, depth, name))


def _callee_probe(w: Walk, call: Call, depth: int, name: str) -> Probe:
    return Probe(call.anchor, CALLEE, w.units[call.index], name, depth)


def _global_call(w: Walk, call: Call, name: str) -> Tag | None:
    if library := w.facts.library_name(name):
        return _library_call(w, call, library)
    return _builtin_call(w, call, name) if w.facts.is_builtin(name) else None


def _comprehension(w: Walk, const: int | None, iterator: Tag) -> Tag:
    """A comprehension is called at once, with its iterator in the slot of `self`."""
    # From 3.15 on it is called with what it goes over.
    quiet = iterator is QUIET if opcodes.VERSION < (3, 15) else SETTLED[iterator[0]]
    if const is not None and quiet and const in w.body.children:
        w.body.children[const].quiet_argument = True
    return FRESH


def _note_top_call(w: Walk, index: int, callee: Tag, result: Tag) -> None:
    """Keep calls of the module's top level, apart from what only defines things."""
    if result[0] != DEFINITION[0]:
        w.calls.add(index)
    elif callee[0] == RESULT:
        w.calls.discard(callee[1])  # it only made the decorator


def _method_call(w: Walk, call: Call, lookup: Lookup) -> Tag:
    if lookup.watched:
        _probe_method(w, call, lookup)
    elif lookup.of_class and call.args:
        _class_method_call(w, call, lookup.name)
    if lookup.name in names.CREATING_METHODS:
        created(w, call.index, ALONE)
    if lookup.name in names.ARGUMENT_READERS:
        for position, tag in enumerate(call.args):
            w.read_shape(call.anchor, lookup.name, call.operand(position), tag, w.units[call.index])
    return ITERATOR if lookup.name in _VIEWS else (RESULT, call.index)


def _class_method_call(w: Walk, call: Call, name: str) -> None:
    """`list.append(x, 1)`, object.__setattr__(x, name, value)."""
    if name in names.ATTRIBUTE_METHODS:
        _attribute_by_name(w, call, name, names.ATTRIBUTE_METHODS[name])
    elif name in names.CHANGING_METHODS and not PRIVATE[call.args[0][0]]:
        w.epoch += 1
        w.probes.append(Probe(call.anchor, SHAPE_WRITE, w.units[call.index], name, call.operand(0)))


def _attribute_by_name(w: Walk, call: Call, function: str, writes: bool) -> None:
    if len(call.args) < 2 or call.operand(0) > MOST_DEPTH:
        return
    w.epoch += 1
    operand = pair(call.operand(0), call.operand(1))
    kind = NAMED_WRITE if writes else NAMED_READ
    w.probes.append(Probe(call.anchor, kind, w.units[call.index], function, operand))


def _probe_method(w: Walk, call: Call, lookup: Lookup) -> None:
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
    elif name in names.ATTRIBUTE_FUNCTIONS:
        _attribute_by_name(w, call, name, names.ATTRIBUTE_FUNCTIONS[name])
    elif name == "print" and "file" in call.keywords:
        position = len(call.args) + call.keywords.index("file")
        _library_argument(w, call, LIBRARY_ARG, name, position)
    elif name == "print" and "stdout" in w.facts.outside:
        w.probes.append(Probe(call.anchor, STATE_READ, w.units[call.index], names.PRINTED, ITSELF))
    else:
        _namespace(w, call, name)
    return _builtin_result(call, name)


def _namespace(w: Walk, call: Call, name: str) -> None:
    """vars(x) and globals(): what is done to the dictionary is done to attributes."""
    unit = w.units[call.index]
    if name == "vars" and len(call.args) == 1:
        w.probes.append(Probe(call.anchor, NAMESPACE, unit, name, call.operand(0)))
    elif name == "globals":
        w.probes.append(Probe(call.index + 1, NAMESPACE, unit, name, 1, 0, True))


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
    if name == "super":
        return OF_SUPER
    if name in names.SCALAR_BUILTINS:
        return SCALAR
    if name in _LAZY:
        settled = all(SETTLED[tag[0]] for tag in call.args[name in names.SKIP_FIRST :])
        return QUIET if settled and call.args else ITERATOR
    return (RESULT, call.index)


def created(w: Walk, index: int, flags: int = 0) -> None:
    """Let the core know that the value just left on the stack is a new container."""
    # A new container may have the address of an old one: its cells must have no past.
    w.probes.append(Probe(index + 1, CREATE, w.units[index], "new", 1, flags, True))


# ---- library functions


def _library_call(w: Walk, call: Call, dotted: str) -> Tag:
    if dotted in names.STATE_FUNCTIONS:
        path, writes = names.STATE_FUNCTIONS[dotted]
        w.epoch += 1
        kind = STATE_WRITE if writes else STATE_READ
        w.probes.append(Probe(call.anchor, kind, w.units[call.index], path, ITSELF))
    if not is_quiet(dotted) or dotted in names.READER_FUNCTIONS:
        kind = _library_kind(dotted)
        watched = 1 if kind == SHAPE_WRITE else _LIBRARY_ARGUMENTS
        for position, tag in enumerate([*call.args, *call.named][:watched]):
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
        w.saw_container([*call.args, *call.named][position])


@handlers.on("CALL_FUNCTION_EX")
def _call_function_ex(w: Walk, index: int, arg: int) -> None:
    # From 3.14 on the keyword arguments have their place, with NULL in it if there are none.
    above = 1 if opcodes.VERSION >= (3, 14) else arg & 1
    if above:
        w.pop()
    starred = w.pop()
    if NAMED[starred[0]]:
        w.maybe_shape(index, SHAPE_READ, "*", 1 + above, starred)
    lower, upper = w.pop_many(2)
    old = opcodes.VERSION < (3, 13)
    callee = upper if old else lower
    if (lower if old else upper) is NULL and callee[0] in {*_DYNAMIC, LIBRARY}:
        operand = pair(2 + above if old else 3 + above, 1 + above)
        w.probe(index, CALLEE_ARG, _called_name(callee), operand, KEYED)
    w.epoch += 1
    if w.is_top:
        w.calls.add(index)
    w.stack.append((RESULT, index))
