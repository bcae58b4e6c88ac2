# SPDX-License-Identifier: Apache-2.0
"""The tools of `unsnarl mcp`, for agents that speak the Model Context Protocol.

Each call is a job in a process of its own (jobs.py). It reports progress, and a call that is
cancelled interrupts its process, which stores what it knows so far.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from unsnarl.agents.skill import skill

JOB = [sys.executable, "-P", "-m", "unsnarl.agents.jobs"]
# For an interrupted hunt to store what it knows.
PATIENCE = 5.0
Answer = dict[str, Any]
# The machine is the same for all: two hunts at once would both be slow.
_turn = anyio.Semaphore(1)


async def hunt(  # noqa: PLR0917  the protocol names arguments
    ctx: Context,
    command: str,
    time: float | None = None,
    max_runs: int | None = None,
    seed: int | None = None,
    include: list[str] | None = None,
    fail_if: str | None = None,
) -> Answer:
    """Run a flaky command under many thread schedules and find the interleaving that breaks it.

    command: a pytest call, `python script.py`, `python -m module`, or a program built with
    `unsnarl cc`; best one single test. time: seconds until the answer (default 60). include:
    installed packages to instrument as well. fail_if: a regular expression; output that matches it
    is a failure. The answer has findings with ids; confirmed ones are proved by experiment.
    """
    return await job(
        ctx, "hunt", command=command, time=time, max_runs=max_runs, seed=seed, include=include,
        fail_if=fail_if,
    )  # fmt: skip


async def findings(ctx: Context, campaign: str = "") -> Answer:
    """The findings of a hunt, best first: id, status, one sentence, lines. Newest by default."""
    return await job(ctx, "findings", campaign=campaign)


async def show(ctx: Context, finding: str = "1", line: str = "", campaign: str = "") -> Answer:
    """One finding in full: the steps of all threads, locks, proof, and the patch if there is one.

    With line (FILE:LINE): what all threads did just before and after that line in the failing run,
    event by event, including which write each read took its value from.
    """
    return await job(ctx, "show", finding=finding, line=line, campaign=campaign)


async def force(
    ctx: Context, first: str, second: str, campaign: str = "", runs: int = 20
) -> Answer:
    """Test an idea: force line `first` (FILE:LINE) to come before line `second`, in fresh runs.

    The answer compares how many runs fail with the order enforced and without.
    """
    return await job(ctx, "force", first=first, second=second, campaign=campaign, runs=runs)


async def forbid(
    ctx: Context, first: str, second: str, campaign: str = "", runs: int = 20
) -> Answer:
    """Test an idea: forbid that line `first` (FILE:LINE) comes before line `second`.

    The answer compares how many runs fail with the order forbidden and without.
    """
    return await job(ctx, "forbid", first=first, second=second, campaign=campaign, runs=runs)


async def try_patch(
    ctx: Context,
    diff: str,
    campaign: str = "",
    time: float | None = None,
    max_runs: int | None = None,
) -> Answer:
    """Try a unified diff on a scratch copy; no file of the project is changed.

    The stored proof is replayed against the patched program, then that is hunted afresh. The
    verdict is "fixed" only if both were done and nothing failed.
    """
    return await job(ctx, "try_patch", diff=diff, campaign=campaign, time=time, max_runs=max_runs)


async def replay(ctx: Context, run: str, times: int = 1) -> Answer:
    """Repeat a failing run exactly: by the id of a finding or the number of a run."""
    return await job(ctx, "replay", run=run, times=times)


async def verdict(
    ctx: Context, campaign: str = "", time: float | None = None, max_runs: int | None = None
) -> Answer:
    """After files were edited: is the failure gone? Replays the proof, then hunts afresh.

    "fixed" only if both were done and nothing failed.
    """
    return await job(ctx, "verdict", campaign=campaign, time=time, max_runs=max_runs)


TOOLS = (hunt, findings, show, force, forbid, try_patch, replay, verdict)


async def job(ctx: Context, name: str, **arguments: Any) -> Answer:
    """Have a job done, with its progress; raises ToolError with its error."""
    request = json.dumps({"job": name, "arguments": arguments})
    async with _turn:
        process = await anyio.open_process(JOB, stderr=subprocess.DEVNULL)
        try:
            return await _answer(ctx, process, request)
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)


async def _answer(ctx: Context, process: Process, request: str) -> Answer:
    assert process.stdin is not None and process.stdout is not None
    await process.stdin.send(request.encode())
    await process.stdin.aclose()
    rest = ""
    async for text in TextReceiveStream(process.stdout):
        *lines, rest = (rest + text).split("\n")
        for line in map(json.loads, lines):
            if "answer" in line:
                answer: Answer = line["answer"]
                return answer
            if "error" in line:
                raise ToolError(line["error"])
            await ctx.report_progress(line["progress"], 1.0, line["message"])
    raise ToolError("the job ended without an answer; this is a bug in unsnarl [internal-error]")


async def _end(process: Process) -> None:
    """As Ctrl-C does; one that does not go by itself is killed."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        with anyio.move_on_after(PATIENCE):
            await process.wait()
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    await process.aclose()


def make_server() -> MCPServer[Any]:
    """The server with all tools; its instructions are SKILL.md."""
    server: MCPServer[Any] = MCPServer("unsnarl", instructions=skill(), log_level="WARNING")
    for tool in TOOLS:
        server.add_tool(tool)
    return server


def serve() -> None:
    """Serve on standard input and output until the client hangs up."""
    make_server().run("stdio")
