# SPDX-License-Identifier: Apache-2.0
"""Where handlers are entered, and where they are known to catch."""

import asyncio
import contextlib
import sys
from typing import Any

import pytest

from unsnarl import _core
from unsnarl.probes.python import registry
from unsnarl.probes.python.rewriter import ModuleInfo, rewrite
from unsnarl.probes.python.rewriter.kinds import CAUGHT, HANDLER
from unsnarl.probes.python.rewriter.libraries import with_catches

pytestmark = pytest.mark.core

PROGRAM = """
import contextlib

class Exit:
    def __init__(self, answer):
        self.answer = answer
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return self.answer
    async def __aenter__(self):
        return self
    async def __aexit__(self, *error):
        return self.answer

def fails():
    raise KeyError("gone")

"""


class Seen:
    """Makes sites that write down the handlers they stand in."""

    def __init__(self) -> None:
        self.visits: list[tuple[str, int, str]] = []

    def site(self, kind: int, id: int, name: str, flags: int) -> Any:
        return Visited(self, kind) if kind in (HANDLER, CAUGHT) else Ignored()


class Visited:
    def __init__(self, seen: Seen, kind: int) -> None:
        self._seen, self._kind = seen, kind

    def __delitem__(self, error: BaseException) -> None:
        line = sys._getframe(1).f_lineno or 0
        word = "caught" if self._kind == CAUGHT else "entered"
        self._seen.visits.append((word, line, type(error).__name__))


class Ignored:
    def __delitem__(self, operand: Any) -> None:
        pass

    def __setitem__(self, key: Any, container: Any) -> None:
        pass


def visits(body: str, what: str = "caught") -> list[tuple[int, str]]:
    """Lines, counted from the first of `body`, where something was caught, and what."""
    source = PROGRAM + body.replace("|", "\n")
    before = PROGRAM.count("\n")
    seen = Seen()
    code = rewrite(compile(source, "<made up>", "exec"), ModuleInfo("m", "<made up>"), seen.site)
    names: dict[str, Any] = {"__name__": "m"}
    exec(code, names)
    with contextlib.suppress(KeyError):
        made = names["f"]()
        if asyncio.iscoroutine(made):
            asyncio.run(made)
    return [(line - before, error) for word, line, error in seen.visits if word == what]


# What runs, `|` for the ends of lines: the line and type of all that is caught.
CASES = {
    "a clause that matches": (
        "def f():| try:|  fails()| except KeyError:|  pass",
        [(4, "KeyError")],
    ),
    "one of several types": (
        "def f():| try:|  fails()| except (OSError, KeyError) as e:|  pass",
        [(4, "KeyError")],
    ),
    "the second clause": (
        "def f():| try:|  fails()| except OSError:|  pass| except LookupError:|  pass",
        [(6, "KeyError")],
    ),
    "a clause without a type": (
        "def f():| try:|  fails()| except:|  pass",
        [(4, "KeyError")],
    ),
    "no clause matches": (
        "def f():| try:|  fails()| except OSError:|  pass",
        [],
    ),
    "finally catches nothing": (
        "def f():| try:|  fails()| finally:|  x = 1",
        [],
    ),
    "an exit that returns true": (
        "def f():| with Exit(True):|  fails()",
        [(2, "KeyError")],
    ),
    "an exit that returns false": (
        "def f():| with Exit(False):|  fails()",
        [],
    ),
    "the exit of a library": (
        "def f():| with contextlib.suppress(KeyError):|  fails()",
        [(2, "KeyError")],
    ),
    "an asynchronous exit": (
        "async def f():| async with Exit(True):|  fails()",
        [(2, "KeyError")],
    ),
    "raised again": (
        "def f():| try:|  try:|   fails()|  except KeyError:|   raise| except LookupError:|  pass",
        [(5, "KeyError"), (7, "KeyError")],
    ),
    "raised as another": (
        "def f():| try:|  try:|   fails()|"
        "  except KeyError as e:|   raise OSError from e| except OSError:|  pass",
        [(5, "KeyError"), (7, "OSError")],
    ),
    "in a loop": (
        "def f():| for i in range(2):|  try:|   fails()|  except KeyError:|   continue",
        [(5, "KeyError"), (5, "KeyError")],
    ),
    "thrown into a generator": (
        "@contextlib.contextmanager|def guard():| try:|  yield|"
        " except KeyError:|  pass|def f():| with guard():|  fails()",
        [(5, "KeyError"), (8, "KeyError")],
    ),
    "at the top of a module": (
        "try:| fails()|except KeyError:| pass|def f():| pass",
        [(3, "KeyError")],
    ),
    "nothing is raised": (
        "def f():| try:|  pass| except:|  pass| with Exit(True):|  pass",
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_seen_who_catches(name: str) -> None:
    body, expected = CASES[name]
    assert visits(body) == expected


def test_a_finally_and_clauses_are_entered_first() -> None:
    body = "def f():| try:|  fails()| finally:|  try:|   fails()|  except OSError: pass"
    assert [error for _, error in visits(body, "entered")] == ["KeyError", "KeyError"]


def test_handlers_are_no_sites_of_a_report() -> None:
    source = "def f(x):\n  try:\n    x.n = 1\n  except KeyError:\n    pass\n"
    before = registry.REGISTRY.probes
    rewrite(compile(source, "<made up>", "exec"), ModuleInfo("m", "<made up>"))
    assert registry.REGISTRY.probes == before + 1
    kinds = {row[1] for block in registry.REGISTRY.blocks[-2:] for row in block.describe()["sites"]}
    assert kinds.isdisjoint({"handler", "caught"})


def test_a_library_gets_probes_only_where_it_catches() -> None:
    body = "def f(x):| x.n = 1| try:|  pass| except KeyError:|  pass| finally:|  x.n = 2|"
    code = with_catches(compile(body.replace("|", "\n"), "<made up>", "exec"))
    function = next(c for c in code.co_consts if hasattr(c, "co_code"))
    sites = [const for const in function.co_consts if isinstance(const, _core.Site)]
    assert [(site.kind, site.id) for site in sites] == [(CAUGHT, 0)]


def test_a_library_without_handlers_stays_as_it_is() -> None:
    code = compile("def f(x):\n  x.n = 1\nclass C:\n  n = 2\n", "<made up>", "exec")
    assert with_catches(code) is code
