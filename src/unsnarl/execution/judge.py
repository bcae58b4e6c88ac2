# SPDX-License-Identifier: Apache-2.0
"""How a run ended, from what came back of it: its status, its run file, its output."""

from __future__ import annotations

import contextlib
import linecache
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from unsnarl.errors import ToolError, UnsnarlError, UsageError
from unsnarl.execution.labels import Judgement, Labeller
from unsnarl.execution.server import Done
from unsnarl.execution.signatures import Split, distinguished, of_caught
from unsnarl.model.cpp_names import bare
from unsnarl.model.event import site_of
from unsnarl.model.run import Failure, Frame, in_cycle
from unsnarl.probes import statuses
from unsnarl.probes.binaries.sites import MANGLED, plain_type
from unsnarl.runfile import RunFile, RunFileError, SiteTable

# Lines of a run's output that are the probe's own.
OURS = "unsnarl: "
GIL_HINT = "hunt without that module, or with a release of it that is made for free threading"


class Judge:
    """Judges the runs of one target: label, failure, signature."""

    def __init__(
        self, root: Path, codes: Path, fail_if: str = "", ok_exit: Sequence[int] = ()
    ) -> None:
        # Signatures quote lines: the program may have been edited since this process read it.
        linecache.checkcache()
        self._root = root
        self._codes = codes
        self._labeller = Labeller(root, fail_if, ok_exit)
        self._split: Split = {}

    def distinguish(self, split: Split) -> None:
        """From now on these signatures are divided by the exceptions that runs swallow."""
        self._split = split

    def judgement(self, done: Done, run: RunFile | None, output: Path) -> Judgement:
        """The label of a run, with its failure and signature."""
        if run is None and done.status == statuses.REFUSED:
            raise _refused(output)
        failures = tuple(map(self._placed, run.failures)) if run else ()
        waiting: list[Frame] = []
        if run is not None and run.waits:
            with contextlib.suppress(RunFileError):  # then the note's own frames must do
                waiting = waiting_frames(run, self._table)
        judged = self._labeller.label(done, failures, waiting, output)
        if run is None or judged.signature not in self._split:
            return judged
        swallowed = [of_caught(one, self._root) for one in run.caught if not one.call]
        signature = distinguished(judged.signature, swallowed, self._split[judged.signature])
        return msgspec.structs.replace(judged, signature=signature)

    def _placed(self, failure: Failure) -> Failure:
        """With whole paths and names, and with the frame of the site at which a signal struck."""
        frames = tuple(self._whole(frame) for frame in failure.frames)
        type_ = failure.type
        if type_.startswith(MANGLED):
            type_ = plain_type(type_)
        if failure.site and not frames:
            site = self._table.struck(failure.site)
            file = str(self._root / site.file)
            frames = (Frame(file, site.line, site.function),) if site.line else ()
        message = failure.message + self._block(failure)
        return msgspec.structs.replace(failure, type=type_, frames=frames, message=message)

    def _block(self, failure: Failure) -> str:
        """Where the block of a heap error comes from, and where it went."""
        words = {"made": failure.made, "freed": failure.freed}
        sites = {word: self._table.struck(site) for word, site in words.items() if site}
        parts = [f"{word} at {one.file}:{one.line}" for word, one in sites.items() if one.line]
        return f" ({', '.join(parts)})" if parts else ""

    def _whole(self, frame: Frame) -> Frame:
        """With the whole name of the file and the bare name of the function.

        An assertion of C names its file relative to where the compiler was called, and its
        function with all types.
        """
        frame = msgspec.structs.replace(frame, function=bare(frame.function))
        if Path(frame.file).is_absolute() or frame.file.startswith("<"):
            return frame
        files = (file for file in self._table.files() if Path(file).match(frame.file))
        return msgspec.structs.replace(frame, file=next(files, frame.file))

    @cached_property
    def _table(self) -> SiteTable:
        return SiteTable.load(self._codes, self._root)


def waiting_frames(run: RunFile, table: SiteTable) -> list[Frame]:
    """Where the threads of a deadlock wait for each other.

    Only the threads of a cycle count, where there is one: which others happen to wait for them
    differs from run to run.
    """
    sites = table.for_run(run)
    found = [sites.site(site_of(wait.point)) for wait in in_cycle(run.waits) or run.waits]
    return [Frame(str(table.root / s.file), s.line, s.function) for s in found if s.line]


def _refused(output: Path) -> UnsnarlError:
    """What the program, or what should have become it, wrote before anything was run.

    Another build is for the user to make; what is too much for us is our limit.
    """
    text = output.read_text(errors="replace") if output.exists() else ""
    why = next((row for row in text.splitlines() if row.startswith(OURS)), "")
    why = why.removeprefix(OURS) or "the program cannot be run under a plan"
    if why.startswith(statuses.GIL_ENABLED):
        return ToolError("gil-enabled", why, GIL_HINT)
    if "built" in why:
        hint = "build it with this version of unsnarl, and hunt again"
        return UsageError("program-refused", why, hint)
    return ToolError("program-refused", why)
