# SPDX-License-Identifier: Apache-2.0
"""The joined ranking on runs made by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.comparisons import compare, edge, pattern, point_table, run

from unsnarl.analyses.falcon.table import table
from unsnarl.analyses.joined import answers
from unsnarl.analyses.joined import conflict_cycles as cycles
from unsnarl.analyses.joined.hypotheses import pattern_hypotheses
from unsnarl.analyses.joined.line_merge import by_line
from unsnarl.model.evidence import ORDER
from unsnarl.model.ordered import Knowledge, open_patterns
from unsnarl.model.pattern import FINE, PatternKind

RW, WR, WW, RWR, WWR, WRW, RWW, WWW, UNREAD, REREAD = PatternKind
CHECK, TAKE, USE, OTHER = 1, 2, 3, 4
X, Y = 0x10, 0x20


def conflict(kind, *points, cell=X, threads=(1, 2), times=None):
    """A pattern on a cell of its own, at the given times."""
    row = pattern(kind, *points, threads=threads) | {"cell": cell}
    names = ("first", "other", "last")[: len(points)]
    moments = times or range(10, 10 + len(points))
    return row | {f"{name}_time": time for name, time in zip(names, moments, strict=True)}


def ordered_by(evidence, *orders):
    return replace(evidence, orders=np.array(list(orders), dtype=ORDER))


def told(answer):
    return [(line.point, line.role) for line in answer.lines]


def test_a_triple_of_all_failing_runs_comes_first_and_tells_its_pairs_too():
    failing = run(
        patterns=[
            conflict(RWR, CHECK, TAKE, USE),
            conflict(WR, TAKE, USE, threads=(2, 1), times=(11, 12)),
        ]
    )
    passing = run(patterns=[conflict(RW, CHECK, OTHER)])
    (best,) = answers(compare([failing] * 4, [passing] * 4))
    assert told(best) == [(CHECK, 1), (TAKE, 2), (USE, 1)]
    assert [line.region for line in best.lines] == ["prefix", "source", "sink"]
    assert (best.score, best.runs, best.passing) == (1.0, (0, 1, 2, 3), 0)


def test_what_passing_runs_have_as_well_comes_later():
    common, telling = conflict(RWR, CHECK, TAKE, OTHER), conflict(RWR, CHECK, TAKE, USE)
    found = answers(compare([run(patterns=[common, telling])] * 4, [run(patterns=[common])] * 4))
    assert [told(one)[2][0] for one in found] == [USE, OTHER]
    assert [one.passing for one in found] == [0, 4]


def test_of_equals_the_one_that_was_complete_first_is_the_cause():
    early = conflict(RWR, CHECK, TAKE, USE, times=(10, 20, 30))
    late = conflict(RWR, OTHER, TAKE, USE, cell=Y, times=(11, 21, 31))
    assert told(answers(compare([run(patterns=[late, early])] * 3))[0])[0] == (CHECK, 1)


def test_threads_are_those_of_each_run():
    one = run(patterns=[conflict(RWR, CHECK, TAKE, USE, threads=(1, 2))])
    two = run(patterns=[conflict(RWR, CHECK, TAKE, USE, threads=(5, 3))])
    (best,) = answers(compare([one, two]))
    anchors = {line.role: line.anchor for line in best.lines}
    assert [best.threads[at][anchors[1]] for at in (0, 1)] == [1, 5]
    assert [best.threads[at][anchors[2]] for at in (0, 1)] == [2, 3]


def test_sites_of_one_line_count_together():
    """A loop over a dict's items reads it at two sites of one line."""
    begin, turn = conflict(RWR, CHECK, TAKE, USE), conflict(RWR, OTHER, TAKE, USE)
    where = point_table(9)
    where.line[OTHER] = CHECK
    failing = [run(patterns=[begin])] * 2 + [run(patterns=[turn])] * 2
    (best,) = answers(compare(failing, [run()] * 2, where))
    assert (best.score, best.runs) == (1.0, (0, 1, 2, 3))
    assert told(best)[0][0] == CHECK


def test_a_cycle_of_two_variables_beats_its_pairs():
    """Both pairs are in passing runs, but never in one of them."""
    there = conflict(WR, 1, 2, cell=X, threads=(1, 2), times=(10, 20))
    back = conflict(RW, 3, 4, cell=Y, threads=(2, 1), times=(21, 30))
    failing = run(patterns=[there, back])
    passing = [run(patterns=[there])] * 2 + [run(patterns=[back])] * 2
    best = answers(compare([failing] * 4, passing))[0]
    assert told(best) == [(1, 1), (2, 2), (3, 2), (4, 1)]
    assert (best.score, best.passing) == (1.0, 0)


def test_a_cycle_needs_two_cells_and_the_same_two_threads():
    there = conflict(WR, 1, 2, cell=X, threads=(1, 2), times=(10, 20))
    passing = [run(patterns=[there])] * 4
    for back in (
        conflict(RW, 3, 4, cell=X, threads=(2, 1), times=(21, 30)),
        conflict(RW, 3, 4, cell=Y, threads=(2, 3), times=(21, 30)),
    ):
        found = answers(compare([run(patterns=[there, back])] * 4, passing))
        assert {len(one.lines) for one in found} == {2}


def test_a_cycle_of_few_failing_runs_is_not_looked_at():
    """A program whose threads share much has a hundred thousand of them: no time was left."""
    there = conflict(WR, 1, 2, cell=X, threads=(1, 2), times=(10, 20))
    back = conflict(RW, 3, 4, cell=Y, threads=(2, 1), times=(21, 30))
    alone = [run(patterns=[there]), run(patterns=[back])]
    for times, found in ((2, 0), (4, 1)):
        failing = [run(patterns=[there, back])] * times + alone * ((10 - times) // 2)
        compared = compare(failing, alone * 2)
        counting = by_line(compared.points)
        patterns = pattern_hypotheses(compared, table(compared, counting))
        assert len(cycles.cycles(compared, counting, patterns)) == found


def test_a_pair_is_told_with_what_closes_the_cycle():
    """Why was it too late? Because the thread had looked at something else before."""
    telling = conflict(WR, 3, 4, cell=Y, threads=(2, 1), times=(20, 30))
    before = conflict(RW, 1, 2, cell=X, threads=(1, 2), times=(10, 15))
    failing = [run(patterns=[telling, before])] * 4
    best = answers(compare(failing, [run(patterns=[before])] * 4))[0]
    assert told(best) == [(1, 1), (2, 2), (3, 2), (4, 1)]
    assert [line.confidence for line in best.lines] == [1.0] * 4
    assert best.passing == 0


def looping(pairs):
    """A run of which all pairs are known, and of the patterns only the latest."""
    latest = {tuple(row[f"{end}_point"] for end in ("first", "other")): row for row in pairs}
    return replace(run(patterns=latest.values()), pairs=run(patterns=pairs).patterns)


def rounds(*times):
    """Thread 1 writes X at 1 and Y at 4, thread 2 reads X at 2 and Y at 3: when, in turns."""
    in_order = sorted(times)
    found = []
    for cell, (writes, reads) in ((X, (1, 2)), (Y, (4, 3))):
        here = [(time, point) for time, point in in_order if point in (writes, reads)]
        for (before, one), (after, other) in pairwise(here):
            if one != other:
                threads = (1, 2) if one == writes else (2, 1)
                kind = WR if one == writes else RW
                found.append(
                    conflict(kind, one, other, cell=cell, threads=threads, times=(before, after))
                )
    return looping(found)


ROUND = ((10, 1), (12, 2), (13, 3), (14, 4))
ENDS = ("first", "other")


def test_conflicts_of_different_rounds_close_no_cycle():
    """In loops every run has both conflicts; only one round has them crossed."""
    serial = rounds((10, 1), (11, 4), (20, 2), (21, 3), (30, 1), (31, 4), (40, 2), (41, 3))
    crossed = rounds((10, 1), (11, 4), (20, 2), (21, 3), (30, 1), (32, 2), (33, 3), (34, 4))
    best = answers(compare([crossed] * 4, [serial] * 4))[0]
    assert told(best) == [(1, 1), (2, 2), (3, 2), (4, 1)]
    assert (best.score, best.passing) == (1.0, 0)


def test_cycles_of_a_loop_are_as_many_as_its_rounds():
    """All conflicts with all would be their square: a ranking of minutes."""

    def number(count):
        turns = [(40 * i + at, point) for i in range(count) for at, point in ROUND]
        where = by_line(point_table(9))
        rows = rounds(*turns).pairs
        return len(cycles._closing(rows, [where.points(rows, f"{end}_point") for end in ENDS]))

    assert 0 < number(80) < 2.5 * number(40)


def test_a_third_threads_write_between_does_not_hide_the_conflict():
    there = conflict(WR, 1, 2, cell=X, threads=(1, 2), times=(10, 20))
    next_one = conflict(RW, 3, 4, cell=Y, threads=(2, 3), times=(21, 25))
    detour = conflict(WW, 4, 4, cell=Y, threads=(3, 1), times=(25, 30))
    failing = run(patterns=[there, next_one, detour])
    passing = [run(patterns=[there, detour])] * 2 + [run(patterns=[next_one, detour])] * 2
    best = answers(compare([failing] * 4, passing))[0]
    assert told(best) == [(1, 1), (2, 2), (3, 2), (4, 1)]


def test_a_ring_of_three_threads_is_told_whole():
    """1 tells 2, which tells 3, which has not yet heard from 1."""
    z = 0x30
    first = conflict(WR, 1, 2, cell=X, threads=(1, 2), times=(10, 11))
    second = conflict(WR, 3, 4, cell=Y, threads=(2, 3), times=(12, 13))
    third = conflict(RW, 5, 6, cell=z, threads=(3, 1), times=(14, 15))
    failing = run(patterns=[first, second, third])
    passing = [run(patterns=list(two)) for two in combinations((first, second, third), 2)]
    best = answers(compare([failing] * 3, passing))[0]
    assert told(best) == [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 1)]
    assert best.passing == 0


def test_accesses_are_told_in_the_order_of_most_runs():
    """Whenever in a run it happened."""
    early = [
        conflict(WR, 1, 2, cell=X, threads=(1, 2), times=(10, 12)),
        conflict(RW, 3, 4, cell=Y, threads=(2, 1), times=(13, 14)),
    ]
    late = [
        conflict(WR, 1, 2, cell=X, threads=(1, 2), times=(90, 92)),
        conflict(RW, 3, 4, cell=Y, threads=(2, 1), times=(93, 94)),
    ]
    odd = [
        conflict(WR, 1, 2, cell=X, threads=(1, 2), times=(10, 80)),
        conflict(RW, 3, 4, cell=Y, threads=(2, 1), times=(20, 70)),
    ]
    failing = [run(patterns=rows) for rows in (odd, late, odd, early, late)]
    passing = [run(patterns=[row]) for row in early]
    best = answers(compare(failing, passing * 3))[0]
    assert told(best) == [(1, 1), (2, 2), (3, 2), (4, 1)]


def test_a_write_that_nobody_read_is_told_with_both_writes():
    failing = run(patterns=[conflict(UNREAD + FINE, 1, 1, 2, times=(10, 11, 20))])
    (best,) = answers(compare([failing] * 3, [run()]))
    assert told(best) == [(1, 1), (1, 1), (2, 2)]


def test_what_start_and_join_order_is_no_suspect():
    """Thread 0 starts thread 1 at 5 and joins it at 50."""
    setting_up = conflict(WR, 1, 2, threads=(0, 1), times=(3, 20))
    collecting = conflict(WR, 2, 3, threads=(1, 0), times=(20, 60))
    racing = conflict(WR, 1, 3, cell=Y, threads=(0, 1), times=(10, 20))
    evidence = ordered_by(
        run(patterns=[setting_up, collecting, racing]), (1, 0, 5, 5), (0, 1, 50, 50)
    )
    assert open_patterns(evidence.patterns, evidence.orders).tolist() == [False, False, True]
    (only,) = answers(compare([evidence] * 3, [run()]))
    assert told(only) == [(1, 1), (3, 2)]


def test_order_is_transitive():
    """0 starts 1, which starts 2: what 0 did before is before all of 2."""
    knowledge = Knowledge(np.array([(1, 0, 5, 5), (2, 1, 9, 9)], dtype=ORDER), 3)

    def before(first, first_time, then, then_time):
        columns = ([first], [first_time], [then], [then_time])
        return bool(knowledge.before(*map(np.array, columns))[0])

    assert before(0, 5, 2, 10) and before(1, 9, 2, 10)
    assert not before(0, 6, 2, 10)
    assert not before(2, 10, 0, 20)


def test_methods_support_what_they_say_themselves():
    failing = run(
        edges=[edge(TAKE, USE, threads=(2, 1), time=11)],
        patterns=[conflict(RWR, CHECK, TAKE, USE)],
    )
    best = answers(compare([failing] * 4, [run()] * 4))[0]
    assert [(one.method, one.rank) for one in best.support] == [("falcon", 1), ("recon", 1)]
    assert best.support[1].features.keys() == {"B", "C", "R"}


def test_what_only_recon_sees_comes_along():
    failing = run(edges=[edge(TAKE, USE, threads=(2, 1), time=11)])
    (only,) = answers(compare([failing] * 4, [run()] * 4))
    assert (only.method, only.support[0].method) == ("joined", "recon")


rows = st.lists(
    st.builds(
        conflict,
        st.sampled_from([RWR, WWR, WWW]),
        st.integers(0, 5),
        st.integers(0, 5),
        st.integers(0, 5),
        cell=st.sampled_from([X, Y]),
    ),
    max_size=6,
)


@given(st.lists(rows, min_size=1, max_size=4), st.lists(rows, max_size=4), st.randoms())
def test_the_order_of_runs_changes_no_score(failing, passing, random):
    runs = [run(patterns=one) for one in failing]
    shuffled = random.sample(runs, len(runs))
    others = [run(patterns=one) for one in passing]

    def scores(some):
        return sorted((tuple(told(one)), one.score) for one in answers(compare(some, others)))

    assert [score for _, score in scores(runs)] == [score for _, score in scores(shuffled)]


def test_a_cycle_is_one_whichever_of_its_accesses_comes_first():
    """A writer sets text, then length; a reader reads length, then text."""
    text, length, see_length, see_text = 1, 2, 3, 4

    def failing(first, second):
        return run(
            patterns=[
                conflict(WR, text, see_text, cell=X, threads=(1, 2), times=(first, 30)),
                conflict(RW, see_length, length, cell=Y, threads=(2, 1), times=(second, 40)),
            ]
        )

    pairs = [
        run(patterns=[conflict(WR, text, see_text, cell=X, threads=(1, 2))]),
        run(patterns=[conflict(RW, see_length, length, cell=Y, threads=(2, 1))]),
    ]
    best = answers(compare([failing(10, 20), failing(20, 10)] * 4, pairs * 4))[0]
    assert (len(best.runs), best.passing, best.score) == (8, 0, 1.0)


def with_initial(*points):
    where = point_table(100)
    return replace(where, initial=np.isin(np.arange(100), points))


def test_the_use_of_what_is_new_says_less_than_another_order():
    """Whoever reads what a constructor wrote comes later, always."""
    new = conflict(WR, OTHER, USE, cell=Y, times=(5, 6))
    order = conflict(WR, TAKE, CHECK, threads=(3, 4), times=(11, 12))
    both = [run(patterns=[new, order])] * 4
    assert told(answers(compare(both))[0]) == [(OTHER, 1), (USE, 2)]
    first, second = answers(compare(both, where=with_initial(OTHER)))
    assert told(first) == [(TAKE, 1), (CHECK, 2)]
    assert first.score > second.score
    # Who reads before the constructor has written sees what is not ready.
    early = conflict(RW, USE, OTHER, cell=Y, times=(5, 6))
    runs = [run(patterns=[early, order])] * 4
    assert told(answers(compare(runs, where=with_initial(OTHER)))[0]) == [(USE, 1), (OTHER, 2)]


def test_a_triple_comes_before_a_cycle_with_what_is_new():
    made = conflict(WR, OTHER, USE, cell=Y, times=(10, 13))
    back = conflict(WR, TAKE, CHECK, threads=(2, 1), times=(11, 14))
    some = [run(patterns=[made, back])] * 3 + [run(patterns=[conflict(RW, 5, 6)])]
    passing = [run(patterns=[made])] * 2 + [run(patterns=[back])] * 2
    (best, *_) = answers(compare(some, passing))
    assert {point for point, _ in told(best)} == {OTHER, USE, TAKE, CHECK}
    (weaker, *_) = answers(compare(some, passing, with_initial(OTHER)))
    assert weaker.score < best.score


def test_where_a_thread_never_ends_what_it_took_part_in_comes_first():
    common = conflict(RWR, CHECK, TAKE, USE)
    telling = conflict(RWR, CHECK, OTHER, USE, threads=(3, 2), cell=Y)
    left = replace(run(patterns=[common, telling]), unended={3: "0.3"})
    passing = [run()] * 4
    first, second = answers(compare([left] * 4, passing))
    assert [told(one)[1] for one in (first, second)] == [(OTHER, 2), (TAKE, 2)]
    assert first.score > second.score
    # Who is there at the end of passing runs as well serves until then.
    serving = [replace(one, unended={5: "0.3"}) for one in passing]
    first, second = answers(compare([left] * 4, serving))
    assert first.score == second.score


def test_a_statement_that_writes_in_two_rounds_says_less_than_two_statements():
    rounds = conflict(WRW, TAKE, CHECK, TAKE)
    whole = conflict(WRW, TAKE, CHECK, USE, cell=Y, times=(20, 21, 22))
    first, second = answers(compare([run(patterns=[rounds, whole])] * 4, [run()] * 4))
    assert told(first) == [(TAKE, 1), (CHECK, 2), (USE, 1)]
    assert (first.score, second.score) == (1.0, 0.85)
    # An iteration reads the same again and again.
    reads = conflict(RWR, TAKE, CHECK, TAKE)
    (only,) = answers(compare([run(patterns=[reads])] * 4, [run()] * 4))
    assert only.score == 1.0
