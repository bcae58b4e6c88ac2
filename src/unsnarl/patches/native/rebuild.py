# SPDX-License-Identifier: Apache-2.0
"""Builds a program once more, with patched files in the stead of some of its sources.

    program  --.unsnarl.build-->  compile a.c, compile b.c, link a.o b.o
    a.c is patched                compile TREE/a.c -> scratch/0.o, link scratch/0.o b.o

The sources of what is compiled anew are copied to a tree of their own, headers included, so that
`#include "x.h"` finds the patched one. `#line` keeps their names in messages and debug information.
Nothing is written outside of the scratch folder.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from unsnarl.errors import ToolError, UnsnarlError
from unsnarl.probes.native import build_record, compiler
from unsnarl.probes.native.arguments import WITH_VALUE, inputs
from unsnarl.probes.native.build_record import BuildStep

SECONDS = 120.0
# What makes lists of dependencies, or names what is made.
DROPPED = ("-c", "-MD", "-MMD", "-MP", "-MG")
DROPPED_WITH_VALUE = ("-o", "-MF", "-MT", "-MQ", "-MJ")
FOLDERS = ("-I", "-iquote", "-isystem", "-idirafter")


class RebuildError(ToolError):
    """Why a program cannot be built once more, in words."""

    def __init__(self, why: str) -> None:
        super().__init__("no-rebuild", why, "rebuild the program with `unsnarl cc` and hunt again")


class Rebuild:
    """How one program was built."""

    def __init__(self, program: Path) -> None:
        self._program = program
        self._steps = build_record.read(program)
        links = [one for one in self._steps if one.step == "program"]
        if not links:
            raise RebuildError(f"{program.name} does not say how it was built")
        named = [one for one in links if _output(one) == program.resolve()]
        self._link = (named or links)[-1]
        self._needed: dict[BuildStep, dict[Path, str]] = {}

    def check(self, paths: Iterable[Path]) -> None:
        """Raises RebuildError if sources are not what the program was built of."""
        for path in paths:
            if not path.exists():
                raise RebuildError(f"{path.name} is gone, of which the program was built")
        self._check_age(paths)

    def with_files(self, files: Mapping[Path, bytes], scratch: Path) -> Path:
        """A program with these files in the originals' stead; raises RebuildError."""
        files = {path.resolve(): data for path, data in files.items()}
        objects: dict[Path, str] = {}
        reached: set[Path] = set()
        for number, unit in enumerate(self._units()):
            found = self._compiled(unit, files, scratch, number)
            if found is not None:
                objects[_output(unit)] = str(found[0])
                reached |= found[1]
        words, linked = self._linked(files, scratch)
        missing = files.keys() - reached - linked
        if missing:
            raise RebuildError(f"no recorded compilation has {min(missing).name} in it")
        return self._made(words, objects, scratch)

    def _units(self) -> list[BuildStep]:
        """The compilations, the last one of each object."""
        every = {_output(one): one for one in self._steps if one.step == "compile"}
        return list(every.values())

    def _compiled(
        self, unit: BuildStep, files: Mapping[Path, bytes], scratch: Path, number: int
    ) -> tuple[Path, set[Path]] | None:
        """Compile a unit that has one of the files in it; gives the object and which it has."""
        sources = [one for one in inputs(unit.words) if one.is_code]
        if len(sources) != 1:
            return None
        path, kept = Path(unit.folder, sources[0].name).resolve(), _output(unit).exists()
        if kept and not path.exists() and path not in files:
            return None  # its object is enough
        needed = self._dependencies(unit)
        if kept and files.keys().isdisjoint(needed):
            return None
        self._check_age(needed)
        tree = scratch / f"tree{number}"
        copied = _copied(needed, files, tree)
        words = list(unit.words)
        words[sources[0].at] = str(copied[path])
        made = scratch / f"{number}.o"
        words = _with_folders(unit, _plain(words), tree)
        _run(unit, [*words, "-c", "-o", str(made)])
        return made, files.keys() & needed.keys()

    def _linked(self, files: Mapping[Path, bytes], scratch: Path) -> tuple[list[str], set[Path]]:
        """The words of the link, with copies of the sources that it compiles itself."""
        step = self._link
        words = list(step.words)
        code = [one for one in inputs(words) if one.is_code]
        if not code:
            return words, set()
        needed = self._dependencies(step)
        self._check_age(needed)
        tree = scratch / "tree"
        copied = _copied(needed, files, tree)
        for one in code:
            words[one.at] = str(copied[Path(step.folder, one.name).resolve()])
        return _with_folders(step, words, tree), files.keys() & needed.keys()

    def _dependencies(self, step: BuildStep) -> dict[Path, str]:
        """What a step reads; drafts of one program ask for it again and again."""
        if step not in self._needed:
            self._needed[step] = _read_by(step)
        return self._needed[step]

    def _check_age(self, needed: Iterable[Path]) -> None:
        """What was edited since is not what was hunted."""
        built = self._program.stat().st_mtime_ns
        for path in needed:
            if path.stat().st_mtime_ns > built:
                raise RebuildError(f"{path.name} was changed after {self._program.name} was built")

    def _made(self, words: list[str], objects: Mapping[Path, str], scratch: Path) -> Path:
        step = self._link
        unused = dict(objects)
        for one in inputs(words):
            path = Path(step.folder, one.name).resolve()
            if path in objects:
                words[one.at] = unused.pop(path, objects[path])
        made = scratch / self._program.name
        # What is in an archive is not taken from there if it is there before.
        _run(step, [*unused.values(), *_plain(words, keep=DROPPED), "-o", str(made)])
        return made


def _output(step: BuildStep) -> Path:
    words = iter(step.words)
    for word in words:
        if word == "-o":
            return Path(step.folder, next(words, "")).resolve()
        if word.startswith("-o") and len(word) > 2:
            return Path(step.folder, word[2:]).resolve()
    code = [one for one in inputs(step.words) if one.is_code]
    name = Path(code[0].name).with_suffix(".o").name if step.step == "compile" and code else "a.out"
    return Path(step.folder, name).resolve()


def _plain(words: Sequence[str], keep: Sequence[str] = ()) -> list[str]:
    """The words without what makes or names files."""
    found = []
    rest = iter(words)
    for word in rest:
        if word in DROPPED_WITH_VALUE:
            next(rest, "")
        elif word.startswith("-o") and len(word) > 2:
            continue
        elif word not in DROPPED or word in keep:
            found.append(word)
    return found


def _read_by(step: BuildStep) -> dict[Path, str]:
    """The files of the project that a compilation reads, and how it names them."""
    every = inputs(step.words)
    sources = [one.name for one in every if one.is_code]
    found = {Path(step.folder, one).resolve(): one for one in sources}
    for path, source in found.items():
        if not path.exists():
            raise RebuildError(f"{source} is gone, of which the program was built")
    skipped = {one.at for one in every}
    words = [word for index, word in enumerate(step.words) if index not in skipped]
    for source in sources:
        text = _run(step, [*_plain(words), "-MM", "-MT", "x", source], plain=True)
        for name in text.replace("\\\n", " ").partition(":")[2].split():
            found.setdefault(Path(step.folder, name).resolve(), name)
    return found


def _copied(
    needed: Mapping[Path, str], files: Mapping[Path, bytes], tree: Path
) -> dict[Path, Path]:
    found = {}
    for path, name in needed.items():
        data = files.get(path)
        copy = Path(f"{tree}{path}")
        copy.parent.mkdir(parents=True, exist_ok=True)
        line = f"#line 1 {json.dumps(name, ensure_ascii=False)}\n".encode()
        copy.write_bytes(line + (path.read_bytes() if data is None else data))
        found[path] = copy
    return found


def _with_folders(step: BuildStep, words: Sequence[str], tree: Path) -> list[str]:
    """Folders of headers with their copies before them."""
    found = []
    rest = iter(words)
    for word in rest:
        option = next((one for one in FOLDERS if word.startswith(one)), "")
        value = ""
        if WITH_VALUE.fullmatch(word):
            value = next(rest, "")
        folder = value or word[len(option) :]
        if option and folder:
            found += [option, f"{tree}{Path(step.folder, folder).resolve()}"]
        found += [word, value] if value else [word]
    # Debug information names the originals, too: recorded schedules know their sites by file.
    return [*found, f"-fdebug-prefix-map={tree}="]


def _run(step: BuildStep, words: Sequence[str], *, plain: bool = False) -> str:
    """Call the compiler as the wrapper did; gives what it prints."""
    try:
        if plain:
            ours = [word for word in words if word not in compiler.EXTRAS]
            line = [*step.compiler, *ours]
        else:
            line = compiler.command(step.language, words, step.compiler)
        done = subprocess.run(
            line,
            cwd=step.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired, UnsnarlError) as error:
        raise RebuildError(f"the compiler cannot be run again: {error}") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or ["it fails"]
        raise RebuildError(f"it does not compile: {lines[0]}")
    return done.stdout
