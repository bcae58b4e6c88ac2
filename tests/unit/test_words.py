# SPDX-License-Identifier: Apache-2.0
"""The glossary is kept: every word has one entry, and the words it forbids are used nowhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
ANYWHERE = "Words we do not use"
AS_NAMES = "Words we do not use as names"

# Where English or somebody else's interface needs a forbidden word: by word, the phrases allowed.
EXCEPTIONS: dict[str, tuple[str, ...]] = {
    "tell": (r"\.tell\(\)",),  # of files
    "place": (r"InternInPlace",),  # of CPython
    "mended": (r"must be mended",),  # the sentence about several causes
    "talk": (r"\btalk\.(?:asked|answered)",),  # a variable of the zoo
}
TEXTS = ("*.md", ".github/**/*.md", "docs/**/*.md", "*/README.md", "*/*/README.md")
CODE = ("src/unsnarl/**/*.py", "src/unsnarl/**/*.pyi", "native/**/*.[chs]", "native/**/*.inc")
# Documents that are not in the repository.
ELSEWHERE = re.compile(r"\b(?:design|issues?) \d", re.IGNORECASE)

_TRIPLE = r'"{3}(?:\\.|[^\\])*?"{3}'
_SINGLE = r'"(?:\\.|[^"\\\n])*"' + "|" + r"'(?:\\.|[^'\\\n])*'"
PYTHON_TEXT = re.compile(rf"{_TRIPLE}|{_SINGLE}|#[^\n]*", re.DOTALL | re.MULTILINE)
C_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', re.DOTALL)


@cache
def _sections() -> dict[str, list[str]]:
    parts: dict[str, list[str]] = {}
    title = ""
    for line in GLOSSARY.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            title = line.removeprefix("## ")
        parts.setdefault(title, []).append(line)
    return parts


def _entries() -> list[str]:
    return re.findall(r"^- \*\*(.+?)\*\*: ", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)


@cache
def _forbidden(title: str) -> frozenset[str]:
    return frozenset(re.findall(r"^- ~~(.+?)~~: ", "\n".join(_sections()[title]), re.MULTILINE))


def _words(text: str) -> set[str]:
    """All words, identifiers taken apart: `told_by` and `ToldEvent` have "told"."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return set(re.findall(r"[a-z]+", apart.lower()))


def _names(path: Path, text: str) -> str:
    """The names in a file, which no string or comment has a part in, and its own."""
    if path.suffix == ".md":
        return path.stem
    strings = PYTHON_TEXT if path.suffix in {".py", ".pyi"} else C_TEXT
    return f"{path.stem} {strings.sub(' ', text)}"


def _readable(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path == GLOSSARY:
        text = "\n".join(line for line in text.splitlines() if not line.startswith("- ~~"))
    for phrases in EXCEPTIONS.values():
        for phrase in phrases:
            text = re.sub(phrase, " ", text)
    return text


def _complaints(path: Path) -> list[str]:
    text = _readable(path)
    found = _words(f"{path.stem} {text}") & _forbidden(ANYWHERE)
    found |= _words(_names(path, text)) & _forbidden(AS_NAMES)
    return sorted(found) + [match.group() for match in ELSEWHERE.finditer(text)]


def _files() -> Iterator[Path]:
    for pattern in TEXTS + CODE:
        for path in sorted(ROOT.glob(pattern)):
            if not {".venv", ".venv-others", "build"} & set(path.relative_to(ROOT).parts):
                yield path


@cache
def _all_complaints() -> dict[str, list[str]]:
    paths = {str(path.relative_to(ROOT)): path for path in _files()}
    return {name: found for name, path in paths.items() if (found := _complaints(path))}


def test_no_word_is_defined_twice() -> None:
    counted = Counter(word.lower() for word in _entries())
    assert len(counted) > 50
    assert [word for word, count in counted.items() if count > 1] == []


def test_no_word_is_defined_and_forbidden() -> None:
    forbidden = _forbidden(ANYWHERE) | _forbidden(AS_NAMES)
    assert {word.lower() for word in _entries()} & forbidden == set()


def test_every_entry_can_be_read() -> None:
    for title, lines in _sections().items():
        form = r"- ~~[a-z]+~~: \S" if title in {ANYWHERE, AS_NAMES} else r"- \*\*[^*]+\*\*: \S"
        assert [line for line in lines if line.startswith("-") and not re.match(form, line)] == []


def test_forbidden_words_are_not_used() -> None:
    assert _all_complaints() == {}, "docs/glossary.md says what to write instead"


def test_words_are_found_in_names() -> None:
    assert {"told"} <= _words("told_by") & _words("ToldEvent") & _words("a told one")


def test_names_are_parted_from_strings_and_comments() -> None:
    python = 'x = known("a place")  # again\n"""moment"""\n'
    assert _words(_names(Path("a.py"), python)) == {"a", "x", "known"}
    c = '/* a place */ int known; // again\nputs("moment");'
    assert _words(_names(Path("a.c"), c)) == {"a", "int", "known", "puts"}
