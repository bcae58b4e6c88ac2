/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated hardware, by hand. Random traces are compared with a twin in Python
 * (tests/conformance/test_hardware.py).
 */
#include "check.h"
#include "hardware/hardware.h"

#define X 0x7f0000001000ull
#define Y (X + 64)

static const struct uns_hardware_options paper = {16, 64, 8, 64, 1 << 14, 1 << 14, 0};
static struct uns_hardware *machine;
static uint64_t now;

static void begin(const struct uns_hardware_options *options) {
    machine = uns_hardware_new(options);
    CHECK(machine != NULL);
}

static void happens(uint16_t thread, uint32_t point, uint64_t address, enum uns_event_kind kind) {
    const struct uns_event_record event = {++now,  address,       address, point,
                                           thread, (uint8_t)kind, 0};
    uns_hardware_feed(machine, &event);
}

static const struct uns_edge_record *edge(uint32_t source, uint32_t sink) {
    const struct uns_table *edges = uns_hardware_edges(machine);
    const struct uns_edge_record *rows = (const void *)edges->rows;
    for (uint32_t i = 0; i < edges->used; i++)
        if (rows[i].source_point == source && rows[i].sink_point == sink)
            return &rows[i];
    return NULL;
}

TEST(a_read_reply_carries_the_writer) {
    begin(&paper);
    happens(0, 10, X, UNS_EVENT_WRITE);
    happens(1, 20, X + 8, UNS_EVENT_READ);
    CHECK_EQUAL(uns_hardware_state(machine, 0, X), UNS_SHARED);
    CHECK_EQUAL(uns_hardware_state(machine, 1, X), UNS_SHARED);
    CHECK_EQUAL(uns_hardware_edges(machine)->used, 0); /* not read yet */
    uns_hardware_end(machine);
    CHECK(edge(10, 20) != NULL);
    CHECK_EQUAL(edge(10, 20)->source_thread, 0);
    CHECK_EQUAL(edge(10, 20)->sink_thread, 1);
    CHECK_EQUAL(edge(10, 20)->source_time, 1);
    uns_hardware_free(machine);
}

TEST(an_upgrade_takes_the_line_from_everybody) {
    begin(&paper);
    happens(0, 10, X, UNS_EVENT_WRITE);
    happens(1, 20, X, UNS_EVENT_READ);
    happens(2, 21, X, UNS_EVENT_READ);
    happens(1, 30, X, UNS_EVENT_FORCED);
    uns_hardware_end(machine);
    CHECK_EQUAL(uns_hardware_state(machine, 0, X), UNS_INVALID);
    CHECK_EQUAL(uns_hardware_state(machine, 1, X), UNS_MODIFIED);
    CHECK_EQUAL(uns_hardware_state(machine, 2, X), UNS_INVALID);
    CHECK_EQUAL(uns_hardware_counts(machine)->upgrades, 1);
    CHECK_EQUAL(edge(10, 30)->count, 2); /* one reply each */
    uns_hardware_free(machine);
}

TEST(contexts_are_ten_bits_of_the_latest_five_events) {
    begin(&paper);
    for (uint32_t round = 0; round < 4; round++) {
        happens(0, 10, X, UNS_EVENT_WRITE);
        happens(1, 20, X, UNS_EVENT_READ);
    }
    /* core 0: a remote read, then a write and a remote read each */
    CHECK_EQUAL(uns_hardware_context(machine, 0), 2 | 1 << 2 | 2 << 4 | 1 << 6 | 2 << 8);
    CHECK(uns_hardware_context(machine, 1) < 1u << UNS_HARDWARE_CONTEXT);
    uns_hardware_free(machine);
}

TEST(a_small_cache_forgets_and_says_so) {
    const struct uns_hardware_options tiny = {2, 1, 1, 64, 4, 0, 0};
    begin(&tiny);
    happens(0, 10, X, UNS_EVENT_WRITE);
    happens(0, 11, Y, UNS_EVENT_NEW);
    happens(1, 20, X, UNS_EVENT_READ);
    uns_hardware_end(machine);
    CHECK(edge(10, 20) == NULL);
    CHECK(edge(0, 20) != NULL);
    CHECK_EQUAL(uns_hardware_counts(machine)->evictions, 1);
    CHECK_EQUAL(uns_hardware_counts(machine)->write_backs, 1);
    uns_hardware_free(machine);
}

TEST(what_comes_during_a_trap_is_discarded_and_counted) {
    const struct uns_hardware_options small = {2, 64, 8, 64, 2, 3, 0};
    begin(&small);
    for (uint32_t line = 0; line < 8; line++)
        happens(0, 10 + line, X + 64 * line, UNS_EVENT_READ);
    uns_hardware_end(machine);
    const struct uns_hardware_counts *counts = uns_hardware_counts(machine);
    CHECK_EQUAL(counts->traps, 2);
    CHECK_EQUAL(counts->table_writes, 8);
    CHECK_EQUAL(counts->discarded, 4);
    CHECK_EQUAL(uns_hardware_edges(machine)->used, 4);
    uns_hardware_free(machine);
}

TEST(locks_can_leave_contexts_alone) {
    for (int quiet = 0; quiet < 2; quiet++) {
        struct uns_hardware_options options = paper;
        options.quiet_locks = quiet;
        begin(&options);
        happens(0, 10, X, UNS_EVENT_FORCED);
        happens(1, 20, X, UNS_EVENT_FORCED);
        CHECK_EQUAL(uns_hardware_context(machine, 0), quiet ? 0 : 3);
        CHECK_EQUAL(uns_hardware_context(machine, 1), quiet ? 0 : 1);
        uns_hardware_end(machine);
        CHECK(edge(10, 20) != NULL);
        uns_hardware_free(machine);
    }
}

TEST(impossible_machines_are_refused) {
    struct uns_hardware_options options = paper;
    options.sets = 48;
    CHECK(uns_hardware_new(&options) == NULL);
    options = paper;
    options.cores = UNS_CORES_MOST + 1;
    CHECK(uns_hardware_new(&options) == NULL);
}

CHECK_MAIN
