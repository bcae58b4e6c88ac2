# SPDX-License-Identifier: Apache-2.0
"""Notes of exceptions that the target catches: where raised, where caught, in which thread.

The core calls once for every new kind (type, line, handler) of a run. The target goes on after it,
so unlike for a failure nothing of the target's own may be called: no `__str__`, no `__repr__`.
"""

from __future__ import annotations

import json
import sys
from types import FrameType, WrapperDescriptorType

from unsnarl import _core
from unsnarl.probes.python import failures
from unsnarl.probes.python.failures import Frame, clean

TEXT_LIMIT = 400
MOST_FRAMES = 5
PLAIN_TYPES = (str, int, float, bool, bytes, type(None))


def install() -> None:
    """In a run, before it begins."""
    _core.set_caught_hook(_note)


def _note(error: BaseException, time: int) -> None:
    frames = failures.traceback_frames(error.__traceback__)
    handler = sys._getframe(1)
    files = failures.user_files()
    # What a library raises and catches by itself is its own business.
    if handler.f_code.co_filename not in files and not any(file in files for file, *_ in frames):
        return
    caught = {
        "type": clean(type(error).__name__, 256),
        "message": clean(_text(error), TEXT_LIMIT),
        "thread": _core.current_path(),
        "time": time,
        "frames": frames[-MOST_FRAMES:],
        "by": _line(handler),
    }
    _core.note(json.dumps({"caught": caught}))


def _line(frame: FrameType) -> Frame:
    code = frame.f_code
    line = frame.f_lineno or code.co_firstlineno
    return clean(code.co_filename), line, clean(code.co_qualname)


def _text(error: BaseException) -> str:
    """What str() would say, if that runs no code of the target; else the first text in it."""
    args = error.args
    if type(error).__str__.__class__ is WrapperDescriptorType and _is_plain(args):
        return str(error)
    return next((one for one in args if type(one) is str), "")


def _is_plain(args: tuple[object, ...]) -> bool:
    return all(type(one) in PLAIN_TYPES for one in args)
