# SPDX-License-Identifier: Apache-2.0
"""A run of a C program under gdb, stopped at one event.

The probe calls uns_c_stop_here when its thread is there (native/probe_c/debug.c). Before a plain
access gdb then goes on to the program's own instruction, so that its commands work as always;
operations that are done inside of the probe are looked at from the frame that called it.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unsnarl.errors import ToolError
from unsnarl.probes.binaries.sites import UNIT
from unsnarl.probes.native.program import NativeProgram

PLAIN = ("read", "write")
# Frames of the probe between the program and the stop, at most.
_DEPTH = 40
_TO_THE_PROGRAM = f"""\
set $unsnarl_at = *(unsigned long *) &uns_c_stop_at
set $unsnarl_left = {_DEPTH}
while $unsnarl_left > 0
  set $unsnarl_left = $unsnarl_left - 1
  if (unsigned long) $pc / {UNIT} == $unsnarl_at / {UNIT}
    set $unsnarl_left = 0
  else
    up-silently 1
  end
end
"""


def gdb() -> str:
    """Where gdb is."""
    found = shutil.which("gdb")
    if found is None:
        raise ToolError(
            "tool-missing", "gdb is needed to debug a C program", "install it (package gdb)"
        )
    return found


def run(program: NativeProgram, plan: dict[str, Any], kind: str, folder: Path) -> None:
    """Run the program under a plan, in the foreground; `kind` is that of the site to stop at."""
    script = folder / "debug.gdb"
    script.write_text("\n".join(_script(program, plan, kind)), "utf-8")
    quiet = ["-q", "-iex", "set debuginfod enabled off"]
    command = [gdb(), *quiet, "-x", str(script), "--args", *program.command]
    before = signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for gdb
    try:
        subprocess.run(command, check=False)
    finally:
        signal.signal(signal.SIGINT, before)


def _script(program: NativeProgram, plan: dict[str, Any], kind: str) -> Iterator[str]:
    yield "set confirm off"
    yield "set startup-with-shell off"
    yield "set print thread-events off"
    for name, value in program.prepare(plan).items():
        yield f"set environment {name} {value}"
    yield "tbreak uns_c_stop_here"
    yield "commands\nsilent\nend"
    yield "run"
    # 0 if the run ended without coming to the stop.
    yield "if $_thread"
    yield _TO_THE_PROGRAM
    yield f"echo \\n{_escaped(plan['debug']['title'])}\\n"
    yield "advance *$pc" if kind in PLAIN else "frame"
    yield "end"
    yield ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\")
