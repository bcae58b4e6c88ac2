# SPDX-License-Identifier: Apache-2.0
"""Reproducers and kept interleavings: `python -m evaluation.reproducers`, which writes a page.

Every bug is hunted once; its first confirmed finding is exported as a reproducer and kept. The
reproducer is run on the plain interpreter, on the bug and on the fixed twin or release; the kept
interleaving is replayed on both. The campaigns stay in a folder, and the result of every case is
stored when it ends: `--resume` goes on after a break.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from evaluation import reproducer_page
from evaluation.draws import REPOSITORY, ZOO
from evaluation.real_cases import FOLDERS, load_cases
from evaluation.real_environments import cache
from evaluation.reproducer_cases import PythonSubject, RealSubject, Subject
from evaluation.reproducer_measure import measure
from evaluation.reproducer_results import Exported, ExportedZoo
from evaluation.truth import load_zoo

PAGE = REPOSITORY / "docs" / "reproducer-figures.md"
ZOOS = ("python", "users", "real")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evaluation.reproducers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CASE", help="only these")
    parser.add_argument("--zoo", choices=ZOOS, action="append", help="default: all")
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="of a reproducer")
    parser.add_argument("--time", type=int, default=60, metavar="SECONDS", help="of a hunt")
    parser.add_argument("--folder", type=Path, default=cache() / "exports", help="of campaigns")
    parser.add_argument("--resume", action="store_true", help="skip cases with a stored result")
    parser.add_argument(
        "--only-stored", action="store_true", help="write the page, measure nothing"
    )
    parser.add_argument("--only-hunt", action="store_true", help="make the campaigns, no more")
    parser.add_argument("--only-hunted", action="store_true", help="cases with a campaign only")
    parser.add_argument("--note", default="", help="a remark for the page")
    parser.add_argument("--page", type=Path, default=None, metavar="FILE")
    return parser


def subjects(options: argparse.Namespace) -> list[Subject]:
    """The cases that were asked for."""
    zoos = options.zoo or list(ZOOS)
    found: list[Subject] = []
    if "python" in zoos:
        found += [PythonSubject(bug, options.folder) for bug in load_zoo(ZOO)]
    for folder in FOLDERS:
        if folder.name in zoos:
            cases = load_cases([folder])
            found += [RealSubject(case, folder.name, options.folder) for case in cases]
    return [one for one in found if not options.names or one.name in options.names]


def _result(subject: Subject, options: argparse.Namespace) -> Exported | None:
    file = subject.base / "result.json"
    if file.exists() and (options.resume or options.only_stored):
        return msgspec.json.decode(file.read_bytes(), type=Exported)
    if options.only_stored or (options.only_hunted and not subject.is_hunted):
        return None
    row = measure(subject, options.runs, options.time)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(row)))
    return row


def _all(options: argparse.Namespace) -> Iterator[Exported]:
    for subject in subjects(options):
        row = _result(subject, options)
        if row is not None:
            print(reproducer_page.line(row), flush=True)
            yield row


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the bars and write the page."""
    options = _parser().parse_args(arguments)
    if options.only_hunt:
        for subject in subjects(options):
            subject.hunt(options.time)
        return 0
    measured = ExportedZoo(
        date=time.strftime("%Y-%m-%d"),
        python=platform.python_version(),
        cores=len(os.sched_getaffinity(0)),
        runs=options.runs,
        rows=tuple(_all(options)),
        note=options.note,
    )
    for bar in reproducer_page.bars(measured):
        print(f"{'met' if bar.met else 'MISSED':6}  {bar.text}: {bar.part} of {bar.whole}")
    page = options.page or (None if options.names or options.zoo else PAGE)
    if page:
        page.write_text(reproducer_page.page(measured), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
