# SPDX-License-Identifier: Apache-2.0
"""The functions of a program that runs, each with a twin of its code that has probes.

Functions keep their own code. A burst gives them their twins and takes them back, so that what is
watched costs nothing while it is not (docs/adr/0080). Frames that run already keep the code that
they began with: a loop that never ends is seen only in what it calls.
"""

from __future__ import annotations

import gc
import os
import sys
import weakref
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType, FunctionType

from unsnarl.probes.python import importer, loaded

# Functions that the program has made since the latest look are in the young generations.
_YOUNG = (0, 1)
_NEAR_TOP = 20  # frames
Exchange = tuple[list[FunctionType], list[CodeType]]


class Twins:
    """The functions of the program's files, as far as they were found.

    They are held weakly: closures come and go, and what they hold goes with them.
    """

    def __init__(self, root: str, include: list[str]) -> None:
        importer.use(root, include)
        self._twins: dict[int, CodeType] = {}  # by id of the function's own code
        self._own: dict[int, CodeType] = {}  # by id of the twin
        self._kept: list[CodeType] = []  # so that no id is given to other code
        self._files: dict[str, loaded.FileCodes | None] = {}
        self._watched: dict[str, bool] = {}
        self._functions: dict[int, weakref.ref[FunctionType]] = {}
        self.refused: list[str] = []

    def with_probes(self) -> Exchange:
        """The functions that have a twin, and these."""
        pairs = [(one, self._twins.get(id(one.__code__))) for one in self._living()]
        found = [(one, twin) for one, twin in pairs if twin is not None]
        return [one for one, _ in found], [twin for _, twin in found]

    def without_probes(self) -> Exchange:
        """The functions that have probes now, and their own codes."""
        living = {id(one): one for one in self._living()}
        # Who was made by a function with probes has them, too.
        living.update((id(one), one) for one in _functions(_young()))
        pairs = [(one, self._own.get(id(one.__code__))) for one in living.values()]
        found = [(one, own) for one, own in pairs if own is not None]
        return [one for one, _ in found], [own for _, own in found]

    def threads_inside(self) -> int:
        """How many threads have a function of the program on their stacks, near the top."""
        return sum(self._is_inside(top) for top in sys._current_frames().values())

    def _is_inside(self, frame: FrameType | None) -> bool:
        for _ in range(_NEAR_TOP):
            if frame is None:
                return False
            if self._files.get(frame.f_code.co_filename) is not None:
                return True
            frame = frame.f_back
        return False

    def lingering(self) -> set[int]:
        """The ids of twins that some thread still runs: it began them in a burst."""
        found: set[int] = set()
        for top in sys._current_frames().values():
            frame: FrameType | None = top
            while frame is not None:
                if id(frame.f_code) in self._own:
                    found.add(id(frame.f_code))
                frame = frame.f_back
        return found

    def give_up(self, twins: set[int]) -> None:
        """Their functions get no probes any more: they run for longer than bursts last."""
        for one in twins:
            self._twins.pop(id(self._own[one]), None)

    def find(self, whole: bool) -> list[str]:
        """Look for functions, among all objects or the latest ones; gives files without twins."""
        new: dict[str, bool] = {}
        for one in _functions(gc.get_objects() if whole else _young()):
            if id(one) in self._functions and self._functions[id(one)]() is one:
                continue
            file = one.__code__.co_filename
            if file in self._files:
                self._add(one)
            elif self._is_watched(file, one.__module__ or ""):
                new[file] = True
        return list(new)

    def make(self, file: str) -> None:
        """Twins for all code of a file; if that cannot be, it stays as it is, and is named."""
        functions = [
            one for one in _functions(gc.get_objects()) if one.__code__.co_filename == file
        ]
        self._files[file] = None
        if not functions:
            return
        stored = loaded.stored_by_namespace(functions)[id(functions[0].__globals__)]
        try:
            self._files[file] = loaded.FileCodes(file, functions[0], frozenset(stored), "")
        except (SyntaxError, ValueError, OSError) as error:
            self.refused.append(f"{file}: {error}")
        for one in functions:
            self._add(one)

    def _add(self, function: FunctionType) -> None:
        self._functions[id(function)] = weakref.ref(function)
        codes = self._files[function.__code__.co_filename]
        own = function.__code__
        if codes is None or id(own) in self._twins or id(own) in self._own:
            return
        twin = codes.with_probes(own)
        if twin is not None:
            self._pair(own, twin)

    def _pair(self, own: CodeType, twin: CodeType) -> None:
        """Code and twin, and those of the functions that they will make."""
        if own is not twin and own.co_freevars == twin.co_freevars:
            self._twins[id(own)] = twin
            self._own[id(twin)] = own
            self._kept += (own, twin)
        for one, other in zip(own.co_consts, twin.co_consts, strict=False):
            if isinstance(one, CodeType) and isinstance(other, CodeType):
                self._pair(one, other)

    def _living(self) -> Iterator[FunctionType]:
        for key, reference in list(self._functions.items()):
            function = reference()
            if function is None:
                del self._functions[key]
            else:
                yield function

    def _is_watched(self, file: str, module: str) -> bool:
        if file not in self._watched:
            is_file = os.path.exists(file)  # noqa: PTH110  pathlib is slow to load
            self._watched[file] = is_file and importer.covers(file, module)
        return self._watched[file]


def _functions(objects: Iterable[object]) -> Iterator[FunctionType]:
    return (one for one in objects if type(one) is FunctionType)


def _young() -> list[object]:
    return [one for number in _YOUNG for one in gc.get_objects(generation=number)]
