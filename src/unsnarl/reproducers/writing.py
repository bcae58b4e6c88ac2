# SPDX-License-Identifier: Apache-2.0
"""The text of a reproducer: what it shows, what it forces, and how (forcing.py)."""

from __future__ import annotations

import pprint
import shlex
import signal
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from unsnarl.model.report import NumberedFinding
from unsnarl.reproducers import forcing
from unsnarl.reproducers.events import ForcedEvent, ForcedOrder

MARKER = "# ---- how it is forced"
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
        rows += ["# In each pair the second waits, right before that, until the first has happened."]
        rows += ["ORDERS = ["]
        for order in self.orders:
            pair = (_plain(order.early), _plain(order.late))
            shown = pprint.pformat(pair, width=WIDTH - 4, sort_dicts=False)
            rows += [textwrap.indent(shown, "    ") + ","]
        rows += ["]", ""]
        return "\n".join([self.header, "import sys", "", *rows, _machinery()])


def _plain(event: ForcedEvent) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(event)
    return plain


def _machinery() -> str:
    """The part of forcing.py that is the same in every reproducer."""
    text = Path(forcing.__file__).read_text(encoding="utf-8")
    kept = text[text.index(MARKER) :]
    return kept.replace("  # noqa: E402", "")


def header(one: NumberedFinding, orders: Sequence[ForcedOrder], command: str, version: str) -> str:
    """The docstring: what the file shows, how to run it, what its exit status means."""
    finding, failure = one.finding, one.failure
    about = finding.summary or f"{finding.kind} of {', '.join(finding.variables)}"
    rows = [
        f"Reproducer of a thread bug: {_clean(failure.signature)}",
        "",
        _clean(about),
        "",
        f"It runs `{command}` on a plain interpreter and makes its threads do this:",
        *_steps(orders),
        *_latent(failure.latent),
        "",
        "Run it where you would run the test. It needs Python 3.11 or later, what the test needs, "
        "and nothing else. It exits with",
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
