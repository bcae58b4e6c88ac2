# SPDX-License-Identifier: Apache-2.0
"""Draws numbered steps, one lane per thread.

Two layouts. Where the terminal is wide enough, every thread has a column of text, so that time runs
down and the threads stand side by side. Where it is not, every thread has a thin track at the left
(as in a drawing of branches) and all the text keeps one column of its full width. There nothing is
cut: what does not fit a line goes on in the next.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.text import Text

from unsnarl.reports.paths import shown_path
from unsnarl.reports.steps import Step

COLOURS = ("cyan", "magenta", "green", "blue", "yellow")
INDENT = 5
GAP = 3
# A longer path leaves too little room for what happens there.
LONGEST_PATH = 22
SHORT_POSITION = 16
# With less room next to its position, a line is broken in the middle of its names.
NARROW = 40
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
    drawing = _Drawing(steps, threads, labels, _positions(steps), failure)
    lane = (width - INDENT - GAP * (len(threads) - 1)) // max(len(threads), 1)
    return drawing.columns(lane) if drawing.fits(lane) else drawing.tracks(width)


def files_note(steps: Sequence[Step]) -> str:
    """Where the files are, for those that cannot be opened by the name that the steps have.

    For those of one folder, the folder: `below /usr/lib/python3/dist-packages`.
    """
    short = _short_files(steps)
    notes = []
    for file, name in short.items():
        if file != name:
            folder = file.removesuffix(f"/{name}")
            notes.append(f"below {folder}" if name == shown_path(file) else file)
    return " · ".join(dict.fromkeys(notes))


def cut(text: str, width: int) -> str:
    """`text` in at most `width` cells, with an ellipsis where something was lost."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…" if width > 0 else ""


def wrap(text: str, width: int) -> list[str]:
    """`text` on lines of at most `width` cells: whole words, as far as they fit."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and cell_len(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
            continue
        pieces = chop_cells(word, max(width, 1)) or [""]
        lines[-1:] = [lines[-1], *pieces] if lines[-1] else pieces
    return lines


def wrap_text(text: Text, width: int) -> list[Text]:
    """The same for styled text."""
    lines, start = [], 0
    for line in wrap(text.plain, width):
        start = text.plain.index(line, start)
        lines.append(text[start : start + len(line)])
        start += len(line)
    return lines


def _stacked(position: str, text: str, outcome: Text, width: int) -> list[Text]:
    """A long position has a row of its own: next to it, names would be cut into pieces."""
    rows = [Text(f"  {line}", style="bold") for line in wrap(text, width - 2)]
    rows += [Text("    ") + row for row in wrap_text(outcome, width - 4)]
    stacked = [Text(position), *rows]
    for row in stacked:
        row.rstrip()
    return stacked


def _short_files(steps: Sequence[Step]) -> dict[str, str]:
    """Below a package's folder; the last name alone where that is long, and no other has it."""
    files = list(dict.fromkeys(step.file for step in steps))
    last = [PurePath(file).name for file in files]
    shown = {file: shown_path(file) for file in files}
    for file, name in zip(files, last, strict=True):
        if len(shown[file]) > LONGEST_PATH and last.count(name) == 1:
            shown[file] = name
    return shown


def _positions(steps: Sequence[Step]) -> dict[tuple[str, int], str]:
    short = _short_files(steps)
    return {(step.file, step.line): f"{short[step.file]}:{step.line}" for step in steps}


def _widest(values: Iterable[str]) -> int:
    return max((cell_len(value) for value in values), default=0)


@dataclasses.dataclass(frozen=True)
class _Drawing:
    """Steps with all that is needed to draw them; `threads` has the roles, leftmost first."""

    steps: Sequence[Step]
    threads: Mapping[str, int]
    labels: Mapping[str, str]
    positions: Mapping[tuple[str, int], str]
    failure: str

    def fits(self, lane: int) -> bool:
        """Whether each thread's steps fit a lane as they are."""
        if _widest(self.labels.values()) > lane:
            return False
        for step in self.steps:
            position = _widest(map(self._position, self._in_lane_of(step)))
            outcome = cell_len(self._outcome(step, self.failure).plain)
            if position + 2 + cell_len(step.text) + GAP + outcome > lane:
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
            row = Text().append(f"{step.number or '':>3}  ", style="dim")
            row.pad_right(starts[step.thread] - cell_len(row.plain))
            (body,) = self._body(step, self._in_lane_of(step), lane)
            rows.append(row.append_text(body))
        return rows

    def tracks(self, width: int) -> list[Text]:
        """Every thread has a track; the text has one column."""
        rows = [self._track_head(thread, width) for thread in self.threads]
        for step in self.steps:
            room = width - INDENT - 2 * len(self.threads) - 1
            for at, body in enumerate(self._body(step, self.steps, room)):
                number = f"{step.number or '':>3}" if not at else ""
                row = Text().append(f"{number:<{INDENT}}", style="dim")
                rows.append(row.append_text(self._marks(step, first=not at)).append_text(body))
        return rows

    def _marks(self, step: Step, *, first: bool) -> Text:
        """The threads' tracks, with the mark of the one whose step it is in its first row."""
        row = Text()
        for thread, role in self.threads.items():
            here = CROSS if step.failing else "●"
            row.append(f"{here if first and thread == step.thread else '│'} ", style=colour(role))
        return row.append(" ")

    def _track_head(self, thread: str, width: int) -> Text:
        row = Text(" " * INDENT)
        for earlier in self.threads:
            if earlier == thread:
                break
            row.append("│ ", style=colour(self.threads[earlier]))
        style = colour(self.threads[thread])
        row.append("┌ ", style=style)
        return row.append(cut(self.labels[thread], width - cell_len(row.plain)), f"bold {style}")

    def _position(self, step: Step) -> str:
        return self.positions[step.file, step.line]

    def _in_lane_of(self, step: Step) -> list[Step]:
        return [other for other in self.steps if other.thread == step.thread]

    def _outcome(self, step: Step, failure: str) -> Text:
        """The right end of a step: what was done, and what was wrong with it."""
        text = Text(step.what)
        if step.mark:
            text.append(f"  {MARK} {step.mark}", style="bold yellow")
        if step.failing:
            text.append("  " if text.plain else "")
            reason = (step.swallowed or failure) if failure else ""
            text.append(f"{CROSS} {reason}".rstrip(), style="bold red")
        return text

    def _body(self, step: Step, column: Sequence[Step], width: int) -> list[Text]:
        """Source line, its text and the outcome of a step, aligned with the steps of its column."""
        position = self._position(step) + "  "
        position_width = max(self._position_width(column), cell_len(position))
        room = width - position_width
        outcome = self._outcome(step, self.failure)
        needed = max(cell_len(step.text), cell_len(outcome.plain) + 2)
        # Also where a row of its own keeps in one piece what would be broken next to the position.
        if needed > room and (room < NARROW or needed + 2 <= width):
            return _stacked(position, step.text, outcome, width)
        rows = [Text(text, style="bold") for text in wrap(step.text, room)]
        if len(rows) == 1 and cell_len(step.text) + GAP + cell_len(outcome.plain) <= room:
            rows[0].pad_right(self._outcome_starts(step, column, room) - cell_len(step.text))
            rows[0].append_text(outcome)
        else:
            rows += [Text("  ") + row for row in wrap_text(outcome, room - 2)]
        rows[0] = Text(set_cell_size(position, position_width)) + rows[0]
        for row in rows[1:]:
            row.pad_left(position_width)
        for row in rows:
            row.rstrip()
        return rows

    def _position_width(self, column: Sequence[Step]) -> int:
        """Of the short positions: a single long one must not take the room of all steps."""
        widths = [cell_len(self._position(step)) for step in column]
        return 2 + max(width for width in widths if width <= max(min(widths), SHORT_POSITION))

    def _outcome_starts(self, step: Step, column: Sequence[Step], room: int) -> int:
        """Where the outcome begins: below the others, if there it has room."""
        shared = GAP + max(
            (cell_len(other.text) for other in column if self._is_one_row(other, room)), default=0
        )
        return min(shared, room - cell_len(self._outcome(step, self.failure).plain))

    def _is_one_row(self, step: Step, room: int) -> bool:
        outcome = cell_len(self._outcome(step, self.failure).plain)
        return cell_len(step.text) + GAP + outcome <= room
