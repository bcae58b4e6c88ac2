# SPDX-License-Identifier: Apache-2.0
"""What code assigns in other modules: settings, a test's patches, redirected streams.

A global is watched if functions of its own module assign to it (module.py). Whoever assigns from
outside is found here, and before the other module is loaded: importing it comes first in the code
that assigns. Names are enough; a global that only happens to have such a name is watched, too.
"""

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.module import Body

# Their arguments name what they assign to: "shop.RATE", or (shop, "RATE").
_PATCHERS = frozenset({"setattr", "delattr", "patch", "object", "multiple"})
_REDIRECTS = {"redirect_stdout": "stdout", "redirect_stderr": "stderr"}

_STORES = (opcodes.op("STORE_ATTR"), opcodes.op("DELETE_ATTR"))
_LOAD_ATTR = opcodes.op("LOAD_ATTR")
_LOAD_GLOBAL = opcodes.op("LOAD_GLOBAL")
_LOAD_NAME = opcodes.op("LOAD_NAME")
_LOAD_FAST = (opcodes.op("LOAD_FAST"), opcodes.op("LOAD_FAST_BORROW"))
_TWO_LOADS = (
    opcodes.op("LOAD_FAST_LOAD_FAST"),
    opcodes.op("LOAD_FAST_BORROW_LOAD_FAST_BORROW"),
)
_SWAP = opcodes.op("SWAP")
_STORE_FAST = opcodes.op("STORE_FAST")
_IMPORTS = (opcodes.IMPORT_NAME, opcodes.IMPORT_FROM)


def assigned_outside(body: Body, imported: frozenset[str]) -> set[str]:
    """The names that a module's code assigns in what it has `imported`, or has others assign."""
    found: set[str] = set()
    for each in body.tree():
        names = frozenset(each.code.co_names)
        found |= {_REDIRECTS[name] for name in names & _REDIRECTS.keys()}
        if not names.isdisjoint(_PATCHERS):
            found |= _named(each.code.co_consts)
        if any(number in _STORES for number in each.raw[::2]):
            found |= _stored(each, imported)
    return found


def _named(constants: tuple[object, ...]) -> set[str]:
    found: set[str] = set()
    for one in constants:
        if isinstance(one, tuple):  # of keywords: patch.multiple(shop, RATE=2)
            found |= _named(one)
        elif isinstance(one, str) and all(part.isidentifier() for part in one.split(".")):
            found.add(one.rpartition(".")[2])
    return found


def _stored(body: Body, imported: frozenset[str]) -> set[str]:
    """Attributes that are stored in what a name of an import leads to: `app.config.debug = 1`."""
    ops, args, _, _ = opcodes.decode(body.raw)
    names, slots = body.code.co_names, body.code.co_varnames
    local = {
        slots[args[at]]
        for at in range(1, len(ops))
        if ops[at] == _STORE_FAST and ops[at - 1] in _IMPORTS
    }
    found = set()
    for at, number in enumerate(ops):
        if number not in _STORES:
            continue
        first = _first_of_receiver(ops, at)
        if _is_imported(ops[first], args[first], body, imported, local):
            found.add(names[args[at]])
    return found


def _first_of_receiver(ops: list[int], at: int) -> int:
    """Where what an attribute is stored in begins to be loaded: `a` of `a.b.name = 1`."""
    first = at - 1
    if ops[first] == _SWAP:  # a.b.name += 1: the receiver was copied before the name was read
        first = next((one - 1 for one in range(first, 0, -1) if ops[one] == opcodes.COPY), 0)
    while first > 0 and ops[first] == _LOAD_ATTR:
        first -= 1
    return first


def _is_imported(
    number: int, arg: int, body: Body, imported: frozenset[str], local: set[str]
) -> bool:
    names, slots = body.code.co_names, body.code.co_varnames
    if number == _LOAD_GLOBAL:
        return names[arg >> 1] in imported
    if number == _LOAD_NAME:
        return names[arg] in imported
    if number in _TWO_LOADS:
        arg &= 15
    elif number not in _LOAD_FAST:
        return False
    return arg < len(slots) and slots[arg] in local
