# SPDX-License-Identifier: Apache-2.0
"""Names for findings that a person can type and that outlive a ranking: `length-7c1e`.

The digits are a hash of what a finding claims: the failure's signature and, line by line, where it
is and what is done there. Neither ranks and scores nor line numbers go into it, so a name survives
another ranking, and edits elsewhere in the file. The word before them is for people only: it comes
from a variable's name, which a capture may find or not.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from unsnarl.analyses.answer import Answer, Line
from unsnarl.model.report import NumberedFinding
from unsnarl.model.sources import Sources
from unsnarl.reports.facts import Points
from unsnarl.reports.names import PATHS

FEWEST_DIGITS = 4
LONGEST_WORD = 16
# What follows a variable's name: an element, a number that sets namesakes apart.
SUFFIX = re.compile(r"\[.*| #\d+$")


def digests(
    signature: str, answers: Sequence[Answer], points: Points, sources: Sources
) -> list[str]:
    """The whole hash of each answer; those that claim the same are numbered."""
    claims = [
        "\n".join([signature, *(_claim(line, points, sources) for line in answer.lines)])
        for answer in answers
    ]
    seen: Counter[str] = Counter()
    found = []
    for claim in claims:
        seen[claim] += 1
        text = claim if seen[claim] == 1 else f"{claim}\n{seen[claim]}"
        # Names of files need not be UTF-8; what is not comes as surrogates.
        found.append(hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest())
    return found


def _claim(line: Line, points: Points, sources: Sources) -> str:
    """What makes a line unique, without its number: lines above it may come and go."""
    point = points.point(line.point)
    site = point.site
    text = " ".join(sources.line(site.file, site.line).split())
    where = (sources.relative(site.file), site.function, text, sources.segment(site))
    return "\t".join((*where, site.name, point.op.word, str(line.role)))


def names(words: Sequence[str], hashes: Sequence[str]) -> list[str]:
    """Word and digits for each hash: as few digits as keep all of them distinct."""
    return [f"{word}-{_digits(one, hashes)}" for word, one in zip(words, hashes, strict=True)]


def _digits(one: str, hashes: Sequence[str]) -> str:
    others = [other for other in hashes if other != one]
    count = FEWEST_DIGITS
    while any(other.startswith(one[:count]) for other in others) and count < len(one):
        count += 1
    return one[:count]


def word(variables: Sequence[str], kind: str) -> str:
    """A short word for people: `length` for `Queue.length`, else the kind of the finding."""
    for variable in variables:
        is_path = variable.startswith(PATHS)
        last = variable if is_path else re.split(r"[.:>]", SUFFIX.sub("", variable))[-1]
        plain = re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-")[:LONGEST_WORD].strip("-")
        if plain:
            return plain
    return kind


def digits(name: str) -> str:
    """The digits of a name; they alone identify the finding."""
    return name.rpartition("-")[2].lower()


def find(name: str, findings: Iterable[NumberedFinding]) -> NumberedFinding | None:
    """The finding of this number or name; its digits are enough, or the first few of them."""
    every = list(findings)
    # The digits of a name may all be decimal; then a number in the report goes first.
    if name.isdecimal():
        return next((one for one in every if one.number == int(name)), None) or _named(name, every)
    exact = next((one for one in every if one.finding.id == name), None)
    return exact or _named(name, every)


def _named(name: str, every: Sequence[NumberedFinding]) -> NumberedFinding | None:
    wanted = digits(name)
    if len(wanted) < FEWEST_DIGITS:
        return None
    # A ranking with more findings may need more digits than the one that the name is from.
    found = [
        one for one in every if (own := digits(one.finding.id)).startswith(wanted)
        or (own and wanted.startswith(own))
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None
