# SPDX-License-Identifier: Apache-2.0
"""Why each wait of a deadlock cannot end, in the program's own names."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from unsnarl.model.cpp_names import C_SOURCES
from unsnarl.model.event import Op
from unsnarl.model.python_names import shown_function
from unsnarl.model.report import FindingPoint
from unsnarl.model.run import Wait
from unsnarl.model.site import UNKNOWN_SITE, Site
from unsnarl.model.sources import Sources
from unsnarl.reports.explain import role_of
from unsnarl.reports.facts import FailingRun, Points
from unsnarl.reports.names import parsed_line, without_self
from unsnarl.reports.paths import shown_path
from unsnarl.reports.patterns import JOIN, TIMEOUT, WAIT

IMPORT = "import"
FLOCK = "flock"
# What a thread waits for in a method of the standard library, by the method's name.
AWAITED = {
    "put": "room in {}",
    "get": "an item of {}",
    "join": "the items of {} to be done",
    "result": "the result of {}",
    "exception": "the result of {}",
    "map": "the results of {}",
    "wait": "a signal of {}",
    "wait_for": "a signal of {}",
    "acquire": "{}",
    FLOCK: "the {}",
    "shutdown": "the threads of {}",
    IMPORT: "the import of {}",
    "post": "a post of {}",
    "barrier": "the others at {}",
}
# Of C, which is not parsed: what is waited for is the first argument, or before the dot.
_C_CALLS = (
    ("wait", re.compile(r"\b(?:pthread_cond|cnd)_\w*wait\w*\s*\(\s*&?\s*([\w.\[\]>-]+)")),
    ("post", re.compile(r"\bsem_\w*wait\w*\s*\(\s*&?\s*([\w.\[\]>-]+)")),
    ("barrier", re.compile(r"\bpthread_barrier_wait\s*\(\s*&?\s*([\w.\[\]>-]+)")),
    ("wait", re.compile(r"([\w.\[\]>-]+?)(?:\.|->)wait(?:_for|_until)?\s*\(")),
)
# Who would have to do what, so that a wait without an owner ends.
MISSING = {
    "put": "takes one out",
    "get": "puts one",
    "result": "computes it",
    "exception": "computes it",
    "map": "computes them",
    "wait": "gives it",
    "wait_for": "gives it",
    IMPORT: "ends it",
    "post": "gives it",
    "barrier": "comes",
}


# Of whoever holds a lock and does not wait for anything.
NEVER_RELEASED = "never releases it"
HELD_BY = "held by "  # of a lock that another thread has
OWNER = re.compile(rf"{HELD_BY}.*? ([\d.]+)(?: since |, which waits)")


def call_of(site: Site, sources: Sources) -> tuple[str, str]:
    """The method that a line waits in and its object, as written: `put`, `AuditLog._queue`."""
    text = sources.line(site.file, site.line)
    if site.file.endswith((*C_SOURCES, ".h", ".hpp")):
        return _c_call_of(text)
    tree = parsed_line(text)
    for call in ast.walk(tree) if tree else ():
        if isinstance(call, ast.Import | ast.ImportFrom):
            return IMPORT, call.names[0].name
        if not isinstance(call, ast.Call):
            continue
        method = call.func
        if not isinstance(method, ast.Attribute) or isinstance(method.value, ast.Constant):
            continue  # " ".join() waits for nobody
        if method.attr == "import_module" and call.args:
            return IMPORT, ast.unparse(call.args[0])
        if method.attr == FLOCK and call.args:
            return FLOCK, f"lock of {without_self(ast.unparse(call.args[0]), site.function)}"
        if method.attr in AWAITED:
            return method.attr, without_self(ast.unparse(method.value), site.function)
    return "", ""


def _c_call_of(text: str) -> tuple[str, str]:
    found = ((method, pattern.search(text)) for method, pattern in _C_CALLS)
    return next(((method, call[1]) for method, call in found if call), ("", ""))


class WaitReasons:
    """Says of each wait of a run what it is for, and why that does not come."""

    def __init__(
        self, run: FailingRun, names: Mapping[int, str], points: Points, sources: Sources
    ) -> None:
        self._run = run
        self._names = names
        self._points = points
        self._sources = sources
        self._by_thread = {wait.thread: wait for wait in run.waits}

    def awaited(self, wait: Wait, reader: int = -1) -> str:
        """What a thread waits for; `reader` is the thread that it is said of."""
        if self._is_join(wait):
            return f"in join() for {self._who(wait.owner, reader)}"
        if wait.owner >= 0:
            return f"for {self._names.get(wait.object) or 'a lock'}"
        method, thing = self._call(wait)
        return f"for {AWAITED[method].format(thing)}" if method else "for an event"

    def held(self, thread: int) -> tuple[str, ...]:
        """The locks of a thread that others wait for."""
        held = (self._names.get(wait.object) for wait in self._run.waits if wait.owner == thread)
        return tuple(dict.fromkeys(name for name in held if name))

    def why(self, wait: Wait) -> str:
        """Why it does not come: who has it, or who would have to give it, and waits as well."""
        if wait.owner < 0:
            return self._nobody(wait)
        owner = self._by_thread.get(wait.owner)
        waits = f"waits {self.awaited(owner, wait.thread)}" if owner else ""
        if self._is_join(wait):
            return waits and f"it {waits}"
        held = f"{HELD_BY}{self._who(wait.owner)}{self._taken(wait)}"
        return f"{held}, which {waits or NEVER_RELEASED}"

    def _nobody(self, wait: Wait) -> str:
        others = len(self._run.waits) - 1
        method, _ = self._call(wait)
        if not others:
            return "no other thread is left"
        many = "both other threads" if others == 2 else f"all {others} other threads"
        count = "the other thread" if others == 1 else many
        does = MISSING.get(method, "ends this wait")
        return f"nobody {does}, since {count} {'waits' if others == 1 else 'wait'}, too"

    def _call(self, wait: Wait) -> tuple[str, str]:
        return call_of(self._points.point(wait.point).site, self._sources)

    def _is_join(self, wait: Wait) -> bool:
        return self._points.point(wait.point).op is Op.JOIN

    def _who(self, thread: int, reader: int = -1) -> str:
        if thread == reader:
            return "this thread"
        one = self._run.threads[thread]
        return f"{one.name or 'thread'} {one.path}"

    def _taken(self, wait: Wait) -> str:
        site = self._points.point(wait.taken).site
        if site == UNKNOWN_SITE or not site.line:
            return ""
        return f" since {shown_path(self._sources.relative(site.file))}:{site.line}"


def with_reasons(
    described: Sequence[FindingPoint],
    run: FailingRun,
    names: Mapping[int, str],
    points: Points,
    sources: Sources,
) -> list[FindingPoint]:
    """The points with why the waits among them do not end, and the time limit that did."""
    reasons = WaitReasons(run, names, points, sources)
    waits = {run.threads[wait.thread].path: wait for wait in run.waits}
    found = []
    for point in described:
        wait = waits.get(point.thread)
        if wait is None or point.op not in (WAIT, JOIN) or not _is_at(point, wait, points):
            found.append(point)
            continue
        awaits, why = reasons.awaited(wait), reasons.why(wait)
        limit = run.limits.get(wait.thread, 0.0)
        held = reasons.held(wait.thread) or point.locks
        found.append(replace(point, op=WAIT, awaits=awaits, why=why, limit=limit, locks=held))
    return [*found, *_ran_out(found, run, points, sources)]


def _is_at(point: FindingPoint, wait: Wait, points: Points) -> bool:
    site = points.point(wait.point).site
    return (point.line, point.function) == (site.line, shown_function(site.function))


def _ran_out(
    described: Sequence[FindingPoint], run: FailingRun, points: Points, sources: Sources
) -> list[FindingPoint]:
    """A step of its own: the time limit that made an error of the deadlock."""
    found = []
    for wait in run.waits:
        if wait.thread != run.ran_out:
            continue
        site = points.point(wait.point).site
        path = run.threads[wait.thread].path
        step = FindingPoint(
            file=sources.relative(site.file),
            line=site.line,
            function=site.function,
            thread=path,
            role=role_of(described, path),
            op=TIMEOUT,
            variable="",
            region="suffix",
            confidence=1.0,
            value=seconds(run.limits.get(wait.thread, 0.0)),
            text=sources.line(site.file, site.line),
        )
        found += [step] if site.line else []
    return found


def seconds(limit: float) -> str:
    """`5 s`, `0.25 s`."""
    return f"{limit:.3g} s"
