# SPDX-License-Identifier: Apache-2.0
"""A report made by hand, for tests of the forms that reports are written in."""

from __future__ import annotations

from typing import Any

from unsnarl.model.report import (
    Arm,
    FailureReport,
    Finding,
    FindingPoint,
    Instrumented,
    Notice,
    Patch,
    PatchChecks,
    Report,
    RunCounts,
)

DIFF = """\
--- a/spider.py
+++ b/spider.py
@@ -13,3 +13,4 @@
 a = 1
-b = 2
+++ c
+c = 3
 d = 4
@@ -20,0 +22 @@
+e = 5
"""


def point(line: int, role: int, op: str = "read", **more: Any) -> FindingPoint:
    """An access of Queue.size in spider.py."""
    fields = {"file": "spider.py", "function": "Queue.get", "variable": "Queue.size"}
    given = fields | {"thread": f"0.{role}", "confidence": 1.0, "region": "body"} | more
    return FindingPoint(line=line, role=role, op=op, **given)


def finding(**more: Any) -> Finding:
    """Two reads with a write between them, and the line that fails."""
    points = (
        point(14, 1, value="1", text="return self.size", region="source"),
        point(19, 2, "write", value="0", text="self.size -= 1"),
        point(17, 1, value="0", text="if self.size == 0:", region="sink"),
        point(29, 1, "fail", value="AttributeError", variable="", text="item.lower()"),
    )
    fields = {
        "rank": 1, "method": "joined", "score": 1.0, "features": {}, "kind": "atomicity",
        "variables": ("Queue.size",), "runs": 25, "status": "confirmed", "id": "size-7c1e",
        "shape": "check-then-act", "summary": "Thread-1 checked Queue.size.",
        "forced": Arm(10, 10), "forbidden": Arm(0, 20), "p_value": 1e-8, "points": points,
    }  # fmt: skip
    return Finding(**(fields | more))


def patch(diff: str = DIFF) -> Patch:
    """A patch that survived all runs."""
    checks = PatchChecks(runs=200, serial=True)
    return Patch(diff, ("spider.py",), "lock", "hold Queue.lock", checks, works=True)


def report(*findings: Finding, **more: Any) -> Report:
    """One failure with these findings; `more` are fields of the report."""
    failure = FailureReport(
        signature="AttributeError in spider.py", kind="exception", switch="gil", latent=False,
        count=25, rate=0.5, message="AttributeError: 'NoneType' has no 'lower'",
        where="spider.py:29 in work", findings=findings, run="000022",
        threads={"0.1": "Thread-1", "0.2": "Thread-2"}, failing=25, passing=25,
    )  # fmt: skip
    fields = {
        "version": 1, "campaign": "20260101-120000-1234abcd",
        "command": ("python", "-m", "pytest", "tests/test_queue.py::TestDrain::test_drain"),
        "seconds": 3.5, "runs": RunCounts(50, 25, 25, 0), "instrumented": Instrumented(1, 29, 3, 3),
        "failures": (failure,), "warnings": (Notice("cut-off", "the time ran out"),),
    }  # fmt: skip
    return Report(**(fields | more))
