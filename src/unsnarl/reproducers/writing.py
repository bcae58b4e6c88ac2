# SPDX-License-Identifier: Apache-2.0
"""The text of a reproducer: what it shows, what it forces, and how (machinery/)."""

from __future__ import annotations

import pprint
import re
import shlex
import signal
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from unsnarl.model.report import NumberedFinding
from unsnarl.reproducers import machinery
from unsnarl.reproducers.events import ForcedEvent, ForcedOrder

MARKER = "# ---- "
IMPORT = re.compile(r"^import (\w+)$", re.MULTILINE)
# In this order they are one program. That of locks is left out where no order needs it.
PARTS = ("events", "holding", "locks", "child", "parent")
ABOUT = """\
# From here on it is the same in every reproducer. The file starts itself once more, as a child, in
# which the test runs. Before certain instructions of the program the child keeps a thread waiting
# until another thread has done its part. Nothing else of the program is changed.
"""
WITHOUT_LOCKS = """
def wrap_locks():
    pass

"""
WIDTH = 96


class Reproducer(msgspec.Struct, frozen=True):
    """All that a reproducer of a Python program needs to know.

    Attributes:
        kind: Of the target: script, module or pytest.
        words: Its arguments, without paths of this machine.
        options: Of the interpreter.
        failure: What the failing test shows: the name of an exception, `exit status 3`.
        patience: Seconds without any movement after which an order is given up.
    """

    kind: str
    words: tuple[str, ...]
    options: tuple[str, ...]
    failure: str
    deadlock: bool
    fail_if: str
    ok_exit: tuple[int, ...]
    stdin: str
    orders: tuple[ForcedOrder, ...]
    header: str
    patience: float = 2.0

    @property
    def text(self) -> str:
        """The whole file."""
        values = {
            "TARGET": (self.kind, list(self.words)),
            "OPTIONS": list(self.options),
            "FAILURE": self.failure,
            "DEADLOCK": self.deadlock,
            "FAIL_IF": self.fail_if,
            "OK_EXIT": [0, *self.ok_exit],
            "STDIN": self.stdin,
            "PATIENCE": self.patience,
        }
        rows = [f"{name} = {value!r}" for name, value in values.items()]
        rows += [
            "# The thread of the second waits, right before that, until the first has happened.",
            "# The third is what must come later: it waits there if the second is gone.",
        ]
        rows += ["ORDERS = ["]
        for order in self.orders:
            events = [_plain(one) for one in (order.early, order.late, order.then) if one]
            shown = pprint.pformat(events, width=WIDTH - 4, sort_dicts=False)
            rows += [textwrap.indent(shown, "    ") + ","]
        rows += ["]", ""]
        parts = _parts()
        if not any(event.op for order in self.orders for event in (order.early, order.late)):
            parts["locks"] = WITHOUT_LOCKS
        imports = [f"import {name}" for name in _imported()]
        return "\n".join([self.header, *imports, "", *rows, ABOUT, *parts.values()])


def _plain(event: ForcedEvent) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(event)
    return plain


def _sources() -> dict[str, str]:
    folder = Path(machinery.__file__).parent
    return {name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in PARTS}


def _parts() -> dict[str, str]:
    """What is the same in every reproducer."""
    return {name: text[text.index(MARKER) :] + "\n" for name, text in _sources().items()}


def _imported() -> list[str]:
    """The modules of the standard library that the parts need."""
    heads = (text[: text.index(MARKER)] for text in _sources().values())
    return sorted({name for head in heads for name in IMPORT.findall(head)})


NEEDS = (
    "Run it where you would run the test. It needs Python 3.11 or later, what the test needs, and "
    "nothing else."
)
NEEDS_GDB = "Build the program with -g. gdb must have its Python, as it usually does."


def header(
    one: NumberedFinding,
    orders: Sequence[ForcedOrder],
    command: str,
    version: str,
    needs: str = NEEDS,
) -> str:
    """The docstring: what the file shows, how to run it, what its exit status means."""
    finding, failure = one.finding, one.failure
    about = finding.summary or f"{finding.kind} of {', '.join(finding.variables)}"
    rows = [
        f"Reproducer of a thread bug: {_clean(failure.signature)}",
        "",
        _clean(about),
        "",
        f"It runs `{command}` without unsnarl, and makes the threads do this:",
        *_steps(orders),
        *_latent(failure.latent),
        "",
        f"{needs} It exits with",
        "    1 while the bug is there,",
        "    0 when it is fixed,",
        "    2 when the order could not be established, so that nothing is known.",
        f"Written by unsnarl {version} for its finding {finding.id}.",
    ]
    wrapped = [_wrapped(row) for row in rows]
    body = "\n".join(wrapped).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{body}\n"""\n'


def _steps(orders: Sequence[ForcedOrder]) -> list[str]:
    rows = []
    for number, order in enumerate(orders, 1):
        early, late = order.early, order.late
        rows.append(f"  {number}. thread {early.thread}: {_says(early)}")
        rows.append(f"     before thread {late.thread}: {_says(late)}")
    return rows


def _says(event: ForcedEvent) -> str:
    times = f" (time {event.count})" if event.count > 1 else ""
    return f"{event.text}{times}  [{event.function}, {event.file}]"


def _latent(latent: bool) -> list[str]:
    if not latent:
        return []
    return [
        "The interpreter's lock prevents this order as long as it switches threads between "
        "statements only; a free-threaded build does not. Here it is forced."
    ]


def _wrapped(row: str) -> str:
    indent = " " * (len(row) - len(row.lstrip()))
    return textwrap.fill(
        row, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _clean(text: str) -> str:
    return " ".join(text.split())


def failure_name(signature: str) -> str:
    """What a failing run shows of a signature: the name of an exception, `exit status 3`."""
    first = signature.partition(" in ")[0].partition(":")[0].strip()
    if first.startswith("exit status"):
        return first
    if first in signal.Signals.__members__:
        return f"exit status -{int(signal.Signals[first])}"
    if first in ("output", "hang", "deadlock"):
        return "" if first == "output" else first
    return first.rpartition(".")[2].split()[0] if first else ""


def shown_command(kind: str, words: Sequence[str]) -> str:
    """The command as a person would type it."""
    start = {"script": ["python"], "module": ["python", "-m"], "pytest": ["pytest"]}[kind]
    return shlex.join([*start, *words])
