# SPDX-License-Identifier: Apache-2.0
"""`unsnarl mcp`, by a client that speaks the protocol."""

from __future__ import annotations

import difflib
import sys
import textwrap

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

PROGRAM = textwrap.dedent(
    """\
    import threading

    class Till:
        def __init__(self):
            self.total = 0
            self.lock = threading.Lock()

        def sell(self):
            total = self.total
            self.total = total + 1

    till = Till()
    threads = [threading.Thread(target=till.sell) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert till.total == 2
    """
)
FIXED = PROGRAM.replace(
    "        total = self.total\n        self.total = total + 1\n",
    "        with self.lock:\n            total = self.total\n            self.total = total + 1\n",
)
USELESS = PROGRAM.replace("total + 1", "1 + total")
READ, WRITE = "till.py:9", "till.py:10"


def diff(new):
    names = ("a/till.py", "b/till.py")
    return "".join(difflib.unified_diff(PROGRAM.splitlines(True), new.splitlines(True), *names))


def talk(folder, conversation):
    """A conversation with a server in this folder."""

    async def main():
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "unsnarl", "mcp"], cwd=folder
        )
        async with Client(stdio_client(parameters)) as client:
            await conversation(client)

    anyio.run(main)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "till.py").write_text(PROGRAM)
    (tmp_path / "pyproject.toml").write_text(
        "[tool.unsnarl]\nswitch = 'free'\nconfirm = 1\nanswer = 10\nfail = 5\npass = 5\n"
    )
    return tmp_path


async def ask(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


@pytest.mark.slow
def test_from_a_flaky_program_to_a_verified_fix(project):
    async def conversation(client):
        offered = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(offered) == {
            "hunt", "findings", "show", "force", "forbid", "try_patch", "replay", "verdict",
        }  # fmt: skip
        assert all(tool.description for tool in offered.values())
        assert "unsnarl verify" in (client.instructions or "")

        news = []

        async def on_progress(progress, total, message):
            news.append((progress, total, message))

        arguments = {"command": "python till.py", "time": 30, "seed": 1}
        result = await client.call_tool("hunt", arguments, progress_callback=on_progress)
        hunted = result.structured_content
        assert hunted["verdict"] == "failure found"
        assert news and all(0 <= done <= total == 1 for done, total, _ in news)

        (first, *_) = (await ask(client, "findings"))["findings"]
        assert first["id"] == hunted["findings"][0]["id"] and WRITE in first["lines"]
        shown = await ask(client, "show", finding=first["id"])
        assert "Till.total" in shown["text"]
        around = await ask(client, "show", finding=first["id"], line=WRITE)
        assert any(row.startswith(">") and "write" in row for row in around["events"])

        assert (await ask(client, "replay", run=first["id"], times=2))["fails"]
        # Both threads read before either writes: one of the sales is lost.
        forced = await ask(client, "force", first=READ, second=WRITE, runs=6)
        assert forced["enforced"]["failed"] == forced["enforced"]["order_kept"] == 6
        forbidden = await ask(client, "forbid", first=READ, second=WRITE, runs=6)
        assert forbidden["enforced"]["failed"] == 0 and forbidden["enforced"]["order_kept"] == 6

        useless = await ask(client, "try_patch", diff=diff(USELESS), max_runs=50)
        assert useless["verdict"] == "not fixed" and useless["fresh_hunt"]
        fixed = await ask(client, "try_patch", diff=diff(FIXED), max_runs=50)
        assert fixed["verdict"] == "fixed" and fixed["proof"] and fixed["fresh_hunt"]
        assert (project / "till.py").read_text() == PROGRAM  # nothing was written

        broken = await client.call_tool("try_patch", {"diff": "no patch"})
        assert broken.is_error and "bad-argument" in str(broken.content)

        (project / "till.py").write_text(FIXED)
        assert (await ask(client, "verdict", max_runs=50))["verdict"] == "fixed"

    talk(project, conversation)


def test_a_call_that_is_cancelled_interrupts_the_hunt(project):
    (project / "till.py").write_text(FIXED)

    async def conversation(client):
        begun = anyio.Event()

        async def on_progress(progress, total, message):
            begun.set()

        async def hunt():
            arguments = {"command": "python till.py", "time": 300}
            await client.call_tool("hunt", arguments, progress_callback=on_progress)

        async with anyio.create_task_group() as group:
            group.start_soon(hunt)
            await begun.wait()
            group.cancel_scope.cancel()
        # Its turn is over, or this would wait for 300 seconds.
        (row,) = (await ask(client, "findings"))["findings"] or [None]
        assert row is None

    talk(project, conversation)
