# SPDX-License-Identifier: Apache-2.0
"""Who may send and who may read: two kinds of tokens, in files that only their owner can read.

A token to send is part of every program that is watched, and must not open what they all sent. So
each kind has a file of its own, which can be given away without the other.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import msgspec

from unsnarl.errors import UsageError

CHARACTERS_LEAST = 20
OTHERS = 0o077  # permissions of whoever is not the owner


class CollectorTokens(msgspec.Struct, frozen=True):
    """The tokens of each kind; several, so that one can be replaced while both are in use."""

    send: tuple[str, ...]
    read: tuple[str, ...]


def tokens_of(folder: Path) -> CollectorTokens:
    """The tokens of a folder; its files are made, with new tokens, if they are not there."""
    return CollectorTokens(_tokens(folder / "send"), _tokens(folder / "read"))


def _tokens(file: Path) -> tuple[str, ...]:
    """One on each line."""
    try:
        if not file.exists():
            _write(file)
        if file.stat().st_mode & OTHERS:
            raise _bad(file, f"others may read it; chmod 600 {file}")
        tokens = tuple(file.read_text(encoding="utf-8").split())
    except (OSError, ValueError) as error:
        raise _bad(file, str(error)) from None
    if not tokens:
        raise _bad(file, "there is no token in it")
    if any(len(token) < CHARACTERS_LEAST or not token.isascii() for token in tokens):
        raise _bad(file, f"a token has at least {CHARACTERS_LEAST} ASCII characters")
    return tokens


def _write(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(f"{secrets.token_urlsafe(32)}\n")


def _bad(file: Path, complaint: str) -> UsageError:
    return UsageError("bad-tokens", f"{file}: {complaint}")
