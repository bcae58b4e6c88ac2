# SPDX-License-Identifier: Apache-2.0
"""Probes in libraries that get no others: only where they catch what the target's code raised.

Executors, pools, servers, loggers and test helpers run the target's functions and keep what these
raise. Their accesses are not watched and they get no sites.
"""

from types import CodeType

from unsnarl.probes.python import registry
from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.assemble import probe_code
from unsnarl.probes.python.rewriter.catches import Instructions, catches, has_handlers
from unsnarl.probes.python.rewriter.kinds import CAUGHT


def with_catches(code: CodeType) -> CodeType:
    """The code, and all that is nested in it, with probes where it catches exceptions."""
    consts = tuple(
        with_catches(one) if isinstance(one, CodeType) else one for one in code.co_consts
    )
    if has_handlers(code):
        return _spliced(code, consts)
    if all(new is old for new, old in zip(consts, code.co_consts, strict=True)):
        return code
    return code.replace(co_consts=consts)


def _spliced(code: CodeType, consts: tuple[object, ...]) -> CodeType:
    core = registry.core()
    instructions = Instructions(*opcodes.decode(code.co_code))
    sites: list[object] = []
    inserts: list[tuple[int, bytes, bool]] = []
    for probe in catches(instructions):
        if probe.kind == CAUGHT:
            inserts.append(
                (
                    instructions.firsts[probe.at],
                    probe_code(len(consts) + len(sites), probe.operand),
                    probe.behind,
                )
            )
            sites.append(core.Site(CAUGHT, 0, "", 0))
    inserts.sort(key=lambda insert: (insert[0], not insert[2]))
    new_code, _ = core.splice(code, inserts, (*consts, *sites))
    return new_code  # type: ignore[no-any-return]
