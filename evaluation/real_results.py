# SPDX-License-Identifier: Apache-2.0
"""What is measured of real bugs."""

from __future__ import annotations

import msgspec

from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE, EXIT_OK

TIME = 60  # seconds: what a hunt is given
ONE_RUN = 10  # seconds: the limit of one run, by which a hunt may be late
MOST_STEPS = 8
ANSWERS = (EXIT_OK, EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE)


class Ended(msgspec.Struct, frozen=True):
    """A command that has ended; `code` is None if it was stopped at the outer limit.

    `output` is the end of what it printed, where something went wrong.
    """

    seconds: float
    code: int | None
    output: str = ""

    @property
    def broke(self) -> bool:
        """Whether it ended in an internal error."""
        return self.code is not None and self.code not in ANSWERS


class SimulatedFix(msgspec.Struct, frozen=True):
    """The fix that a finding has, and what came of it."""

    words: str
    fail: int
    deadlocks: int
    runs: int

    @property
    def works(self) -> bool:
        """Whether no run failed or deadlocked with it."""
        return bool(self.runs) and not self.fail + self.deadlocks


class Applied(msgspec.Struct, frozen=True):
    """A hunt of the program with the patch in its files: `fail` of `runs` failed or hung.

    `signatures` say of what, how often, and whether the interpreter's lock prevents it (latent): a
    driver that gives up on a slow machine is no wrong patch.
    """

    fail: int
    runs: int
    signatures: tuple[str, ...] = ()

    @property
    def is_right(self) -> bool:
        """Whether nothing failed."""
        return bool(self.runs) and not self.fail


class Checked(msgspec.Struct, frozen=True):
    """What `verify` said: the verdicts on the failures, and its sentences."""

    ended: Ended
    verdicts: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()

    @property
    def accepts(self) -> bool:
        """Whether it says that the failure is gone."""
        return self.ended.code == EXIT_OK

    @property
    def still_fails(self) -> bool:
        """Whether it says that a failure is there as before."""
        return self.ended.code == EXIT_FAILURE_FOUND and "fails" in self.verdicts


class FixedHunt(msgspec.Struct, frozen=True):
    """A hunt of the fixed release: the failures that it reported.

    `others` are those of bugs that the case says are there.
    """

    ended: Ended
    runs: int = 0
    alarms: tuple[str, ...] = ()
    latent: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


class Costs(msgspec.Struct, frozen=True):
    """Seconds per run of the same test by pytest and by a script."""

    pytest: float
    script: float


class Measured(msgspec.Struct, frozen=True):
    """One case, as a user would see it.

    Attributes:
        must: How many points a right answer names.
        named: How many of them the first finding or its explanation has.
        called: The same, where the calls that led to a point count.
        explained: How many of them its explanation has.
        in_three: How many of them the best of the first three findings has.
        steps: How many lines its explanation is drawn in.
        shape: What the first finding is called.
        shapes: What an engineer would accept; () if nobody has decided yet.
        patch: Of the first finding: what survived its checks does, else "".
        patch_runs: In how many fresh runs the patched program was seen not to fail.
        applied: The same patch written into the files, and hunted there.
        warnings: The slugs of the report's warnings.
        replayed: How many of `replays` in new processes failed as recorded.
        same: `verify` of the release with the bug.
        fixed: `verify` of the fixed release.
        costs: Only of tests that a script can call.
        load: Processes that wanted a core in the minute before.
    """

    case: str
    label: str
    set: str
    form: str
    kind: str
    seed: int
    ended: Ended
    must: int
    runs: int = 0
    failing: int = 0
    failures: int = 0
    signature: str = ""
    latent: bool = False
    finding: str = ""
    status: str = ""
    named: int = 0
    called: int = 0
    explained: int = 0
    in_three: int = 0
    steps: int = 0
    shape: str = ""
    shapes: tuple[str, ...] = ()
    fix: SimulatedFix | None = None
    patch: str = ""
    patch_runs: int = 0
    applied: Applied | None = None
    warnings: tuple[str, ...] = ()
    timings: dict[str, float] = msgspec.field(default_factory=dict)
    early: float = 0.0  # so many seconds before the end, a terminal shows the explanation
    trials: dict[str, int] = msgspec.field(default_factory=dict)
    replayed: int = 0
    replays: int = 0
    same: Checked | None = None
    fixed: Checked | None = None
    fixed_hunt: FixedHunt | None = None
    costs: Costs | None = None
    load: float = 0.0
    complaint: str = ""

    @property
    def found(self) -> bool:
        """Whether a failure was reported."""
        return bool(self.signature)

    @property
    def points_at_bug(self) -> bool:
        """Whether the first finding has most of the points that it must have."""
        return 2 * self.named > self.must

    @property
    def explains(self) -> bool:
        """Whether the explanation has all of them."""
        return self.explained == self.must

    @property
    def names_all(self) -> bool:
        """Whether the first finding has all of them."""
        return self.named == self.must

    @property
    def is_short(self) -> bool:
        """Whether there is an explanation, and a person reads it at a glance."""
        return 0 < self.steps <= MOST_STEPS

    @property
    def confirmed(self) -> bool:
        """Whether experiments confirmed the first finding."""
        return self.status == "confirmed"

    @property
    def late(self) -> bool:
        """Whether the hunt went on for more than one run beyond its time."""
        return self.ended.code is None or self.ended.seconds > TIME + ONE_RUN

    @property
    def seconds_to_explanation(self) -> float:
        """From the command to what is shown before a repair is looked for."""
        return self.ended.seconds - self.early

    @property
    def broke(self) -> bool:
        """Whether any command ended in an internal error."""
        later = [one.ended for one in (self.same, self.fixed, self.fixed_hunt) if one]
        return bool(self.complaint) or any(ended.broke for ended in (self.ended, *later))
