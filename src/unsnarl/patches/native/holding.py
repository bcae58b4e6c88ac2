# SPDX-License-Identifier: Apache-2.0
"""Around which statements of C and C++ a mutex must not be held: those that wait for others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unsnarl.patches.native.source import CSource, StatementRange, covering
from unsnarl.patches.native.tokens import Token, closing
from unsnarl.patches.source import UnpatchableError

WAITING = frozenset(
    (
        *("pthread_join", "pthread_barrier_wait", "pthread_timedjoin_np", "thrd_join", "sem_wait"),
        *("sem_timedwait", "sleep", "usleep", "nanosleep", "thrd_sleep", "sched_yield", "poll"),
        *("select", "epoll_wait", "accept", "recv", "recvfrom", "waitpid", "system", "getchar"),
        *("thrd_yield", "pthread_yield", "pause"),
    )
)
# Methods of C++: `worker.join()`, `std::this_thread::sleep_for(...)`, `done.get_future().get()`.
WAITING_METHODS = frozenset(("join", "sleep_for", "sleep_until", "yield", "arrive_and_wait"))
# They give back one mutex meanwhile; with another one held they keep that.
CONDITIONS = ("pthread_cond_wait", "pthread_cond_timedwait", "cnd_wait")


def check_holdable(run: StatementRange, lock: str) -> None:
    """Raises if a mutex must not be held around these statements."""
    name = f"{run.source.name}:{run.lines[0]}"
    tokens = list(run.tokens)
    for call in waiting(tokens, lock):
        raise UnpatchableError(f"{name}: a mutex would be held around {call}")
    for statement in run.inner:
        if statement.kind in ("while", "for") and not any(
            text.text != ";"
            for body in statement.bodies
            for one in body.statements
            for text in one.tokens
        ):
            raise UnpatchableError(f"{name}: a mutex would be held while a loop waits")


def waiting(tokens: Sequence[Token], lock: str = "") -> Iterator[str]:
    """The calls that wait for another thread."""
    for index, token in enumerate(tokens[:-1]):
        if tokens[index + 1].text != "(":
            continue
        before = tokens[index - 1].text if index else ""
        if token.text in CONDITIONS:
            inside = [one.text for one in tokens[index + 2 : closing(tokens, index + 1)]]
            given = "".join(inside[inside.index(",") + 1 :]) if "," in inside else ""
            if not lock or not given.removeprefix("&").startswith(lock):
                yield token.text
        elif (
            (token.text in WAITING and before not in (".", "->"))
            or (token.text in WAITING_METHODS and before in (".", "->", "::"))
            or (token.text in ("wait", "wait_for", "wait_until") and before in (".", "->"))
        ):
            yield token.text


def waits(source: CSource, line: int) -> bool:
    """Whether the statement of a line is a call that waits."""
    try:
        run = covering(source, line, line)
        check_holdable(run, "")
    except UnpatchableError:
        return True
    return False
