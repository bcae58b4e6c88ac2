# SPDX-License-Identifier: Apache-2.0
"""Files of the target: what is done to them is heard, wherever in a library it is done.

Python announces who opens, lists, renames or removes what (audit events, native/binding/files.c).
Who asks for the state of a file is not announced, so these functions are wrapped; and so is
`open`, because what a library writes after it is not seen.
"""

from __future__ import annotations

import builtins
import io
import os

from unsnarl import _core

_ASKING = ("stat", "lstat", "access")
# Sets of functions, in which the wrapped ones must be found like the originals.
_ABILITIES = (
    "supports_dir_fd",
    "supports_effective_ids",
    "supports_fd",
    "supports_follow_symlinks",
)


def install() -> None:
    """Once, before any code of the target is imported."""
    if type(os.stat) is _core.Watched:
        return
    _core.watch_files()
    for name in _ASKING:
        original = getattr(os, name)
        watched = _core.Watched(original, False)
        for ability in _ABILITIES:
            functions = getattr(os, ability)
            if original in functions:
                functions.add(watched)
        setattr(os, name, watched)
    builtins.open = io.open = _core.Watched(io.open, True)
