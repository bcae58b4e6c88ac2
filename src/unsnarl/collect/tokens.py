# SPDX-License-Identifier: Apache-2.0
"""Who may send and who may read: two kinds of tokens, in a file that only its owner can read.

A token to send is part of every program that is watched, and must not open what they all sent.
"""

from __future__ import annotations

import os
import secrets
import tomllib
from pathlib import Path

import msgspec

from unsnarl.errors import UsageError

CHARACTERS_LEAST = 20
OTHERS = 0o077  # permissions of whoever is not the owner


class Tokens(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tokens of each kind; several, so that one can be replaced while both are in use."""

    send: tuple[str, ...]
    read: tuple[str, ...]


def tokens_of(file: Path) -> Tokens:
    """The tokens of a file; it is made, with new ones, if it is not there."""
    try:
        if not file.exists():
            _write(file)
        if file.stat().st_mode & OTHERS:
            raise _bad(file, f"others may read it; chmod 600 {file}")
        tokens = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Tokens)
    except (OSError, ValueError) as error:
        raise _bad(file, str(error)) from None
    for kind, some in (("send", tokens.send), ("read", tokens.read)):
        if not some:
            raise _bad(file, f"there is no token to {kind}")
        if any(len(token) < CHARACTERS_LEAST or not token.isascii() for token in some):
            raise _bad(file, f"a token has at least {CHARACTERS_LEAST} ASCII characters")
    return tokens


def _write(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        "# Made by unsnarl collect. Programs that are watched send with one of the first kind;",
        "# pages and the API are read with one of the second.",
        f'send = ["{secrets.token_urlsafe(32)}"]',
        f'read = ["{secrets.token_urlsafe(32)}"]',
    ]
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write("\n".join(lines) + "\n")


def _bad(file: Path, complaint: str) -> UsageError:
    return UsageError("bad-tokens", f"{file}: {complaint}")
