# SPDX-License-Identifier: Apache-2.0
"""What a whole module shows about its names before any of its code is planned."""

from collections.abc import Callable, Iterator
from types import CodeType
from typing import NamedTuple

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.names import QUIET_MODULES

CO_OPTIMIZED = 1


class ModuleInfo(NamedTuple):
    """A module to be rewritten, as its importer knows it."""

    name: str
    filename: str
    is_main: bool = False
    # Is the module of this dotted name code that gets no probes?
    is_library: Callable[[str], bool] = lambda _: True
    branches: bool = False  # are they to be reported?
    loops: bool = False
    among_threads: bool = False  # do threads run while it is imported?
    stored: frozenset[str] = frozenset()  # globals that other code of its namespace stores
    # Names that code seen so far assigns in other modules; this module's are added.
    outside: set[str] | None = None
    assigned: set[str] | None = None  # the same for attributes, of whatever
    only: tuple[str, ...] = ()  # beginnings of qualified names: nothing else gets probes


class Body:
    """A code object, its bytes taken once, and the bodies nested in it."""

    __slots__ = ("children", "code", "quiet_argument", "raw", "rebound", "stored_free")

    def __init__(self, code: CodeType) -> None:
        self.code = code
        # co_code has specialised instructions in their plain form again.
        self.raw = code.co_code
        self.children = {
            index: Body(const)
            for index, const in enumerate(code.co_consts)
            if isinstance(const, CodeType)
        }
        self.quiet_argument = False  # a comprehension over a range, say
        self.rebound: frozenset[str] = frozenset()  # closure variables that may change
        self.stored_free: frozenset[str] = frozenset()

    @property
    def is_class(self) -> bool:
        """Whether this is the body of a class (only right for nested bodies)."""
        return not self.code.co_flags & CO_OPTIMIZED

    def tree(self) -> Iterator["Body"]:
        """This body and all below it."""
        yield self
        for child in self.children.values():
            yield from child.tree()


class Facts:
    """Names of one module and what they stand for."""

    # No dataclass: loading that takes a tenth of a server's start.
    def __init__(self, info: ModuleInfo) -> None:
        self.info = info
        self.rebound: set[str] = set()  # stored by the module itself
        self.shared: frozenset[str] = frozenset()  # globals that may be stored while threads run
        self.modules: dict[str, str] = {}  # alias -> dotted name
        self.imported: dict[str, str] = {}  # name -> "module.attribute"
        self.methods: set[str] = set()
        self.containers: set[str] = set()  # names seen to hold containers
        self.decorated: set[str] = set()  # functions and methods: perhaps cached
        self.outside: frozenset[str] = frozenset()  # names that are assigned in other modules
        self.assigned: set[str] = set()  # attributes that the module assigns, whatever they are

    def library_name(self, name: str) -> str | None:
        """The dotted name of a global imported from code without probes, if it is one."""
        dotted = self.imported.get(name)
        if dotted is None or not self.info.is_library(dotted.rpartition(".")[0]):
            return None
        return dotted

    def library_module(self, alias: str) -> str | None:
        """The dotted name of the uninstrumented module that a global stands for, if it does."""
        module = self.modules.get(alias)
        return module if module is not None and self.info.is_library(module) else None

    def is_builtin(self, name: str) -> bool:
        """Whether a global of this name is the builtin."""
        return name not in self.rebound


def is_quiet(dotted: str) -> bool:
    """Whether calls into this library module are left alone."""
    return dotted.partition(".")[0] in QUIET_MODULES


def survey(body: Body, info: ModuleInfo) -> Facts:
    """Collect the facts of a module from all of its code."""
    facts = Facts(info)
    stored_in_functions = set(info.stored)
    for each in body.tree():
        numbers = each.raw[::2]
        if opcodes.STORE_GLOBAL in numbers or opcodes.DELETE_GLOBAL in numbers:
            stored_in_functions |= _stored_globals(each)
        if opcodes.STORE_ATTR in numbers:
            facts.assigned |= _names_of(each, (opcodes.STORE_ATTR,))
        if each is not body and each.is_class:
            facts.methods |= _methods(each)
    _read_top_level(body, facts)
    if info.outside is not None:
        facts.outside = frozenset(info.outside)
    if info.assigned is not None:
        info.assigned.update(facts.assigned)
    facts.shared = frozenset(stored_in_functions | (facts.outside & facts.rebound))
    facts.rebound |= stored_in_functions
    if info.among_threads:
        facts.shared |= _defined(facts)
    return facts


def _defined(facts: Facts) -> set[str]:
    """What the top level defines: others may ask for it before the import is done."""
    return facts.rebound - facts.modules.keys() - facts.imported.keys()


def codes_by_name(code: CodeType) -> dict[str, list[CodeType]]:
    """All code in a module, by qualified name, in the order of the source."""
    found: dict[str, list[CodeType]] = {}
    left = [code]
    while left:
        one = left.pop(0)
        found.setdefault(one.co_qualname, []).append(one)
        left += [const for const in one.co_consts if isinstance(const, CodeType)]
    for group in found.values():
        group.sort(key=lambda one: one.co_firstlineno)
    return found


def imported_names(body: Body) -> frozenset[str]:
    """The names at the top level of a module that stand for something of another one."""
    facts = Facts(ModuleInfo("", ""))
    _read_top_level(body, facts)
    ops, args, _, _ = opcodes.decode(body.raw)
    imports = (opcodes.IMPORT_NAME, opcodes.IMPORT_FROM)
    relative = {
        body.code.co_names[arg]
        for before, number, arg in zip(ops, ops[1:], args[1:], strict=False)
        if number == opcodes.STORE_NAME and before in imports
    }
    return frozenset(relative.union(facts.modules, facts.imported))


def stored_globals(code: CodeType) -> set[str]:
    """The globals that a function stores, or one in it."""
    return set[str]().union(*map(_stored_globals, Body(code).tree()))


def _stored_globals(body: Body) -> set[str]:
    return _names_of(body, (opcodes.STORE_GLOBAL, opcodes.DELETE_GLOBAL))


def _names_of(body: Body, stores: tuple[int, ...]) -> set[str]:
    """The names in the arguments of these instructions."""
    ops, args, _, _ = opcodes.decode(body.raw)
    names = body.code.co_names
    return {names[arg] for number, arg in zip(ops, args, strict=True) if number in stores}


def _methods(body: Body) -> set[str]:
    names = {child.code.co_name for child in body.children.values()}
    return {name for name in names if not name.startswith("<")}


def _read_top_level(body: Body, facts: Facts) -> None:
    ops, args, _, _ = opcodes.decode(body.raw)
    names = body.code.co_names
    for index, number in enumerate(ops):
        if number == opcodes.STORE_NAME:
            facts.rebound.add(names[args[index]])
        elif number == opcodes.IMPORT_NAME:
            _read_import(body, ops, args, index, facts)


def _read_import(body: Body, ops: list[int], args: list[int], index: int, facts: Facts) -> None:
    """IMPORT_NAME takes (level, names); STORE_NAME or IMPORT_FROMs follow."""
    consts, names = body.code.co_consts, body.code.co_names
    module = names[opcodes.imported_name(args[index])]
    level, wanted = (opcodes.constant(ops[at], args[at], consts) for at in (index - 2, index - 1))
    if level != 0 or wanted is opcodes.NO_CONSTANT:
        return  # a relative import: code of the project
    stored = iter(range(index + 1, len(ops)))
    if wanted:
        for at in stored:
            if ops[at] != opcodes.IMPORT_FROM or ops[at + 1] != opcodes.STORE_NAME:
                return
            facts.imported[names[args[at + 1]]] = f"{module}.{names[args[at]]}"
            next(stored)
    else:
        at = next(at for at in stored if ops[at] == opcodes.STORE_NAME)
        whole = ops[index + 1] == opcodes.IMPORT_FROM  # import a.b as c
        facts.modules[names[args[at]]] = module if whole else module.partition(".")[0]
