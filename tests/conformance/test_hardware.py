# SPDX-License-Identifier: Apache-2.0
"""The simulated hardware against its twin, the twin against cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.hardware_twin import (
    Access,
    Edge,
    Machine,
    Node,
    Seen,
    State,
    full_of_reads,
    register,
    widened,
)

from unsnarl.errors import UsageError
from unsnarl.model.access_trace import EVENT, EventKind
from unsnarl.traces import hardware
from unsnarl.traces.hardware import HardwareCounts

X, Y = 0x1000, 0x1040
LR, LW, RR, RW = Seen
EMPTY = tuple(full_of_reads())


def context(*newest_last: Seen) -> tuple[Seen, ...]:
    return (*EMPTY[len(newest_last) :], *newest_last)


def rows(accesses: list[Access]) -> np.ndarray:
    """The events of a trace."""
    events = np.zeros(len(accesses), EVENT)
    events["time"] = np.arange(len(accesses))
    for name in ("thread", "point", "address"):
        events[name] = [getattr(one, name) for one in accesses]
    events["cell"] = events["address"] + 1
    events["kind"] = [
        EventKind.FORCED if one.lock else EventKind.WRITE if one.write else EventKind.READ
        for one in accesses
    ]
    return events


def native(accesses: list[Access], size: dict[str, int]):
    from unsnarl import _core

    machine = _core.Hardware(**size)
    machine.feed(rows(accesses))
    return machine


def graph_of(machine) -> dict[tuple[int, int, int, int], int]:
    edges = hardware.result(machine).edges
    keys = ("source_point", "source_context", "sink_point", "sink_context")
    found = {tuple(int(row[key]) for key in keys): int(row["count"]) for row in edges}
    assert len(found) == len(edges)
    return found


def edge_key(edge: Edge) -> tuple[int, int, int, int]:
    source = (edge.source.point, widened(edge.source.context)) if edge.source else (0, 0)
    return (*source, edge.sink.point, widened(edge.sink.context))


def twin(*accesses: tuple[int, int, int, bool], **size: int) -> Machine:
    return Machine(**size).feed(Access(*one) for one in accesses).end()


# ---- by hand


def test_a_read_reply_is_an_edge_from_the_writer():
    machine = twin((0, 10, X, True), (1, 20, X, False))
    assert machine.graph == {Edge(Node(10, EMPTY), Node(20, EMPTY)): 1}
    assert machine.state(0, X) is machine.state(1, X) is State.SHARED
    assert tuple(machine.contexts[0]) == context(RR)
    assert tuple(machine.contexts[1]) == context(LR)


def test_what_memory_answers_has_no_source_and_is_no_communication():
    machine = twin((0, 20, X, False))
    assert machine.graph == {Edge(None, Node(20, EMPTY)): 1}
    assert machine.state(0, X) is State.EXCLUSIVE
    assert tuple(machine.contexts[0]) == EMPTY


def test_every_invalidate_reply_is_an_entry():
    machine = twin((0, 10, X, True), (1, 20, X, False), (2, 21, X, False), (3, 30, X, True))
    sink = Node(30, EMPTY)
    assert machine.graph[Edge(Node(10, EMPTY), sink)] == 3
    assert [machine.state(core, X) for core in range(4)] == [0, 0, 0, State.MODIFIED]
    assert tuple(machine.contexts[3]) == context(LW)
    assert tuple(machine.contexts[1])[-1] is RW


def test_a_write_to_a_line_that_is_exclusive_leaves_no_trace():
    """Bugaboo 4.2.2: metadata is written when a line is neither exclusive nor modified."""
    machine = twin((0, 9, X, False), (0, 10, X, True), (1, 20, X, False))
    assert machine.graph[Edge(None, Node(20, EMPTY))] == 1
    assert machine.counts["metadata_writes"] == 2


def test_metadata_travels_with_read_replies():
    small = {"ways": 1, "sets": 1, "cores": 3}
    machine = twin(
        (0, 10, X, True), (1, 20, X, False), (0, 11, Y, True), (2, 30, X, False), **small
    )
    sinks = {edge.sink.point: edge.source for edge in machine.graph}
    assert sinks[30] == Node(10, EMPTY)  # core 0 has evicted it, core 1 supplies it


def test_with_its_last_copy_the_writer_of_a_line_is_forgotten():
    small = {"ways": 1, "sets": 1, "cores": 2}
    machine = twin((0, 10, X, True), (0, 11, Y, True), (1, 20, X, False), **small)
    assert set(machine.graph) == {Edge(None, Node(20, EMPTY))}
    assert machine.counts["write_backs"] == 1


def test_false_sharing_is_communication():
    machine = twin((0, 10, X, True), (1, 20, X + 8, False))
    assert Edge(Node(10, EMPTY), Node(20, EMPTY)) in machine.graph


def test_a_full_table_is_read_and_what_comes_meanwhile_is_lost():
    reads = [(0, 10 + number, X + 64 * number, False) for number in range(8)]
    machine = twin(*reads, entries=2, trap=3)
    assert sorted(edge.sink.point for edge in machine.graph) == [10, 11, 14, 15]
    assert machine.counts["traps"] == 2
    assert machine.counts["discarded"] == 4


def test_threads_take_the_cores_in_turn():
    same = twin((0, 10, X, True), (2, 20, X, False), cores=2)
    assert not same.graph
    assert twin((0, 10, X, True), (2, 20, X, False), cores=3).graph


# ---- conformance

accesses = st.lists(
    st.builds(
        Access,
        thread=st.integers(0, 7),
        point=st.integers(1, 9),
        address=st.one_of(
            st.integers(0, 11).map(lambda number: X + 64 * number),
            st.integers(0, 2**63 - 1),
        ),
        write=st.booleans(),
        lock=st.booleans(),
    ).map(lambda one: one._replace(write=one.write or one.lock)),
    max_size=200,
)
sizes = st.fixed_dictionaries(
    {
        "cores": st.integers(1, 6),
        "sets": st.sampled_from([1, 2, 4]),
        "ways": st.integers(1, 4),
        "line": st.sampled_from([8, 64]),
        "entries": st.integers(1, 40),
        "trap": st.integers(0, 30),
        "quiet_locks": st.booleans(),
    }
)


@given(accesses, sizes)
@settings(deadline=None, max_examples=600)
def test_the_hardware_agrees_with_its_twin(accesses: list[Access], size: dict[str, int]):
    machine = native(accesses, size)
    model = Machine(**size).feed(accesses).end()
    assert graph_of(machine) == {edge_key(edge): count for edge, count in model.graph.items()}
    counts = hardware.result(machine).counts._asdict()
    assert {name: count for name, count in counts.items() if count} == +model.counts
    for core in range(size["cores"]):
        assert machine.context(core) == register(model.contexts[core])
        for one in accesses:
            assert machine.state(core, one.address) == model.state(core, one.address)


def test_the_papers_machine_agrees_with_its_twin():
    """As large as in Bugaboo 6.1; each core's cache overflows, and so does the table."""
    chance = np.random.default_rng(1)
    count = 40_000
    accesses = [
        Access(thread, point, address * 8, write)
        for thread, point, address, write in zip(
            chance.integers(0, 24, count).tolist(),
            chance.integers(1, 200, count).tolist(),
            chance.integers(0, 60_000, count).tolist(),
            (chance.random(count) < 0.3).tolist(),
            strict=True,
        )
    ]
    size = {"cores": 16, "sets": 64, "ways": 8, "line": 64, "entries": 1 << 14, "trap": 1 << 12}
    machine = native(accesses, size)
    model = Machine(**size).feed(accesses).end()
    assert graph_of(machine) == {edge_key(edge): count for edge, count in model.graph.items()}
    assert hardware.result(machine).counts == HardwareCounts(**model.counts)
    assert model.counts["evictions"]
    assert model.counts["traps"] == 1


# ---- invariants


@given(accesses, sizes)
@settings(deadline=None, max_examples=300)
def test_a_line_has_one_writer_and_what_is_counted_adds_up(
    accesses: list[Access], size: dict[str, int]
):
    machine = native([], size)
    for at, row in enumerate(rows(accesses)):
        machine.feed(row.tobytes())
        for one in accesses[: at + 1]:
            states = [State(machine.state(core, one.address)) for core in range(size["cores"])]
            owned = [one for one in states if one >= State.EXCLUSIVE]
            assert len(owned) <= 1
            assert not owned or states.count(State.INVALID) == len(states) - 1
    counts = hardware.result(machine).counts
    assert counts.accesses == counts.reads + counts.writes == len(accesses)
    assert counts.read_misses == counts.read_replies + counts.memory_reads
    misses = counts.read_misses + counts.write_misses + counts.upgrades
    assert counts.metadata_writes == misses
    assert counts.table_writes == counts.read_misses + counts.invalidate_replies
    assert counts.table_writes - counts.discarded == sum(graph_of(machine).values())
    assert counts.evictions <= counts.read_misses + counts.write_misses


@given(accesses, sizes)
@settings(deadline=None, max_examples=100)
def test_in_parts_it_is_the_same(accesses: list[Access], size: dict[str, int]):
    whole, parts = native(accesses, size), native([], size)
    events = rows(accesses)
    for at in range(0, len(events), 7):
        parts.feed(events[at : at + 7].tobytes())
    assert graph_of(whole) == graph_of(parts)
    assert hardware.result(whole).counts == hardware.result(parts).counts


# ---- what is refused


@pytest.mark.parametrize(
    "size", [{"cores": 0}, {"cores": 65}, {"line": 48}, {"kilobytes": 0}, {"entries": 0}]
)
def test_there_are_machines_that_cannot_be(size: dict[str, int]):
    with pytest.raises(UsageError, match="no such machine"):
        hardware.machine_for(hardware.HardwareMachine(**size))


def test_what_is_no_event_is_refused():
    machine = hardware.machine_for(hardware.HardwareMachine())
    with pytest.raises(ValueError, match="no events"):
        machine.feed(b"\0" * EVENT.itemsize)
    with pytest.raises(ValueError, match="no events"):
        machine.feed(b"\1" * 31)
    with pytest.raises(IndexError):
        machine.state(16, 0)
    with pytest.raises(IndexError):
        machine.context(16)


def test_what_is_no_access_is_passed_over():
    events = rows([Access(0, 10, X, True)] * 4)
    events["kind"] = [EventKind.FORGET, EventKind.WAIT, EventKind.THREAD, EventKind.FORCED]
    events["cell"] = 1
    assert hardware.simulate_events(events).counts.accesses == 1


def test_names_of_the_counters_are_those_of_the_machine():
    """The struct in C, read by name."""
    import re
    from pathlib import Path

    header = Path(__file__).parents[2] / "native/hardware/hardware.h"
    body = re.search(r"struct uns_hardware_counts {(.*?)};", header.read_text(), re.DOTALL)
    assert body
    plain = re.sub(r"/\*.*?\*/", "", body[1], flags=re.DOTALL)
    assert tuple(re.findall(r"(\w+)\s*[,;]", plain)) == HardwareCounts._fields
