# SPDX-License-Identifier: Apache-2.0
"""Recon on cases worked out by hand; tests/property/test_recon.py has the definition."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.conformance.tracker_twin import Event, Kind, Tracker

from unsnarl.analyses.recon import Focus, ReconOptions, focus, rank
from unsnarl.analyses.recon.features import frequency_ratio
from unsnarl.analyses.recon.keys import tally
from unsnarl.model.graph import EDGE, Graph

FIELDS = EDGE.names or ()
DEFAULTS = dict.fromkeys(FIELDS, 0) | {"sink_thread": 1, "count": 1}


def graph(*rows: tuple[int, int, int, int], **columns: int) -> Graph:
    """Rows: source point, sink point, source time, sink time; other columns alike in all."""
    edges = np.zeros(len(rows), dtype=EDGE)
    for place, (source, sink, start, end) in enumerate(rows):
        row = DEFAULTS | columns
        row |= {"source_point": source, "sink_point": sink, "source_time": start, "sink_time": end}
        edges[place] = tuple(row[name] for name in FIELDS)
    return Graph(edges)


def of_points(reconstruction, region):
    return [node.point for node in reconstruction.regions[region]]


def test_nothing_failing_nothing_ranked():
    assert rank([], [graph((1, 2, 0, 1))]) == []
    assert rank([graph()], []) == []
    assert focus([], []) == []


def test_frequency_ratio_gives_unseen_edges_a_little_less_than_one_run():
    runs, shared = np.array([4, 2, 4]), np.array([0, 1, 8])
    assert frequency_ratio(runs, 4, shared, 8).tolist() == [9.0, 4.0, 1.0]


def test_features_of_an_edge_and_their_product():
    failing = [graph((1, 2, 0, 1), (3, 4, 2, 3)), graph((1, 2, 0, 1))]
    passing = [graph((3, 4, 2, 3)), graph((3, 4, 0, 1), sink_context=5), graph()]
    best, other = rank(failing, passing)
    assert best.edge == (1, 0, 2, 0)
    # Suffix: nodes 3 and 4, in one run of two.
    assert best.features == {"B": 4.0, "C": 1.0, "R": 0.5}
    assert best.score == pytest.approx(2.0)
    assert other.features == pytest.approx({"B": 0.5 * 3, "C": 1 / 3, "R": 1.0})
    assert best.runs == (0, 1) and other.runs == (0,)


def test_features_that_are_zero_are_left_out_of_the_product():
    failing, passing = [graph((1, 2, 0, 1))], [graph((1, 2, 0, 1))]
    (only,) = rank(failing, passing)
    assert only.features == {"B": 1.0, "C": 0.0, "R": 0.0}
    assert only.score == 1.0


def test_regions_are_cut_by_window_and_by_half_of_the_best_confidence():
    def run(*, rare: bool) -> Graph:
        before = [(10 + n, 20 + n, 2 * n, 2 * n + 1) for n in range(3)]
        edge = (1, 2, 10, 20)
        inside = [(30, 31, 11, 12)] + ([(40, 41, 13, 14)] if rare else [])
        after = [(50 + n, 60 + n, 30 + 2 * n, 31 + 2 * n) for n in range(3)]
        return graph(*before, edge, *inside, *after)

    failing = [run(rare=True)] + [run(rare=False)] * 2
    (only,) = [one for one in rank(failing, []) if one.edge == (1, 0, 2, 0)]
    assert of_points(only, "prefix") == [20, 11, 21, 12, 22]
    assert of_points(only, "body") == [30, 31]
    assert of_points(only, "suffix") == [50, 60, 51, 61, 52]
    assert of_points(only, "source") == [1] and of_points(only, "sink") == [2]
    assert only.body_size == 2


def test_a_node_stands_where_it_last_happened_or_wherever_it_did():
    runs = [graph((1, 2, 0, 9), (3, 4, 4, 5), (3, 5, 20, 21))]
    latest = next(one for one in rank(runs, []) if one.edge == (1, 0, 2, 0))
    every = next(
        one for one in rank(runs, [], ReconOptions(timeline="all")) if one.edge == latest.edge
    )
    assert of_points(latest, "body") == [4]
    assert of_points(every, "body") == [3, 4]


def test_equal_scores_are_ordered_by_runs_then_body_then_site():
    failing = [graph((5, 6, 0, 1)), graph((3, 4, 0, 1))]
    assert [one.edge[0] for one in rank(failing, [])] == [3, 5]
    backwards = ReconOptions(site_order=np.arange(10)[::-1])
    assert [one.edge[0] for one in rank(failing, [], backwards)] == [5, 3]


def test_only_the_edges_with_the_highest_ratio_are_reconstructed():
    failing = [graph((1, 2, 0, 1), (3, 4, 2, 3)), graph((3, 4, 0, 1), (5, 6, 4, 5))]
    assert [one.edge[0] for one in rank(failing, [], ReconOptions(edges=1))] == [3]
    assert [one.edge[0] for one in rank(failing, [], ReconOptions(edges=2))] == [3, 1]


def test_a_long_region_is_cut_but_its_score_is_not():
    inside = [(10 + 2 * n, 11 + 2 * n, 10 + 2 * n, 11 + 2 * n) for n in range(20)]
    runs = [graph((1, 2, 0, 100), *inside)]
    options = ReconOptions(region_limit=7)
    (only,) = [one for one in rank(runs, [], options) if one.edge == (1, 0, 2, 0)]
    assert len(only.regions["body"]) == 7
    assert (only.body_size, only.features["R"]) == (40, 1.0)


class TestSync:
    """Points 8 and 9 are lock operations."""

    runs = (graph((1, 2, 4, 6), (8, 9, 1, 5), (3, 4, 0, 9)),)
    mask = np.array([False] * 8 + [True] * 2)

    def regions(self, sync, edge=(1, 0, 2, 0)):
        options = ReconOptions(sync=sync, sync_points=self.mask)
        found = [one for one in rank(self.runs, [], options) if one.edge == edge]
        return [(of_points(one, "prefix"), of_points(one, "body")) for one in found]

    def test_keep(self):
        assert self.regions("keep") == [([3, 8], [9])]

    def test_auto_drops_them_around_data(self):
        assert self.regions("auto") == [([3], [])]

    def test_auto_keeps_them_around_each_other(self):
        assert self.regions("auto", (8, 0, 9, 0)) == [([3], [1])]

    def test_drop_passes_over_their_edges(self):
        assert self.regions("drop") == [([3], [])]
        assert self.regions("drop", (8, 0, 9, 0)) == []


def test_roles_are_numbered_by_first_appearance():
    def run(first: int, second: int, third: int) -> Graph:
        """Thread `third` acts before the source, in any numbering of threads."""
        rows = graph((7, 8, 0, 1), (1, 2, 2, 9), (5, 6, 3, 4))
        rows.edges["source_thread"] = [third, first, second]
        rows.edges["sink_thread"] = [first, second, first]
        return rows

    ranked = rank([run(0, 1, 2), run(5, 3, 4), run(1, 0, 2)], [])
    one = next(one for one in ranked if one.edge == (1, 0, 2, 0))
    roles = {node.point: node.role for region in one.regions.values() for node in region}
    assert roles == {7: 1, 8: 2, 1: 2, 5: 3, 6: 2, 2: 3}


FAR = 2**20


def far(graphs: list[Graph]) -> list[Graph]:
    """The same graphs with points and contexts that do not fit into half a word together."""
    moved = [Graph(one.edges.copy()) for one in graphs]
    for one in moved:
        for end in ("source", "sink"):
            one.edges[f"{end}_point"] += FAR
            one.edges[f"{end}_context"] += 2**14
    return moved


def test_points_too_many_for_half_a_word_are_ranked_alike():
    failing = [graph((1, 2, 0, 5), (3, 4, 2, 3)), graph((1, 2, 0, 1), (5, 1, 3, 4))]
    passing = [graph((3, 4, 2, 3), (5, 4, 7, 8))]
    for order in (np.arange(10), np.arange(10)[::-1]):
        far_order = np.concatenate((np.arange(FAR) + 10, order))
        near = rank(failing, passing, ReconOptions(site_order=order))
        moved = rank(far(failing), far(passing), ReconOptions(site_order=far_order))
        assert [one.score for one in moved] == [one.score for one in near]
        assert [one.edge[0] - FAR for one in moved] == [one.edge[0] for one in near]
        assert [one.edge[1] - 2**14 for one in moved] == [one.edge[1] for one in near]


def test_tally_counts_sets_over_any_number_of_batches(monkeypatch):
    monkeypatch.setattr("unsnarl.analyses.recon.keys._BATCH", 3)
    sets = [np.array(one, dtype=np.uint64) for one in ([4, 1], [1, 9], [], [9, 2, 1], [7])]
    keys, counts = tally(sets)
    assert dict(zip(keys.tolist(), counts.tolist(), strict=True)) == {1: 3, 2: 1, 4: 1, 7: 1, 9: 2}


class TestFocus:
    """Around (1 -> 2): point 3 touches the same cell, 5 comes only when it fails, 7 always."""

    @staticmethod
    def run(*, fails: bool) -> Graph:
        rows = [(1, 2, 10, 20), (3, 4, 11, 30), (7, 8, 12, 31)]
        rows += [(5, 6, 13, 32)] if fails else []
        one = graph(*rows, sink_context=0 if fails else 1)
        one.edges["cell"] = [100, 100, 200, 300][: len(one)]
        return one

    @classmethod
    def findings(cls, settings: Focus, passing: int = 4):
        graphs = [cls.run(fails=False)] * passing
        ranked = rank([cls.run(fails=True)] * 3, graphs, ReconOptions(window=1))
        return focus(ranked, graphs, ReconOptions(window=1), settings)

    def points(self, settings: Focus, passing: int = 4):
        found = self.findings(settings, passing)
        one = next(one for one in found if one.reconstruction.edge[0] == 1)
        return [(line.point, line.region) for line in one.lines]

    def test_what_happens_in_passing_runs_too_is_trimmed(self):
        assert self.points(Focus()) == [(1, "source"), (3, "body"), (5, "body"), (2, "sink"),
                                        (4, "suffix")]  # fmt: skip

    def test_without_passing_runs_nothing_can_be_called_normal(self):
        assert (7, "body") in self.points(Focus(), passing=0)

    def test_the_limit_keeps_the_ends_and_the_most_relevant(self):
        assert self.points(Focus(limit=3)) == [(1, "source"), (3, "body"), (2, "sink")]
        assert self.points(Focus(limit=2)) == [(1, "source"), (2, "sink")]

    def test_short_findings_are_filled_up(self):
        strict = Focus(same_cell=2, separation=2, minimum=3)
        (source, filled, sink) = self.points(strict)
        assert (source, sink) == ((1, "source"), (2, "sink"))
        assert filled[1] == "body"  # what led to the sink comes before what followed it
        bare = Focus(same_cell=2, separation=2, minimum=0)
        assert self.points(bare) == [(1, "source"), (2, "sink")]

    def test_the_number_of_findings_is_limited(self):
        assert len(self.findings(Focus(findings=2))) == 2


def test_reconstructions_that_show_the_same_are_one_finding_with_the_best_score():
    failing = [
        graph((1, 2, 0, 1)),
        graph((1, 2, 0, 1)),
        graph((1, 2, 0, 1), sink_context=3),
    ]
    ranked = rank(failing, [])
    assert len(ranked) == 2
    (only,) = focus(ranked, [])
    assert only.merged == 2
    assert only.reconstruction == ranked[0]


def test_one_point_in_several_contexts_is_one_line_with_the_highest_confidence():
    def run(context: int) -> Graph:
        one = graph((1, 2, 0, 9), (3, 4, 2, 20))
        one.edges["source_context"] = [0, context]
        return one

    ranked = rank([run(0), run(0), run(1)], [])
    first = next(one for one in focus(ranked, []) if one.reconstruction.edge == (1, 0, 2, 0))
    assert [node.point for node in first.reconstruction.regions["body"]] == [3, 3]
    body = [line for line in first.lines if line.region == "body"]
    assert [(line.point, line.confidence) for line in body] == [(3, pytest.approx(2 / 3))]


# Recon figure 3: what the two spiders do with the queue, and on which cell.
INIT, PUT, SIZE, CHECK, TAKE, OTHER_WRITE, OTHER_READ = range(7)
QSIZE, OTHER = 0x10, 0x20


def weblech(rng: random.Random) -> tuple[bool, Graph]:
    """Two threads take the one item of a queue; it fails if both saw it there."""
    events = [Event(0, INIT, QSIZE, Kind.WRITE), Event(0, OTHER_WRITE, OTHER, Kind.WRITE)]
    state = {"size": 1, "failed": False}

    def spider(thread: int):
        for _ in range(2):
            yield [Event(thread, OTHER_READ, OTHER, Kind.READ)]
            yield [Event(thread, OTHER_WRITE, OTHER, Kind.WRITE)]
            empty = state["size"] == 0
            yield [Event(thread, SIZE, QSIZE, Kind.READ)]
            if empty:
                continue
            check = Event(thread, CHECK, QSIZE, Kind.READ)
            if state["size"] == 0:
                state["failed"] = True
                yield [check]
                return
            state["size"] = 0
            yield [check, Event(thread, TAKE, QSIZE, Kind.WRITE)]

    threads = [spider(1), spider(2)]
    while threads:
        one = rng.choice(threads)
        step = next(one, None)
        if step is None:
            threads.remove(one)
        else:
            events += step
    return bool(state["failed"]), Graph(edges_of(Tracker(first_read=False).feed(events)))


def edges_of(tracker: Tracker) -> np.ndarray:
    rows = [
        (k.source_point, k.sink_point, k.source_context, k.sink_context, *v, 0)
        for k, v in tracker.edges.items()
    ]
    return np.array(rows, dtype=EDGE)


def test_the_bug_of_figure_3_is_told_in_the_first_three_findings():
    rng = random.Random(4)
    failing, passing = [], []
    while len(failing) < 25 or len(passing) < 25:
        failed, one = weblech(rng)
        (failing if failed else passing).append(one)
    failing, passing = failing[:25], passing[:25]
    findings = focus(rank(failing, passing), passing)[:3]
    told = [
        [(line.point, line.role) for line in one.lines if line.point in (SIZE, TAKE, CHECK)]
        for one in findings
    ]
    assert any(_tells(lines) for lines in told), told


def _tells(lines: list[tuple[int, int]]) -> bool:
    """SIZE by one thread, TAKE by another, CHECK by the first, in this order."""
    return any(
        (SIZE, role) in lines[:place] and (CHECK, role) in lines[place:]
        for place, (point, other) in enumerate(lines)
        for role in (1, 2, 3)
        if point == TAKE and role != other
    )
