# SPDX-License-Identifier: Apache-2.0
"""Rewrites code objects so that accesses of shared state meet a probe first.

A probe is no call but a type slot: `del site[operand]`, `site[key] = container`, with a C object in
co_consts. The original instructions stay. A call would make the interpreter look at its eval
breaker, and so allow thread switches that the program does not have.
"""

from functools import partial
from types import CodeType
from typing import Any, Protocol

from unsnarl.probes.python import registry
from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.assemble import probe_code
from unsnarl.probes.python.rewriter.branches import TO_BOOL, branches
from unsnarl.probes.python.rewriter.breakers import mark
from unsnarl.probes.python.rewriter.catches import Instructions, catches, has_handlers
from unsnarl.probes.python.rewriter.closures import find_rebound
from unsnarl.probes.python.rewriter.handlers import HANDLERS
from unsnarl.probes.python.rewriter.kinds import (
    BACK,
    BRANCH,
    CAUGHT,
    HANDLER,
    KIND_NAMES,
    MAKES_BOOL,
    OFFSET_SHIFT,
    SILENT,
    Probe,
)
from unsnarl.probes.python.rewriter.loops import loops
from unsnarl.probes.python.rewriter.module import (
    Body,
    Facts,
    ModuleInfo,
    imported_names,
    survey,
)
from unsnarl.probes.python.rewriter.swaps import assigned_outside
from unsnarl.probes.python.rewriter.tags import DEFINED
from unsnarl.probes.python.rewriter.walk import Walk

__all__ = ["ModuleInfo", "SiteFactory", "plan", "rewrite"]


class SiteFactory(Protocol):
    """Makes the object that stands for a probe in co_consts."""

    def __call__(self, kind: int, id: int, name: str, flags: int, /) -> Any:
        """Called like `unsnarl._core.Site`."""


def rewrite(
    code: CodeType, module: ModuleInfo, site_factory: SiteFactory | None = None
) -> CodeType:
    """The code of a module, and of everything in it, with probes."""
    body = Body(code)
    if module.outside is not None:
        module.outside.update(assigned_outside(body, imported_names(body)))
    walks = _walk_all(body, module)
    factory = site_factory or registry.core().Site
    new_code = _assemble(body, walks, factory)
    if not module.only:
        registry.REGISTRY.module_done()
    return new_code


def plan(code: CodeType, module: ModuleInfo) -> dict[CodeType, list[Probe]]:
    """The probes that `rewrite` would insert, by code object."""
    body = Body(code)
    walks = _walk_all(body, module)
    return {each.code: _finish(walks[id(each)]) for each in body.tree()}


def _walk_all(body: Body, module: ModuleInfo) -> dict[int, Walk]:
    facts = survey(body, module)
    # The walk asks which variables are rebound, so this is settled for all bodies first.
    find_rebound(body)
    if module.is_main:
        facts.shared |= _rebound_while_running(body, facts)
    walks: dict[int, Walk] = {}
    # Parents first: the walk of a function finds out whether a comprehension in it is quiet.
    for each in body.tree():
        walk = Walk(each, facts, is_top=each is body)
        walk.run(HANDLERS)
        walks[id(each)] = walk
    return walks


def _rebound_while_running(body: Body, facts: Facts) -> set[str]:
    """Globals of a script that its top level may store after threads were started."""
    walk = Walk(body, facts, is_top=True)
    walk.run(HANDLERS)
    first_call = min(walk.calls, default=len(walk.ops))
    seen: set[str] = set()
    rebound: set[str] = set()
    for name, index, value in walk.stores:
        if DEFINED[value[0]]:
            continue
        # Any call of the top level may have started a thread.
        if name in seen or index > first_call:
            rebound.add(name)
        seen.add(name)
    return rebound


def _finish(walk: Walk) -> list[Probe]:
    """The final probes of a code object, in the order of the code."""
    probes = walk.probes
    # Only now: a function further down may have shown that a name holds a container.
    probes += [probe for probe, tag in walk.maybe if walk.is_container(tag)]
    probes += [probe for probe, name in walk.decorated if name in walk.facts.decorated]
    if walk.facts.info.branches:
        probes += branches(walk)
    if walk.facts.info.loops:
        probes += loops(walk)
    if has_handlers(walk.body.code):
        probes += catches(Instructions(walk.ops, walk.args, walk.firsts, walk.units))
    if not probes:
        return probes
    probes.sort(key=_order)
    return mark(walk, probes)


def _order(probe: Probe) -> int:
    # What stands behind the previous instruction comes before what stands before this one.
    return 2 * probe.at + (not probe.behind)


def _assemble(body: Body, walks: dict[int, Walk], factory: SiteFactory) -> CodeType:
    walk = walks[id(body)]
    consts = list(body.code.co_consts)
    for index, child in body.children.items():
        consts[index] = _assemble(child, walks, factory)
    only = walk.facts.info.only
    if only and not body.code.co_qualname.startswith(only):
        return body.code.replace(co_consts=tuple(consts))
    probes = _finish(walk)
    # Code without probes needs ids all the same if it calls something: a lock taken there is
    # attributed to the nearest frame that has some (docs/adr/0003).
    if not probes and not body.children and opcodes.CALL_SITES.isdisjoint(walk.ops):
        return body.code
    accesses = [probe for probe in probes if probe.kind not in (HANDLER, CAUGHT)]
    labels = partial(_labels, body.raw, accesses)
    # One id per unit of the original code: a change of the rewriter changes no id
    # (docs/adr/0003).
    base = registry.REGISTRY.allocate(body.code, len(body.raw) // 2, len(accesses), labels)
    inserts: list[tuple[int, bytes, bool]] = []
    for probe in probes:
        code = probe_code(len(consts), probe.operand)
        if probe.kind in (BRANCH, BACK) and probe.flags & MAKES_BOOL:
            code = TO_BOOL + code
        flags = probe.flags | probe.unit << OFFSET_SHIFT
        consts.append(factory(probe.kind, base + probe.unit, probe.name, flags))
        inserts.append((walk.firsts[probe.at], code, probe.behind))
    core = registry.core()
    new_code, origin = core.splice(body.code, inserts, tuple(consts))
    core.register_code(new_code, base, origin)
    return new_code  # type: ignore[no-any-return]


def _labels(raw: bytes, probes: list[Probe]) -> registry.Labels:
    """What to call an instruction: by its access; else by its call or `with`."""
    ops, _, _, units = opcodes.decode(raw)
    pairs = zip(ops, units, strict=True)
    labels = {unit: ("call", "") for number, unit in pairs if number in opcodes.CALL_SITES}
    # The last one wins: an access takes precedence over a probe that only remembers.
    for probe in sorted(probes, key=lambda probe: probe.kind not in SILENT):
        labels[probe.unit] = (KIND_NAMES[probe.kind], probe.name.replace(":", "."))
    return labels
