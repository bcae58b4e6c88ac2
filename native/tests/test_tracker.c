/* SPDX-License-Identifier: Apache-2.0
 *
 * The tracker on traces that are small enough to work out by hand. Threads have the index of their
 * name (zero is index 0), time is the number of the event, from 1 on.
 */
#include "check.h"
#include "tracker/shadow.h"
#include "tracker/tracker.h"
#include <pthread.h>

#define A UNS_POINT(10, UNS_WRITE)
#define B UNS_POINT(20, UNS_READ)
#define C UNS_POINT(30, UNS_WRITE)
#define D UNS_POINT(40, UNS_READ)

static struct uns_tracker tracker;
static struct uns_tracked zero, one;
static uint64_t clock_now;

static uint64_t now(void) {
    return clock_now;
}

static const struct uns_tracker_options papers = {
    .context_size = 5, .first_read = 1, .racy_lookup = 1, .first_write = UNS_FIRST_WRITE_SHARED};

static void begin(const struct uns_tracker_options *options) {
    CHECK_EQUAL(uns_tracker_init(&tracker, options, now), 0);
    uns_tracked_init(&tracker, &zero, 1, 0);
    uns_tracked_init(&tracker, &one, 2, 1);
}

static uint64_t cell_of(uint64_t number) {
    return uns_cell_key(number << 32, number);
}

static void reads(struct uns_tracked *t, uint32_t point, uint64_t cell) {
    clock_now++;
    uns_read(&tracker, t, point, cell_of(cell));
}

static void writes(struct uns_tracked *t, uint32_t point, uint64_t cell) {
    clock_now++;
    uns_write(&tracker, t, point, cell_of(cell));
}

static const struct uns_edge_record *edge(const struct uns_tracked *t, uint32_t number) {
    CHECK(number < t->edges.used);
    return (const struct uns_edge_record *)t->edges.rows + number;
}

static const struct uns_pattern_record *pattern(const struct uns_tracked *t, uint32_t kind) {
    const struct uns_pattern_record *rows = (const struct uns_pattern_record *)t->patterns.rows;
    for (uint32_t i = 0; i < t->patterns.used; i++)
        if (rows[i].kind == kind)
            return &rows[i];
    return NULL;
}

TEST(a_read_of_another_threads_write_is_an_edge) {
    begin(&papers);
    writes(&zero, A, 1);
    reads(&one, B, 1);
    CHECK_EQUAL(one.edges.used, 1);
    CHECK_EQUAL(zero.edges.used, 0);
    const struct uns_edge_record *found = edge(&one, 0);
    CHECK_EQUAL(found->source_point, A);
    CHECK_EQUAL(found->sink_point, B);
    CHECK_EQUAL(found->source_thread, 0);
    CHECK_EQUAL(found->sink_thread, 1);
    CHECK_EQUAL(found->source_time, 1);
    CHECK_EQUAL(found->sink_time, 2);
    CHECK_EQUAL(found->cell, cell_of(1));
    CHECK_EQUAL(found->count, 1);
}

TEST(what_a_thread_does_alone_is_no_edge) {
    begin(&papers);
    writes(&zero, A, 1);
    reads(&zero, B, 1);
    writes(&one, A, 2);
    reads(&one, B, 2);
    CHECK_EQUAL(zero.edges.used + one.edges.used, 0);
    CHECK_EQUAL(zero.context | one.context, 0);
}

/* Contexts: three bits per event, the newest lowest. LC_RD 1, LC_WR 2, RM_RD 3, RM_WR 4. */
TEST(contexts_remember_what_both_threads_saw) {
    begin(&papers);
    writes(&zero, A, 1); /* nobody had it: no event */
    reads(&one, B, 1);   /* one LC_RD, zero RM_RD */
    CHECK_EQUAL(zero.context, 3);
    CHECK_EQUAL(one.context, 1);
    writes(&zero, C, 1); /* zero LC_WR, one, who had read, RM_WR */
    CHECK_EQUAL(zero.context, 3 << 3 | 2);
    CHECK_EQUAL(one.context, 1 << 3 | 4);
    reads(&one, B, 1); /* an edge from C, with the contexts before either heard of it */
    CHECK_EQUAL(one.edges.used, 2);
    CHECK_EQUAL(edge(&one, 1)->source_point, C);
    CHECK_EQUAL(edge(&one, 1)->source_context, 3);
    CHECK_EQUAL(edge(&one, 1)->sink_context, 1 << 3 | 4);
    CHECK_EQUAL(zero.context, (3 << 3 | 2) << 3 | 3);
    CHECK_EQUAL(one.context, (1 << 3 | 4) << 3 | 1);
}

TEST(contexts_have_no_more_events_than_asked_for) {
    struct uns_tracker_options two = papers;
    two.context_size = 2;
    begin(&two);
    for (uint64_t cell = 0; cell < 3; cell++) {
        writes(&zero, A, cell);
        reads(&one, B, cell);
    }
    CHECK_EQUAL(zero.context, 3 << 3 | 3);
}

TEST(the_first_read_alone_makes_an_edge_unless_all_are_wanted) {
    begin(&papers);
    writes(&zero, A, 1);
    for (int i = 0; i < 3; i++)
        reads(&one, B, 1);
    CHECK_EQUAL(one.edges.used, 1);
    CHECK_EQUAL(edge(&one, 0)->count, 1);

    struct uns_tracker_options every = papers;
    every.first_read = 0;
    every.context_size = 0; /* else each read is in a context of its own */
    begin(&every);
    writes(&zero, A, 1);
    for (int i = 0; i < 3; i++)
        reads(&one, B, 1);
    CHECK_EQUAL(edge(&one, 0)->count, 3);
}

/* "paper" skips every write of the last writer, also one that follows another thread's read. */
TEST(the_papers_first_write_rule_loses_what_the_shared_one_keeps) {
    for (int paper = 0; paper < 2; paper++) {
        struct uns_tracker_options options = papers;
        options.first_write = paper ? UNS_FIRST_WRITE_PAPER : UNS_FIRST_WRITE_SHARED;
        begin(&options);
        writes(&zero, A, 1);
        reads(&one, B, 1);
        writes(&zero, C, 1);
        reads(&one, D, 1);
        CHECK_EQUAL(one.edges.used, paper ? 1 : 2);
    }
}

TEST(anti_edges_lead_from_a_read_to_the_write_that_ends_it) {
    struct uns_tracker_options anti = papers;
    anti.anti_edges = 1;
    begin(&anti);
    reads(&zero, B, 1);
    writes(&one, A, 1);
    CHECK_EQUAL(one.edges.used, 1);
    CHECK_EQUAL(edge(&one, 0)->source_point, B);
    CHECK_EQUAL(edge(&one, 0)->sink_point, A);
    begin(&papers);
    reads(&zero, B, 1);
    writes(&one, A, 1);
    CHECK_EQUAL(one.edges.used, 0);
}

TEST(an_object_made_anew_has_no_past) {
    begin(&papers);
    writes(&zero, A, 1);
    uns_forget(&tracker, &one, cell_of(1));
    reads(&one, B, 1);
    CHECK_EQUAL(one.edges.used, 0);
    writes(&zero, A, 2);
    uns_write_new(&tracker, &one, C, cell_of(2));
    CHECK_EQUAL(one.edges.used, 0);
    reads(&zero, D, 2);
    CHECK_EQUAL(edge(&zero, 0)->source_point, C);
}

TEST(lock_operations_make_edges_and_leave_contexts_alone) {
    begin(&papers);
    uns_write_forced(&tracker, &zero, UNS_POINT(1, UNS_RELEASE), cell_of(1));
    uns_write_forced(&tracker, &one, UNS_POINT(2, UNS_ACQUIRE), cell_of(1));
    CHECK_EQUAL(one.edges.used, 1);
    CHECK_EQUAL(zero.context | one.context, 0);
    uns_wait_forever(&tracker, &zero, UNS_POINT(3, UNS_WAIT), cell_of(1));
    CHECK_EQUAL(edge(&zero, 0)->source_point, UNS_POINT(2, UNS_ACQUIRE));
    CHECK_EQUAL(UNS_POINT_OP(edge(&zero, 0)->sink_point), UNS_WAIT);
}

static uint64_t crowded(uint64_t number) {
    return uns_cell_key(number << 32, 7);
}

TEST(cells_of_one_home_do_not_drive_each_other_out) {
    enum { MANY = 1000 };
    begin(&papers);
    for (uint64_t i = 1; i <= MANY; i++)
        uns_write(&tracker, &zero, A, crowded(i));
    for (uint64_t i = 1; i <= MANY; i++)
        uns_read(&tracker, &one, B, crowded(i));
    CHECK_EQUAL(tracker.evicted, 0);
    uint64_t edges = 0;
    for (uint32_t i = 0; i < one.edges.used; i++)
        edges += edge(&one, i)->count;
    CHECK_EQUAL(edges, MANY);
}

TEST(a_cell_far_from_its_home_can_be_made_anew) {
    begin(&papers);
    for (uint64_t i = 1; i <= 2 * UNS_CELL_WAYS; i++)
        uns_write(&tracker, &zero, A, crowded(i));
    uns_forget(&tracker, &one, crowded(2 * UNS_CELL_WAYS));
    uns_read(&tracker, &one, B, crowded(2 * UNS_CELL_WAYS));
    CHECK_EQUAL(one.edges.used, 0);
    uns_read(&tracker, &one, B, crowded(2 * UNS_CELL_WAYS - 1));
    CHECK_EQUAL(one.edges.used, 1);
}

TEST(a_full_table_gives_up_cells_and_counts_them) {
    begin(&papers);
    uint64_t room = UNS_CELL_WAYS + UNS_FAR_CELLS;
    for (uint64_t i = 1; i <= room; i++)
        uns_write(&tracker, &zero, A, crowded(i));
    CHECK_EQUAL(tracker.evicted, 0);
    uns_write(&tracker, &zero, A, crowded(room + 1));
    CHECK_EQUAL(tracker.evicted, 1);
    uns_read(&tracker, &one, B, crowded(room + 1));
    CHECK_EQUAL(one.edges.used, 1);
    uns_read(&tracker, &one, C, crowded(room));
    CHECK_EQUAL(one.edges.used, 2);
    uns_read(&tracker, &one, D, crowded(1));
    CHECK_EQUAL(one.edges.used, 2); /* the one that had to go */
}

static const struct uns_tracker_options windows = {.context_size = 5,
                                                   .first_read = 1,
                                                   .racy_lookup = 1,
                                                   .first_write = UNS_FIRST_WRITE_SHARED,
                                                   .window_size = 3};

TEST(a_write_between_two_reads_is_an_unserialisable_triple) {
    begin(&windows);
    reads(&zero, B, 1);
    writes(&one, A, 1);
    reads(&zero, D, 1);
    uns_windows_end(&tracker, &zero);
    const struct uns_pattern_record *found = pattern(&zero, UNS_PATTERN_RWR);
    CHECK(found != NULL);
    CHECK_EQUAL(found->first_point, B);
    CHECK_EQUAL(found->other_point, A);
    CHECK_EQUAL(found->last_point, D);
    CHECK_EQUAL(found->first_thread, 0);
    CHECK_EQUAL(found->other_thread, 1);
    CHECK_EQUAL(found->first_time, 1);
    CHECK_EQUAL(found->other_time, 2);
    CHECK_EQUAL(found->last_time, 3);
    CHECK_EQUAL(found->span, 3);
}

TEST(a_read_between_two_reads_is_none) {
    begin(&windows);
    reads(&zero, B, 1);
    reads(&one, D, 1);
    reads(&zero, B, 1);
    uns_windows_end(&tracker, &zero);
    CHECK_EQUAL(zero.patterns.used + one.patterns.used, 0);
}

TEST(two_accesses_alone_are_a_pair) {
    begin(&windows);
    writes(&zero, A, 1);
    reads(&one, B, 1);
    uns_windows_end(&tracker, &one);
    CHECK_EQUAL(zero.patterns.used + one.patterns.used, 1);
    const struct uns_pattern_record *found = pattern(&one, UNS_PATTERN_WR);
    CHECK(found && found->first_point == A && found->other_point == B && !found->last_point);
}

/* Falcon 3.1: a thread's accesses in a row are one slot, and a read does not replace a write. */
TEST(a_streak_of_accesses_is_one_slot) {
    begin(&windows);
    writes(&zero, A, 1);
    reads(&zero, B, 1);
    writes(&one, C, 1);
    uns_windows_end(&tracker, &one);
    CHECK_EQUAL(one.patterns.used, 1);
    const struct uns_pattern_record *found = pattern(&one, UNS_PATTERN_WW);
    CHECK(found && found->first_point == A && found->other_point == C);
}

TEST(tables_keep_the_latest_times_and_add_counts) {
    struct uns_table table = {.row_size = sizeof(struct uns_edge_record), .key_size = UNS_KEY};
    struct uns_edge_record row = {
        .source_point = A, .sink_point = B, .source_time = 5, .sink_time = 6, .count = 1};
    CHECK_EQUAL(uns_table_add(&table, &row), 0);
    row.source_time = 1;
    row.sink_time = 2;
    CHECK_EQUAL(uns_table_add(&table, &row), 0);
    CHECK_EQUAL(table.used, 1);
    const struct uns_edge_record *kept = (const struct uns_edge_record *)table.rows;
    CHECK_EQUAL(kept->count, 2);
    CHECK_EQUAL(kept->sink_time, 6);
    struct uns_table merged = {0};
    uns_table_merge(&merged, &table);
    uns_table_merge(&merged, &table);
    CHECK_EQUAL(merged.used, 1);
    CHECK_EQUAL(((const struct uns_edge_record *)merged.rows)->count, 4);
    uns_table_free(&merged);
    uns_table_free(&table);
}

TEST(tables_grow_and_find_every_row) {
    struct uns_table table = {.row_size = sizeof(struct uns_edge_record), .key_size = UNS_KEY};
    struct uns_edge_record row = {.count = 1};
    for (uint32_t round = 0; round < 2; round++)
        for (row.source_point = 0; row.source_point < 5000; row.source_point++)
            CHECK_EQUAL(uns_table_add(&table, &row), row.source_point);
    CHECK_EQUAL(table.used, 5000);
    CHECK_EQUAL(table.dropped, 0);
    uns_table_free(&table);
}

/* The same trace in shadow memory, as free runs of C programs have it. */
TEST(shadow_memory_makes_the_same_edges) {
    static struct uns_shadow shadow;
    static uint64_t word;
    uintptr_t at = (uintptr_t)&word;
    begin(&papers);
    CHECK_EQUAL(uns_shadow_init(&shadow), 0);
    uns_shadow_write(&tracker, &shadow, &zero, A, at);
    uns_view_shadow(&tracker, &shadow, &one);
    CHECK(!uns_sees_read(at));
    uns_shadow_read(&tracker, &shadow, &one, B, at);
    CHECK(uns_sees_read(at));
    CHECK_EQUAL(one.edges.used, 1);
    CHECK_EQUAL(edge(&one, 0)->source_point, A);
    CHECK_EQUAL(zero.context, 3);
    uns_shadow_forget(&shadow, at, sizeof word);
    uns_shadow_read(&tracker, &shadow, &one, D, at);
    CHECK_EQUAL(one.edges.used, 1);
    uns_view_nothing();
    uns_shadow_free(&shadow);
}

/* Without racy look-up every access takes the cell's lock: two threads on one cell lose nothing. */
#define TURNS 20000

static pthread_barrier_t both;

static void *hammer(void *argument) {
    struct uns_tracked *t = argument;
    pthread_barrier_wait(&both);
    for (int i = 0; i < TURNS; i++)
        if (i & 1)
            uns_read_slow(&tracker, t, B, cell_of(1));
        else
            uns_write_slow(&tracker, t, A, cell_of(1));
    return NULL;
}

TEST(two_threads_on_one_cell) {
    struct uns_tracker_options locked = papers;
    locked.racy_lookup = 0;
    begin(&locked);
    pthread_t other;
    pthread_barrier_init(&both, NULL, 2);
    CHECK_EQUAL(pthread_create(&other, NULL, hammer, &one), 0);
    hammer(&zero);
    pthread_join(other, NULL);
    CHECK_EQUAL(zero.edges.dropped + one.edges.dropped, 0);
    CHECK(zero.edges.used + one.edges.used > 0); /* one of them came second at least once */
}

CHECK_MAIN
