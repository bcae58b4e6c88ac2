# SPDX-License-Identifier: Apache-2.0
"""Which closure variables can be rebound after a function has captured them.

A variable that is assigned once, before any capture, is as good as a constant and gets no probe.
"""

from types import CodeType

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.module import Body

CO_VARARGS, CO_VARKEYWORDS = 4, 8  # of inspect, which is slow to import
_STORES = (opcodes.STORE_DEREF, opcodes.DELETE_DEREF)


def slot_names(body: Body) -> list[str]:
    """Names of the frame's slots: locals, cells that are no locals, free variables."""
    code = body.code
    variables = set(code.co_varnames)
    cells = [name for name in code.co_cellvars if name not in variables]
    return [*code.co_varnames, *cells, *code.co_freevars]


def argument_count(code: CodeType) -> int:
    """How many slots of the frame the caller fills."""
    starred = bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + starred


def find_rebound(body: Body, visible: frozenset[str] = frozenset()) -> None:
    """Fill in `rebound` for a body and all below it."""
    _collect_stores(body)
    _spread(body, visible)


def _collect_stores(body: Body) -> None:
    below: set[str] = set()
    for child in body.children.values():
        _collect_stores(child)
        below |= child.stored_free
    below -= set(body.code.co_cellvars)
    # A cheap first look: a cache entry may pass for a store here, in _stores() it does not.
    if body.code.co_freevars and any(store in body.raw[::2] for store in _STORES):
        free = set(body.code.co_freevars)
        below |= {name for name, _ in _stores(body) if name in free}
    body.stored_free = frozenset(below)


def _spread(body: Body, visible: frozenset[str]) -> None:
    cells = body.code.co_cellvars
    if cells:
        visible = (visible - set(cells)) | _rebound_cells(body)
    body.rebound = visible
    for child in body.children.values():
        _spread(child, visible)


def _stores(body: Body) -> list[tuple[str, int]]:
    """(variable, index of instruction) of every store or delete of a cell."""
    ops, args, _, _ = opcodes.decode(body.raw)
    names = slot_names(body)
    return [(names[args[i]], i) for i, number in enumerate(ops) if number in _STORES]


def _rebound_cells(body: Body) -> set[str]:
    stored_below: set[str] = set()
    for child in body.children.values():
        stored_below |= child.stored_free
    owned = set(body.code.co_cellvars)
    rebound = owned & stored_below
    stored_at: dict[str, list[int]] = {}
    for name, index in _stores(body):
        stored_at.setdefault(name, []).append(index)
    arguments = set(body.code.co_varnames[: argument_count(body.code)])
    captures, loops = _captures_and_loops(body)
    for name in owned & stored_at.keys() - rebound:
        stores = stored_at[name]
        captured = captures.get(name)
        if len(stores) + (name in arguments) > 1 or (
            captured is not None and _after(stores[0], captured, loops)
        ):
            rebound.add(name)
    return rebound


def _after(store: int, capture: int, loops: list[tuple[int, int]]) -> bool:
    """Whether the store can run after the capture: it stands behind it, or a loop leads back."""
    return store > capture or any(start <= store <= end and capture <= end for start, end in loops)


def _captures_and_loops(body: Body) -> tuple[dict[str, int], list[tuple[int, int]]]:
    ops, args, firsts, units = opcodes.decode(body.raw)
    names = slot_names(body)
    cells = set(body.code.co_cellvars)
    index_of = {first: index for index, first in enumerate(firsts)}
    captures: dict[str, int] = {}
    loops: list[tuple[int, int]] = []
    for index, number in enumerate(ops):
        for slot in opcodes.loaded_slots(number, args[index]):
            if slot < len(names) and names[slot] in cells:
                captures.setdefault(names[slot], index)
        if opcodes.JUMPS[number] < 0:
            target = units[index] + opcodes.SIZES[number] - args[index]
            loops.append((index_of[target], index))
    return captures, loops
