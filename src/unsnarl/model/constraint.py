# SPDX-License-Identifier: Apache-2.0
"""Constraints: this event of one thread before that event of another."""

from __future__ import annotations

from typing import NamedTuple

from unsnarl.model.event import Event, EventKey
from unsnarl.model.plan import Match, Rule


class Actor(NamedTuple):
    """Who does an event: the thread of a path, or if it is `equal` one that is equal to that one.

    Of equal threads, whoever comes first to an event of a role has it.
    """

    path: str
    equal: bool = False
    role: int = 0


class Constraint(NamedTuple):
    """`before` comes before `after`; `hold` is where the later thread waits for it.

    Attributes:
        actors: Who does the earlier and the later event; None for the threads of the events.
    """

    before: Event
    after: Event
    hold: Event
    actors: tuple[Actor, Actor] | None = None

    @property
    def rule(self) -> Rule:
        """The rule that makes it so."""
        before, hold = self.actors or (None, None)
        return order_rule(match_event(self.hold, hold), match_event(self.before, before))

    @property
    def events(self) -> tuple[Event, Event, Event]:
        """Its three events."""
        return self.before, self.after, self.hold

    @property
    def key(self) -> tuple[EventKey, EventKey]:
        """Constraints with the same key have the same effect."""
        return self.before.key, self.hold.key

    @property
    def is_named(self) -> bool:
        """Whether all is in the target's code; rules and traces count other events differently."""
        return all(event.site for event in self.events)


def match_event(event: Event, actor: Actor | None = None) -> Match:
    """Matches this very event, in any run; or that of another actor."""
    path, equal, role = actor or Actor(event.path)
    return Match((event.point,), path, event.occurrence, equal=equal, role=role)


def order_rule(hold: Match, before: Match) -> Rule:
    """The rule of any constraint, of this process or stored: hold it until that has happened."""
    return Rule(hold=hold, until=before)
