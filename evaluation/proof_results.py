# SPDX-License-Identifier: Apache-2.0
"""What is measured of proofs."""

from __future__ import annotations

import msgspec


class Proved(msgspec.Struct, frozen=True):
    """One cause of one bug, as a hunt reported it.

    Attributes:
        true: Whether the first finding or its explanation matches the cause.
        lines: Of its explanation.
        explains: Whether that contains every true point, in order.
        orders: The minimised constraints; None if no few of them make the failure certain.
        searched: Trials that it took to find them.
        nearest: Orders in which the nearest passing run differs.
        fix: Whether the fix names the true region or order.
        decoys: What experiments say of planted orders.
        wrong: What they say of the ranking's own wrong answers (challenges.py).
        rejected: Planted wrong regions under which something still failed.
        patch: What the patch that the hunt or `fix` shows does; "" if none was found.
        patched_fail: How many of `patched_runs` of a hunt of the patched files failed.
        found: Whether a run failed as the truth says.
        named: Whether the first finding names every variable of the cause.
        shape: What the finding is called, `shapes` what an engineer would accept.
        public: Whether the bug has the shape of a program that others published.
        in_time: Whether the answer came within the time limit and one run.
    """

    bug: str
    signature: str
    seconds: float
    status: str
    true: bool
    lines: int
    explains: bool
    orders: int | None
    searched: int
    reproduced: int
    tries: int
    nearest: int | None
    fix: bool
    fix_fail: int
    fix_deadlocks: int
    fix_runs: int
    decoys: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    rejected: int = 0
    planted: int = 0
    patch: str = ""
    patched_fail: int = 0
    patched_runs: int = 0
    timings: dict[str, float] = msgspec.field(default_factory=dict)
    found: bool = True
    named: bool = False
    shape: str = ""
    shapes: tuple[str, ...] = ()
    public: bool = False
    in_time: bool = True

    @property
    def confirmed(self) -> bool:
        """Whether the true cause was confirmed."""
        return self.true and self.status == "confirmed"

    @property
    def certain(self) -> bool:
        """Whether the failure came about in every fresh run under the constraints."""
        return self.orders is not None and 0 < self.tries == self.reproduced

    @property
    def is_patched(self) -> bool:
        """Whether a patch is shown, and nothing fails with it."""
        return bool(self.patch and self.patched_runs) and not self.patched_fail

    @property
    def is_fixed(self) -> bool:
        """Whether the fix is the true one and helps."""
        return self.fix and self.fix_runs >= 200 and not self.fix_fail + self.fix_deadlocks


class ProvedZoo(msgspec.Struct, frozen=True):
    """One evaluation; `twins` are the confirmed findings of the fixed twins.

    `wanted` is the share of causes that shall be confirmed, `patched` that of bugs with a patch.
    """

    command: str
    date: str
    python: str
    rows: tuple[Proved, ...]
    twins: dict[str, int]
    wanted: float = 0.9
    patched: float = 0.9
