# SPDX-License-Identifier: Apache-2.0
"""Real bugs: the content of a case.toml, and which of its true points a finding names.

A true point is a line of source that a right answer must name, or that is context. It is named if
a point of the finding is in that file and function and on a line with that text.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal

import msgspec

from evaluation.draws import REPOSITORY
from unsnarl.model.report import FindingPoint
from unsnarl.reports.patterns import FAIL

FOLDERS = (REPOSITORY / "zoo" / "real", REPOSITORY / "zoo" / "users")
SETS = ("work", "seen", "held-out", "users")
UNDECIDED: Literal["?"] = "?"  # until the coin is thrown
Set = Literal["work", "seen", "held-out", "users", "?"]
Form = Literal["pytest", "unittest", "script"]
FRAME = re.compile(r"(?P<file>.+):(?P<line>\d+) in (?P<function>.+)")


class CasePoint(msgspec.Struct, frozen=True):
    """A true point; `line` is the stripped text, or several texts that mean the same."""

    file: str
    function: str
    line: str | tuple[str, ...]
    role: Literal["must", "context"] = "must"
    why: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts that the line may have."""
        return (self.line,) if isinstance(self.line, str) else self.line


class RealCase(msgspec.Struct, frozen=True):
    """One bug of a released package, or of a program with a corrected twin.

    Attributes:
        requires: Further packages that both releases need, pinned.
        include: Modules that are instrumented although they are installed.
        twin: A folder of corrected files, for a program that is no package.
        driver: The file that shows the bug.
        other_bugs: Parts of signatures of other bugs, which the fixed release has, too.
        shapes: The names that an engineer would accept for it (docs/shapes.md).
    """

    name: str
    folder: Path
    form: Form
    kind: str
    points: tuple[CasePoint, ...] = msgspec.field(name="point")
    set: Set = UNDECIDED
    package: str = ""
    version: str = ""
    fixed_version: str = ""
    requires: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    reference: str = ""
    symptom: str = ""
    notes: str = ""
    twin: str = ""
    driver: str = ""
    other_bugs: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    variables: Any = None
    threads: Any = None
    native: dict[str, Any] = msgspec.field(default_factory=dict)
    witness: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def must(self) -> tuple[CasePoint, ...]:
        """The points that a right answer names."""
        return tuple(point for point in self.points if point.role == "must")

    @property
    def command(self) -> tuple[str, ...]:
        """How a user would run it."""
        default = f"{self.name}.py" if self.form == "script" else f"test_{self.name}.py"
        driver = self.driver or default
        if self.form == "unittest":
            return ("python", "-m", "unittest", driver.removesuffix(".py"))
        return ("python", *(("-m", "pytest") if self.form == "pytest" else ()), driver)

    @property
    def label(self) -> str:
        """What is hunted: `boltons 18.0.1`, or the name of a program."""
        return f"{self.package} {self.version}".strip() or self.name

    def pins(self, fixed: bool) -> tuple[str, ...]:
        """What one of the releases needs installed."""
        version = self.fixed_version if fixed else self.version
        return ((f"{self.package}=={version}",) if self.package else ()) + self.requires


def load_case(folder: Path) -> RealCase:
    """Reads a case.toml; raises ValueError for one that is not well formed."""
    file = folder / "case.toml"
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    try:
        case = msgspec.convert(
            {**content, "name": folder.name, "folder": folder},
            RealCase,
            dec_hook=lambda kind, value: kind(value),
        )
    except msgspec.ValidationError as error:
        raise ValueError(f"{file}: {error}") from error
    for complaint in _complaints(case):
        raise ValueError(f"{file}: {complaint}")
    return case


def _complaints(case: RealCase) -> Iterable[str]:
    if not case.must:
        yield "no point has the role `must`"
    if bool(case.package) == bool(case.twin):
        yield "either a package or a twin"
    if case.package and not (case.version and case.fixed_version):
        yield "a package needs `version` and `fixed_version`"
    if not (case.folder / case.command[-1]).exists() and case.form != "unittest":
        yield f"there is no {case.command[-1]}"


def load_cases(folders: Iterable[Path]) -> list[RealCase]:
    """All cases under some folders: by set, then by name."""
    found = [load_case(path.parent) for root in folders for path in root.glob("*/case.toml")]
    order = (*SETS, UNDECIDED)
    return sorted(found, key=lambda case: (order.index(case.set), case.name))


SourceOf = Callable[[str, int], str]


def named(
    points: Sequence[CasePoint], lines: Sequence[FindingPoint], source: SourceOf, callers: bool
) -> int:
    """How many of the true points these lines of a finding name.

    Args:
        source: The text of a line of a file, where the finding does not have it.
        callers: Whether the calls that led to a line count, too.
    """
    shown = [line for line in lines if line.op != FAIL]
    return sum(any(_names(point, line, source, callers) for line in shown) for point in points)


def _names(point: CasePoint, line: FindingPoint, source: SourceOf, callers: bool) -> bool:
    text = line.text or source(line.file, line.line)
    if _is_at(point, line.file, line.function, text):
        return True
    frames = [FRAME.fullmatch(frame) for frame in line.stack] if callers else []
    return any(
        _is_at(point, one["file"], one["function"], source(one["file"], int(one["line"])))
        for one in frames
        if one
    )


def _is_at(point: CasePoint, file: str, function: str, text: str) -> bool:
    true = point.function.replace(".<locals>", "")  # as reports write qualified names
    return (
        _same_file(point.file, file)
        and f".{true}." in f".{function}."  # or in a function inside of it
        and any(_words(one) in _words(text) for one in point.texts)
    )


def _same_file(true: str, shown: str) -> bool:
    """Reports may shorten paths: the shorter one is the end of the longer one."""
    short, long = sorted((PurePath(true).parts, PurePath(shown).parts), key=len)
    return long[-len(short) :] == short


def _words(text: str) -> str:
    return " ".join(text.split())


def sources_under(folders: Sequence[Path]) -> SourceOf:
    """Lines of files that a report names by the end of their path."""

    @functools.cache
    def lines(file: str) -> tuple[str, ...]:
        candidates = [Path(file), *(folder / file for folder in folders)]
        path = next((path for path in candidates if path.is_file()), None)
        return tuple(path.read_text(encoding="utf-8").splitlines()) if path else ()

    def source(file: str, line: int) -> str:
        found = lines(file)
        return found[line - 1] if 0 < line <= len(found) else ""

    return source
