# SPDX-License-Identifier: Apache-2.0
"""Patches that start a thread later."""

import textwrap
from pathlib import Path
from unittest import mock

import pytest
from tests.unit.conflicts import conflict, point
from tests.unit.test_patch_kinds import at, of_kind

from unsnarl.model.report import Finding, FindingPoint
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.regions import Draft
from unsnarl.patches.search import PatchSearch
from unsnarl.patches.source import SourceFile

WORKER = textwrap.dedent(
    """\
    class Worker:
        def start(self, number):
            self.thread = Thread(target=self.run)
            self.thread.start()
            self.number = number

        def run(self):
            print(self.number)
    """
)


def test_a_thread_is_started_behind_what_it_may_not_be_without() -> None:
    def texts(text: str) -> list[str]:
        late = at(text, "= number", 1, "write", "Worker.number", function="Worker.start")
        early = at(text, "print", 2, "read", "Worker.number", function="Worker.run")
        return of_kind("move", text, early, late, shape="published before initialised")

    last = "        self.number = number\n        self.thread.start()\n\n"
    assert any(last in one for one in texts(WORKER))
    assert texts(WORKER.replace("self.number =", "self.number = self.thread =")) == []


LIBRARY, CALLER = "site-packages/queues.py", "app.py"


@pytest.mark.parametrize(("file", "tried"), [(LIBRARY, [LIBRARY]), (CALLER, [LIBRARY, CALLER])])
def test_what_is_wrong_in_a_library_is_not_repaired_in_its_caller(
    file: str, tried: list[str]
) -> None:
    sources = {name: SourceFile(Path(name), name, b"pass\n") for name in (LIBRARY, CALLER)}
    points = tuple(
        FindingPoint(file, 1, "f", f"0.{role}", role, op, "Worker.number", "source", 1.0)
        for role, op in ((1, "write"), (2, "read"))
    )
    finding = Finding(1, "joined", 1.0, {}, "order", ("Worker.number",), points, 1)
    search = PatchSearch(Conflict(finding, sources), None, None)  # type: ignore[arg-type]
    made = [Draft("lock", name, {name: "x = 1\n"}, 1) for name in (LIBRARY, CALLER)]
    with mock.patch("unsnarl.patches.search.drafts", return_value=made):
        assert [name for draft in search.drafts() for name in draft.texts] == tried


def test_a_deadlock_has_no_accesses_and_is_repaired_all_the_same() -> None:
    search = PatchSearch(conflict("pass\n", point(1, 1, "wait", "lock")), None, None)  # type: ignore[arg-type]
    made = [Draft("move", "", {"a.py": "x = 1\n"}, 1)]
    with mock.patch("unsnarl.patches.search.drafts", return_value=made):
        assert search.drafts() == made
