# SPDX-License-Identifier: Apache-2.0
"""A failing program as an ordinary file: a test that a person can read, keep and hunt.

Calls that no serial order lets raise are made plainly, so that an exception of threads fails as it
would anywhere. What calls give is compared with what the serial orders gave, which the file lists.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from unsnarl.probes.python.driver import CHECK, NAMES, NOT_MADE, RAISES
from unsnarl.stress.program import CallProgram, MethodCall, ProgramOutcome
from unsnarl.stress.subject import Subject

HEADER = "Written by `unsnarl stress"
NUMBERED = re.compile(r"<([\w.]+) (\d+)>")
ATTEMPT = '''\
def attempt(call, *expected):
    """What a call gives, or which of the expected exceptions it raises."""
    try:
        return call()
    except Exception as error:
        if type(error).__name__ not in expected:
            raise
        return f"raises {type(error).__name__}"
'''
INDENT = " " * 4
USED = ("seen", "serial", "threads", "thread", "threading", "works", "setup", *NAMES)


class ProgramFile:
    """The text of one program's file."""

    def __init__(
        self,
        subject: Subject,
        program: CallProgram,
        wrong: ProgramOutcome,
        serial: Sequence[ProgramOutcome],
        masked: frozenset[str],
    ) -> None:
        self._subject = subject
        self._program = program
        self._wrong = wrong
        self._serial = serial
        self._variable = variable_of(subject.name)
        self._raising = {key: _expected(key, serial) for key, _ in program.calls()}
        hidden = {key for key, call in program.calls() if call.name in masked} | masked
        self._labels = _labels(program, self._variable, [*serial, wrong], hidden)
        texts = [one.seen[key] for one in serial for key in self._labels if key in one.seen]
        self._by_text = not all(map(_is_literal, texts))

    def text(self, folder: Path) -> str:
        """The file, to be written into a folder."""
        parts = [self._docstring(), "", *self._imports(folder), ""]
        if any(self._raising.values()):
            parts += ["", ATTEMPT]
        parts += ["", *self._test(), "", "", 'if __name__ == "__main__":']
        parts += [f"{INDENT}{self._test_name}()"]
        return "\n".join(parts) + "\n"

    @property
    def _test_name(self) -> str:
        return f"test_{self._variable}"

    def _docstring(self) -> str:
        subject = f"{self._subject.module}:{self._subject.name}"
        return "\n".join(
            [
                f'"""{self._summary()}',
                "",
                f"{HEADER} {subject}`. It is yours: edit it, keep it, let pytest run it.",
                '"""',
            ]
        )

    def _summary(self) -> str:
        if self._wrong.hangs:
            return f"These calls of {self._subject.name} wait for ever, and in no serial order do."
        return f"What these calls of {self._subject.name} give, no serial order of them gives."

    def _imports(self, folder: Path) -> Iterator[str]:
        subject = self._subject
        others = [path for path in subject.paths if Path(path) != folder]
        body = self._body()
        used = any("setup." in line for line in body)
        needed = [path for path in others if _has(path, subject, used)]
        if needed:
            yield "import sys"
        yield "import threading"
        if needed:
            yield "from pathlib import Path"
            for path in needed:
                where = os.path.relpath(path, folder)
                yield f"\nsys.path.insert(0, str(Path(__file__).parent / {where!r}))"
        yield ""
        yield f"from {subject.module} import {subject.name}"
        if used:
            yield f"import {subject.setup_name} as setup"
        if self._by_text:
            yield "from unsnarl.probes.shown import shown"

    def _test(self) -> list[str]:
        serial = [f"{INDENT * 2}{row}," for row in self._rows()]
        return [
            f"def {self._test_name}():",
            *([f"{INDENT}serial = [", *serial, f"{INDENT}]"] if self._labels else []),
            *(INDENT + line if line else "" for line in self._body()),
        ]

    def _body(self) -> list[str]:
        variable, program = self._variable, self._program
        lines = [f"{variable} = {program.make}"]
        if self._labels:
            lines.append("seen = {}")
        lines += self._calls("before", program.before)
        names = NAMES[: len(program.threads)]
        for name, calls in zip(names, program.threads, strict=True):
            made = [INDENT + line for line in self._calls(name, calls)]
            lines += ["", f"def {name}():", *made]
        lines += [
            "",
            f"works = ({', '.join(names)})",
            "threads = [threading.Thread(target=one, name=one.__name__) for one in works]",
            "for thread in threads:",
            f"{INDENT}thread.start()",
            "for thread in threads:",
            f"{INDENT}thread.join()",
            *self._calls("after", program.after),
            *self._state(),
        ]
        if self._labels:
            # Sorted: who was first must not make another failure of it.
            seen = "shown(seen)" if self._by_text else "dict(sorted(seen.items()))"
            lines.append(f"seen = {seen}")
            lines.append('assert seen in serial, f"no serial order gives {seen}"')
        if any(CHECK in one.seen for one in self._serial):
            lines.append(f"assert setup.check({variable}) is not False")
        return lines

    def _calls(self, part: str, calls: Sequence[MethodCall]) -> Iterator[str]:
        taken = {call.takes for call in calls}
        for index, call in enumerate(calls):
            key = f"{part} {index}"
            made = call.text(self._variable, "" if call.takes is None else f"got_{call.takes}")
            names = self._raising[key]
            if names:
                made = f"attempt(lambda: {made}, {', '.join(map(repr, names))})"
            if index in taken:
                made = f"got_{index} = {made}"
            if key in self._labels:
                made = f"seen[{self._labels[key]!r}] = {made}"
            source = [] if call.takes is None else self._raising[f"{part} {call.takes}"]
            if source:
                raised = tuple(RAISES + name for name in source)
                yield f"if got_{call.takes} not in {raised!r}:"
                made = INDENT + made
            yield made

    def _state(self) -> Iterator[str]:
        for key, label in self._labels.items():
            if key.startswith("state "):
                yield f"seen[{label!r}] = {key.removeprefix('state ').format(self._variable)}"

    def _rows(self) -> list[str]:
        """What serial orders give, each once, as source code."""
        rows = [
            {label: one.seen[key] for key, label in self._labels.items() if _is_made(one, key)}
            for one in self._serial
        ]
        return list(dict.fromkeys(self._row(row) for row in rows))

    def _row(self, row: Mapping[str, str]) -> str:
        if self._by_text:
            numbers: dict[str, str] = {}
            texts = {label: _renumbered(row[label], numbers) for label in sorted(row)}
            return repr({label: texts[label] for label in row})
        inner = ", ".join(f"{label!r}: {_literal(text)}" for label, text in row.items())
        return f"{{{inner}}}"


def variable_of(name: str) -> str:
    """A variable for an object of a class: `lru_cache` for `LRUCache`."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    taken = keyword.iskeyword(apart) or hasattr(builtins, apart) or apart in USED
    return f"{apart}_1" if taken or apart == name else apart


def _labels(
    program: CallProgram,
    variable: str,
    outcomes: Sequence[ProgramOutcome],
    hidden: set[str] | frozenset[str],
) -> dict[str, str]:
    """What is compared, by key, with names for a reader; what is always None is left out."""
    rows = {key: f"{key.partition(' ')[0]}: {_short(call)}" for key, call in program.calls()}
    for one in outcomes:
        for key in one.seen:
            if key.startswith("state "):
                rows[key] = key.removeprefix("state ").format(variable)
    found: dict[str, str] = {}
    for key, label in rows.items():
        texts = {one.seen[key] for one in outcomes if key in one.seen}
        if texts - {"None"} and all(one.startswith(RAISES) for one in texts - {"None"}):
            # Nobody expects the exception: it fails by itself.
            texts = {"None"} if not _expected(key, outcomes[:-1]) else texts
        if key in hidden or texts <= {"None", NOT_MADE} or "itself" in texts:
            continue
        if key.startswith("state ") and len(texts) == 1 and not outcomes[-1].hangs:
            continue  # it is the same in all of them
        found[key] = f"{label} #2" if label in found.values() else label
    return found


def _short(call: MethodCall) -> str:
    return call.text("").removeprefix(".")


def _expected(key: str, serial: Sequence[ProgramOutcome]) -> list[str]:
    """The exceptions that a call raises in some serial order."""
    texts = {one.seen.get(key, "") for one in serial}
    return sorted(one.removeprefix(RAISES) for one in texts if one.startswith(RAISES))


def _is_made(outcome: ProgramOutcome, key: str) -> bool:
    return outcome.seen.get(key, NOT_MADE) != NOT_MADE


def _is_literal(text: str) -> bool:
    if text.startswith(RAISES) or text == NOT_MADE:
        return True
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return True


def _literal(text: str) -> str:
    return repr(text) if text.startswith(RAISES) else text


def _renumbered(text: str, numbers: dict[str, str]) -> str:
    """With objects counted in the order in which `shown` meets them."""
    text = repr(text) if text.startswith(RAISES) else text

    def change(match: re.Match[str]) -> str:
        number = numbers.setdefault(match.group(2), str(len(numbers) + 1))
        return f"<{match.group(1)} {number}>"

    return NUMBERED.sub(change, text)


def _has(path: str, subject: Subject, with_setup: bool) -> bool:
    """Whether a folder has one of the modules that the file imports."""
    names = [subject.module.partition(".")[0], *([subject.setup_name] if with_setup else [])]
    return any((Path(path) / f"{one}.py").exists() or (Path(path) / one).is_dir() for one in names)
