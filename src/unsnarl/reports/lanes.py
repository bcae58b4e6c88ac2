# SPDX-License-Identifier: Apache-2.0
"""Draws numbered steps, one lane per thread.

Two layouts. Where the terminal is wide enough, every thread has a column of text, so that time runs
down and the threads stand side by side. Where it is not, every thread has a thin track at the left
(as in a drawing of branches) and all the text keeps one column of its full width: a source line cut
to twenty characters helps nobody.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from unsnarl.reports.steps import Step

COLOURS = ("cyan", "magenta", "green", "blue", "yellow")
INDENT = 5
GAP = 3
# Below this many cells a source line is not worth a column of its own.
LEAST_TEXT = 28
MARK = "◄"
CROSS = "✗"

Label = Callable[[str], str]


def colour(role: int) -> str:
    """The colour of a thread, by its role in the finding."""
    return COLOURS[(role - 1) % len(COLOURS)]


def draw(steps: Sequence[Step], label: Label, failure: str, width: int) -> list[Text]:
    """The lanes of `steps`; `label` names a thread, `failure` stands at the failing line."""
    threads = {step.thread: step.role for step in sorted(steps, key=lambda step: step.role)}
    labels = {thread: label(thread) for thread in threads}
    drawing = _Drawing(steps, threads, labels, _places(steps), failure)
    lane = (width - INDENT - GAP * (len(threads) - 1)) // max(len(threads), 1)
    return drawing.columns(lane) if drawing.fits(lane) else drawing.tracks(width)


def files_note(steps: Sequence[Step]) -> str:
    """Where the files are, for those that the steps call by their last name only."""
    short = _short_files(steps)
    return " · ".join(file for file in short if short[file] != file)


def cut(text: str, width: int) -> str:
    """`text` in at most `width` cells, with an ellipsis where something was lost."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…" if width > 0 else ""


def _short_files(steps: Sequence[Step]) -> dict[str, str]:
    files = list(dict.fromkeys(step.file for step in steps))
    last = [PurePath(file).name for file in files]
    return {f: name if last.count(name) == 1 else f for f, name in zip(files, last, strict=True)}


def _places(steps: Sequence[Step]) -> dict[int, str]:
    short = _short_files(steps)
    return {step.number: f"{short[step.file]}:{step.line}" for step in steps}


def _widest(values: Iterable[str]) -> int:
    return max((cell_len(value) for value in values), default=0)


@dataclasses.dataclass(frozen=True)
class _Drawing:
    """Steps with all that is needed to draw them; `threads` has the roles, leftmost first."""

    steps: Sequence[Step]
    threads: Mapping[str, int]
    labels: Mapping[str, str]
    places: Mapping[int, str]
    failure: str

    def fits(self, lane: int) -> bool:
        """Whether each thread's steps fit a lane, with source lines whole or long enough."""
        if _widest(self.labels.values()) > lane:
            return False
        for step in self.steps:
            place = _widest(self.places[other.number] for other in self._beside(step))
            outcome = cell_len(self._outcome(step, self.failure).plain)
            if lane - place - 2 - GAP - outcome < min(cell_len(step.text), LEAST_TEXT):
                return False
        return True

    def columns(self, lane: int) -> list[Text]:
        """Every thread has a column of `lane` cells."""
        starts = {thread: INDENT + i * (lane + GAP) for i, thread in enumerate(self.threads)}
        header = Text()
        for thread, role in self.threads.items():
            header.pad_right(starts[thread] - cell_len(header.plain))
            header.append(self.labels[thread], style=f"bold {colour(role)}")
        rows = [header]
        for step in self.steps:
            row = Text().append(f"{step.number:>3}  ", style="dim")
            row.pad_right(starts[step.thread] - cell_len(row.plain))
            rows.append(row.append_text(self._body(step, self._beside(step), lane)))
        return rows

    def tracks(self, width: int) -> list[Text]:
        """Every thread has a track; the text has one column."""
        rows = [self._track_head(thread, width) for thread in self.threads]
        for step in self.steps:
            row = Text().append(f"{step.number:>3}  ", style="dim")
            for thread, role in self.threads.items():
                here = (CROSS if step.failing else "●") if thread == step.thread else "│"
                row.append(f"{here} ", style=colour(role))
            row.append(" ")
            room = width - cell_len(row.plain)
            rows.append(row.append_text(self._body(step, self.steps, room)))
        return rows

    def _track_head(self, thread: str, width: int) -> Text:
        row = Text(" " * INDENT)
        for earlier in self.threads:
            if earlier == thread:
                break
            row.append("│ ", style=colour(self.threads[earlier]))
        style = colour(self.threads[thread])
        row.append("┌ ", style=style)
        return row.append(cut(self.labels[thread], width - cell_len(row.plain)), f"bold {style}")

    def _beside(self, step: Step) -> list[Step]:
        return [other for other in self.steps if other.thread == step.thread]

    def _outcome(self, step: Step, failure: str) -> Text:
        """The right end of a step: what was done, and what was wrong with it."""
        text = Text(step.what)
        if step.mark:
            text.append(f"  {MARK} {step.mark}", style="bold yellow")
        if step.failing:
            text.append("  " if text.plain else "")
            text.append(f"{CROSS} {failure}".rstrip(), style="bold red")
        return text

    def _body(self, step: Step, beside: Sequence[Step], width: int) -> Text:
        """Place, source text and outcome of a step, aligned with the steps of its column."""
        outcome = self._outcome(step, self.failure)
        place_width = _widest(self.places[other.number] for other in beside)
        room = width - place_width - 2 - GAP
        text_width = self._text_width(step, beside, room)
        body = Text(set_cell_size(self.places[step.number], place_width) + "  ")
        body.append(set_cell_size(cut(step.text, text_width), text_width), style="bold")
        body.append(" " * GAP)
        outcome.truncate(max(width - cell_len(body.plain), 0), overflow="ellipsis")
        body.append_text(outcome)
        body.rstrip()
        return body

    def _text_width(self, step: Step, beside: Sequence[Step], room: int) -> int:
        """The cells of a source line: those of its column, or more if its outcome is short."""
        # The failure's text may stand out to the right of the other outcomes.
        ends = _widest(self._outcome(other, "").plain for other in beside)
        shared = min(_widest(other.text for other in beside), room - ends)
        own = min(cell_len(step.text), room - cell_len(self._outcome(step, self.failure).plain))
        least = min(cell_len(step.text), LEAST_TEXT, room // 2)
        return min(max(shared, own, least), max(room, 0))
