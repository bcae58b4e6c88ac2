# SPDX-License-Identifier: Apache-2.0
"""The report: everything that outputs show, in exactly the shape of the JSON contract.

Fields may be added, with a default, so that stored reports still load; none is renamed or removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

Region = Literal["prefix", "source", "body", "sink", "suffix"]
FindingKind = Literal["atomicity", "order", "race", "deadlock", "other"]
Why = Literal["time", "error", "interrupted", "unsupported"]
Status = Literal["confirmed", "refuted", "infeasible", "inconclusive", "untested"]


class FindingPoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a finding: who did what, where, to which variable.

    Attributes:
        part: What of the variable: `['tea']` of a container, `.clear()` of a library's object.
        sections: For each of `locks`, the acquisition: equal numbers are one critical section.
        unseen: The replay did not see this access: its value and its locks are not known.
        stack: The calls that led to the access, innermost first: `spider.py:25 in Spider.run`.
        due: The thread was still to do it when the failure ended the process.
        setup: Of an explanation: it only brought the threads there, and is shown on request.
        within: It is shown in one line with the call before it, in which it was made.
        caught: Of a failing line: where the program caught the exception, "" if it did not.
        awaits: Of a wait that does not end: what it is for, `in join() for worker 0.1`.
        why: ... and why that does not come.
        limit: ... and how many seconds the thread would have waited; 0 if for ever.
    """

    file: str
    line: int
    function: str
    thread: str
    role: int
    op: str
    variable: str
    region: Region
    confidence: float
    value: str | None = None
    locks: tuple[str, ...] = ()
    text: str = ""
    time: float = 0.0
    part: str = ""
    sections: tuple[int, ...] = ()
    unseen: bool = False
    stack: tuple[str, ...] = ()
    due: bool = False
    setup: bool = False
    caught: str = ""
    awaits: str = ""
    why: str = ""
    limit: float = 0.0
    within: bool = False


class Support(msgspec.Struct, frozen=True):
    """What one method says of an answer of the joined ranking: its rank and score there."""

    method: str
    rank: int
    score: float
    features: Mapping[str, float] = msgspec.field(default_factory=dict)
    note: str = ""


class Arm(msgspec.Struct, frozen=True):
    """One arm of an experiment: how many of its runs failed with the finding's signature.

    `realised` counts the runs that kept the rules, `released` those in which a hold was given up.
    """

    fail: int
    runs: int
    realised: int = 0
    released: int = 0


class PassingRun(msgspec.Struct, frozen=True):
    """The nearest passing run: the points of the explanation in the order they had there.

    `moved` names two points of the explanation, counted from 1: here the second came before the
    first.
    """

    points: tuple[FindingPoint, ...]
    moved: tuple[int, int]
    differences: int


class Replay(msgspec.Struct, frozen=True):
    """How often a failure came back under its minimised constraints, in fresh runs.

    `searched` is the number of trials it took to find them; `odd` counts further fresh runs that
    ended early in another failure of the program. In `same` of `watched` fresh runs all accesses
    of the explanation came in the order in which they are shown, also those that nothing enforced.
    """

    run: str
    constraints: int
    reproduced: int
    tries: int
    searched: int = 0
    odd: int = 0
    same: int = 0
    watched: int = 0


class SourceLine(msgspec.Struct, frozen=True):
    """A line of the program's source."""

    file: str
    line: int
    function: str
    text: str = ""


class UndoneWork(msgspec.Struct, frozen=True):
    """What a thread did less often than in any passing run, since it was asked to stop.

    Attributes:
        usual: How often it does so at least in passing runs.
    """

    line: SourceLine
    thread: str
    times: int
    usual: int


class Fix(msgspec.Struct, frozen=True, rename={"begin": "from", "end": "to"}):
    """The smallest fix that worked in simulation, or else the best of those tried.

    Attributes:
        begin: A region's first line, or what an order puts first; `from` in JSON.
        end: A region's last line, or what must wait; `to` in JSON.
        lock: The program's own name of the lock that should be held; "" for a new one.
        lock_site: Where the program already takes that lock: `spider.py:25`.
        reentrant: The region calls something that takes the lock, too: it must be an RLock.
        function: The function that has the whole region; "" if none has.
        others: Other lines that need the same lock: `bank.py:14`, `bank.py:14-17`.
        scope: Of an order: the first time of all (`once`), of each thread (`each`), every time
            anew (`turns`), or after the other threads' end (`ended`).
        fail: How many of `runs` fresh runs with the fix failed nevertheless.
        deadlocks: How many of them would have deadlocked.
        tried: How many fixes were tried, this one included.
    """

    kind: Literal["region", "order"]
    begin: SourceLine
    end: SourceLine
    lock: str = ""
    lock_site: str = ""
    reentrant: bool = False
    function: str = ""
    others: tuple[str, ...] = ()
    scope: Literal["", "once", "each", "turns", "ended"] = ""
    fail: int = 0
    deadlocks: int = 0
    runs: int = 0
    tried: int = 0

    @property
    def works(self) -> bool:
        """Whether it removed the failure without causing a deadlock."""
        return bool(self.runs) and not self.fail and not self.deadlocks


class PatchChecks(msgspec.Struct, frozen=True):
    """How a patched program was run, and what came of it.

    Attributes:
        runs: Fresh runs under the rotation of strategies.
        fail: How many of them failed, in whatever way.
        deadlocks: How many of them ended in a deadlock or hung.
        replayed: Runs along recorded failing schedules, or under their minimised constraints.
        replayed_fail: How many of those failed.
        serial: Whether a run without interruptions ends and prints as it did before.
    """

    runs: int = 0
    fail: int = 0
    deadlocks: int = 0
    replayed: int = 0
    replayed_fail: int = 0
    serial: bool = False

    @property
    def bad(self) -> int:
        """Runs that speak against the patch."""
        return self.fail + self.deadlocks + self.replayed_fail

    @property
    def good(self) -> bool:
        """Whether enough was tried and nothing speaks against it."""
        return bool(self.runs) and not self.bad and self.serial


class PatchTry(msgspec.Struct, frozen=True):
    """A patch that was tried: what it does, and what came of it.

    Attributes:
        message: What was wrong with it, in words; "" if the figures say it.
    """

    says: str
    checks: PatchChecks
    message: str = ""


class Patch(msgspec.Struct, frozen=True):
    """An edit of the program that was run: the fix, if `works`, else the nearest try.

    Attributes:
        diff: A unified diff; its files are named as in the report.
        files: The files that it changes.
        kind: What it does: `lock`, `copy`, `local-copy`, `own-manager`, `recheck`, `lock-order`,
            `reentrant`, `event`, `join`, `move`, `import`, `removal`, `queue`, `release`,
            `thread-local`, `setdefault`, `publish`, `late-read`, `file`.
        says: The same in words.
        tried: How many patches were tried, this one included.
        tries: All of them, in their order.
        works: Whether it survived all checks.
    """

    diff: str
    files: tuple[str, ...]
    kind: str
    says: str
    checks: PatchChecks
    tried: int = 1
    works: bool = False
    tries: tuple[PatchTry, ...] = ()


# JSON keeps the field's first name: the contract allows no renaming.
class Finding(msgspec.Struct, frozen=True, rename={"locks_checked": "locks_known"}):
    """A ranked answer of one method, or of several joined.

    Attributes:
        runs: How many failing runs have its interleaving.
        evidence: What single methods say of a joined finding.
        explanation: The few points, in order, that a person should read.
        orders: The minimised constraints: pairs of points in the explanation, counted from 1. With
            the first of each pair before the second, the failure is certain.
        passing: How many passing runs have its interleaving, too.
        locks_checked: Whether a point without locks held none; `locks_known` in JSON.
        id: The name that commands take; it survives re-ranking (reports/finding_ids.py).
        why: For a status other than confirmed: what kept it from being that, in words.
        patch: The fix as an edit of the source that was applied and hunted.
        shape: What engineers call such a bug, as docs/shapes.md has it; "" if it fits none.
        summary: What happened, in one sentence with the program's own names.
        given: The ids of the other causes of the failure: its experiments forbade them.
        replay: How often the failure came back under its constraints, if that is not the failure's
            own `replay`.
        windows: Other accesses that do the same harm in its stead, in other runs: they were
            forbidden as well.
        left_out: Failing runs that do not have its interleaving, and fail for another reason.
        calls: The function whose calls were kept apart as a whole: what was confirmed is that two
            of them get into each other's way, by its variables among others.
        undone: Passing runs have its order, too; what they do not have is this.
    """

    rank: int
    method: str
    score: float
    features: dict[str, float]
    kind: FindingKind
    variables: tuple[str, ...]
    points: tuple[FindingPoint, ...]
    runs: int
    status: Status = "untested"
    evidence: tuple[Support, ...] = ()
    forced: Arm | None = None
    forbidden: Arm | None = None
    control: Arm | None = None
    p_value: float | None = None
    explanation: tuple[FindingPoint, ...] = ()
    orders: tuple[tuple[int, int], ...] = ()
    nearest: PassingRun | None = None
    fix: Fix | None = None
    passing: int = 0
    locks_checked: bool = False
    id: str = ""
    why: str = ""
    patch: Patch | None = None
    shape: str = ""
    summary: str = ""
    given: tuple[str, ...] = ()
    replay: Replay | None = None
    windows: tuple[SourceLine, ...] = ()
    left_out: int = 0
    calls: str = ""
    undone: UndoneWork | None = None


class SwallowedException(msgspec.Struct, frozen=True):
    """An exception that the program caught, and that sets the failing runs apart.

    Or, in C, the error that a call returned: `type` is its name then, `raised` and `caught` the
    line of the call.

    Attributes:
        call: The function that returned an error, "" for an exception.
        thread: The path of the thread that raised it.
        failing: How many of the failing runs that were compared have it.
        passing: How many of the passing ones; if none has it, this is where the runs fail.
    """

    type: str
    message: str
    thread: str
    raised: SourceLine
    caught: SourceLine
    failing: int
    passing: int
    call: str = ""


class FailureReport(msgspec.Struct, frozen=True):
    """Everything about one signature.

    Attributes:
        run: The failing run that the report shows; `replay` takes its name.
        threads: The program's own names of its threads, by path.
        failing: How many failing runs were compared; there may have been more.
        passing: How many passing runs they were compared with.
        chain: What led from the race to the symptom, in the order of time.
        printed: The last lines that `run` printed, of a C or C++ program that ended by a signal or
            with a status.
        causes: The ids of its findings that are causes of their own, if there are several.
        causes_note: What that means, in words.
    """

    signature: str
    kind: str
    switch: str
    latent: bool
    count: int
    rate: float
    message: str
    where: str
    findings: tuple[Finding, ...]
    run: str = ""
    replay: Replay | None = None
    threads: dict[str, str] = msgspec.field(default_factory=dict)
    failing: int = 0
    passing: int = 0
    chain: tuple[SwallowedException, ...] = ()
    printed: str = ""
    causes: tuple[str, ...] = ()
    causes_note: str = ""


class Notice(msgspec.Struct, frozen=True):
    """A warning with its slug; docs/messages.md has a paragraph for each slug."""

    slug: str
    message: str


class MissingPart(msgspec.Struct, frozen=True):
    """A part of the answer that is missing, or is less than was wanted.

    Attributes:
        phase: One of those of `timings`.
        what: In words.
        why: Out of `time`, an `error`, `interrupted` by the user, or `unsupported`.
        message: Of the error.
        file: In the campaign's folder: what a bug report should have.
    """

    phase: str
    what: str
    why: Why
    message: str = ""
    file: str = ""


class Instrumented(msgspec.Struct, frozen=True):
    """What the probes reached, so that nothing is silently green."""

    modules: int
    sites: int
    threads_controlled: int
    threads_seen: int


class RunCounts(msgspec.Struct, frozen=True, rename={"passed": "pass"}):
    """Runs by label."""

    total: int
    passed: int
    fail: int
    hang: int


class Stressed(msgspec.Struct, frozen=True):
    """What `unsnarl stress` did before the hunt of the program that it found.

    Attributes:
        subject: The class, as it was named.
        methods: What was called.
        programs: How many programs of calls were run.
        runs: ... in how many runs.
        serial: Runs along serial orders of their calls.
        seconds: What the search took.
        file: The failing program; "" if none failed.
    """

    subject: str
    methods: tuple[str, ...]
    programs: int
    runs: int
    serial: int
    seconds: float = 0.0
    file: str = ""


class Report(msgspec.Struct, frozen=True):
    """The one report model: every output is made from this."""

    version: int
    campaign: str
    command: tuple[str, ...]
    seconds: float
    runs: RunCounts
    instrumented: Instrumented
    failures: tuple[FailureReport, ...]
    warnings: tuple[Notice, ...]
    # What is rare over all runs, failing or not; only if asked for.
    unlabelled: tuple[Finding, ...] = ()
    # Where the seconds went.
    timings: dict[str, float] = msgspec.field(default_factory=dict)
    # How many trials each of these phases made, after the runs of the hunt.
    trials: dict[str, int] = msgspec.field(default_factory=dict)
    # What is missing in this answer.
    unfinished: tuple[MissingPart, ...] = ()
    # Seconds until the failures were explained, before repairs were looked for; 0 if none were.
    explained: float = 0.0
    # Of `unsnarl stress`: what was called.
    stress: Stressed | None = None
    # Failures that a baseline has: they are counted, and not shown.
    quiet: tuple[FailureReport, ...] = ()


class NumberedFinding(NamedTuple):
    """A finding with its number in the report and the failure that it may explain."""

    number: int
    failure: FailureReport
    finding: Finding


def numbered(report: Report) -> list[NumberedFinding]:
    """All findings, counted through from 1, failure by failure."""
    pairs = [(failure, finding) for failure in report.failures for finding in failure.findings]
    return [NumberedFinding(number, *pair) for number, pair in enumerate(pairs, 1)]
