# SPDX-License-Identifier: Apache-2.0
"""How a run ended, from what came back of it: its status, its run file, its output."""

from __future__ import annotations

import contextlib
from functools import cached_property
from pathlib import Path

import msgspec

from unsnarl.campaigns.engine import Done
from unsnarl.campaigns.labels import Labeller, Verdict
from unsnarl.campaigns.profile import waiting_frames
from unsnarl.errors import ToolError, UnsnarlError, UsageError
from unsnarl.model.run import Failure, Frame
from unsnarl.model.spelling import bare
from unsnarl.probes.native.sites import MANGLED, plain_type
from unsnarl.runfile import RunFile, RunFileError, SiteTable

# As in native/include/unsnarl/rt.h: a program that cannot do what its plan says.
EXIT_REFUSED = 98
OURS = "unsnarl: "


class Judge:
    """Labels the runs of one campaign, hunted or tried.

    Attributes:
        reads_output: Whether a run's output says how it ended.
    """

    def __init__(self, root: Path, codes: Path, fail_if: str = "") -> None:
        self._root = root
        self._codes = codes
        self._labeller = Labeller(root, fail_if)
        self.reads_output = bool(fail_if)

    def verdict(self, done: Done, run: RunFile | None, output: Path) -> Verdict:
        """The label of a run, with its failure and signature."""
        if run is None and done.status == EXIT_REFUSED:
            raise _refused(output)
        failures = tuple(map(self._placed, run.failures)) if run else ()
        waiting: list[Frame] = []
        if run is not None and run.waits:
            with contextlib.suppress(RunFileError):  # then the note's own frames must do
                waiting = waiting_frames(run, self._codes, self._root)
        return self._labeller.label(done, failures, waiting, output)

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
        return msgspec.structs.replace(failure, type=type_, frames=frames)

    def _whole(self, frame: Frame) -> Frame:
        """An assertion of C names its file as the compiler was told, from where that was called,
        and its function with all types.
        """
        frame = msgspec.structs.replace(frame, function=bare(frame.function))
        if Path(frame.file).is_absolute() or frame.file.startswith("<"):
            return frame
        files = (file for file in self._table.files() if Path(file).match(frame.file))
        return msgspec.structs.replace(frame, file=next(files, frame.file))

    @cached_property
    def _table(self) -> SiteTable:
        return SiteTable.load(self._codes, self._root)


def _refused(output: Path) -> UnsnarlError:
    """What the program, or what should have become it, wrote before anything was run.

    Another build is for the user to mend; what is too much for us is not.
    """
    text = output.read_text(errors="replace") if output.exists() else ""
    why = next((row for row in text.splitlines() if row.startswith(OURS)), "")
    why = why.removeprefix(OURS) or "the program cannot be run under a plan"
    if "built" in why:
        hint = "build it with this version of unsnarl, and hunt again"
        return UsageError("program-refused", why, hint)
    return ToolError("program-refused", why)
