/* SPDX-License-Identifier: Apache-2.0
 *
 * The gate: one thread at a time, chosen by seed, rules and schedules. Programs note what they do
 * in `seen`, in plain memory: if two threads ran at once, ThreadSanitizer would say so.
 */
#include "runs.h"
#include "gate/gate.h"
#include "gate/state.h"
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#define MOST 64

static struct {
    uint32_t length;
    char order[MOST + 1]; /* a letter per access, by the thread that did it */
} *seen;

static void note(char who) {
    CHECK(seen->length < MOST);
    seen->order[seen->length++] = who;
}

/* Two threads, "0.1" with sites 1 to 4 and "0.2" with sites 11 to 14, on one cell. */
static void lower(void) {
    for (uint32_t site = 1; site <= 4; site++) {
        writes(site, 1);
        note('a');
    }
}

static void upper(void) {
    for (uint32_t site = 11; site <= 14; site++) {
        reads(site, 1);
        note('b');
    }
}

static struct uns_plan plan;
static struct uns_runtime *after; /* counters of the run, for its parent */
static struct uns_rule_record *results;

static void two_threads(void) {
    struct worker workers[2];
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    start(&workers[0], lower);
    start(&workers[1], upper);
    CHECK_EQUAL(join(&workers[0]), UNS_GO);
    CHECK_EQUAL(join(&workers[1]), UNS_GO);
    CHECK_EQUAL(uns_run_finish(), 0);
    memcpy(after->counters, uns_rt.counters, sizeof after->counters);
    uint32_t count;
    const struct uns_rule_record *found = uns_gate_rule_results(&count);
    memcpy(results, found, count * sizeof *found);
}

/* The order of the accesses of two_threads under the plan. */
static const char *order_of(void) {
    if (!seen) {
        seen = check_shared(sizeof *seen);
        after = check_shared(sizeof *after);
        results = check_shared(UNS_RULES_MOST * sizeof *results);
    }
    memset(seen, 0, sizeof *seen);
    CHECK_EQUAL(check_in_process(two_threads), 0);
    CHECK_EQUAL(seen->length, 8);
    return seen->order;
}

static const char *const strategies[] = {"walk", "pct", "pos", "rff", "surw", "serial"};

TEST(a_seed_decides_the_order) {
    for (unsigned which = 0; which < sizeof strategies / sizeof *strategies; which++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            char first[MOST + 1];
            plan = plan_of(UNS_PLAN_CONTROLLED, strategies[which], seed);
            strcpy(first, order_of());
            CHECK(!strcmp(first, order_of()));
        }
}

TEST(other_seeds_give_other_orders) {
    char orders[8][MOST + 1];
    int different = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        plan = plan_of(UNS_PLAN_CONTROLLED, "walk", seed);
        strcpy(orders[seed], order_of());
        for (uint64_t other = 0; other < seed; other++)
            different += strcmp(orders[seed], orders[other]) != 0;
    }
    CHECK(different >= 14); /* half of the pairs */
}

TEST(an_unknown_strategy_is_refused) {
    plan = plan_of(UNS_PLAN_CONTROLLED, "none such", 1);
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), -1);
}

/* Rules. */

static void use_rules(const struct uns_rule *rules, uint32_t length, uint64_t seed) {
    plan = plan_of(UNS_PLAN_CONTROLLED, "walk", seed);
    plan.rules = rules;
    plan.rules_length = length;
}

static const uint32_t first_write[] = {UNS_POINT(1, UNS_WRITE)};
static const uint32_t last_write[] = {UNS_POINT(4, UNS_WRITE)};
static const uint32_t first_read[] = {UNS_POINT(11, UNS_READ)};
static const uint32_t last_read[] = {UNS_POINT(14, UNS_READ)};
static const uint32_t nowhere[] = {UNS_POINT(50, UNS_READ)};

TEST(a_hold_lasts_until_its_event) {
    const struct uns_rule rule = {.hold = {.points = first_write, .length = 1},
                                  .until = {.points = last_read, .length = 1},
                                  .group = -1};
    for (uint64_t seed = 0; seed < 6; seed++) {
        use_rules(&rule, 1, seed);
        CHECK(!strcmp(order_of(), "bbbbaaaa"));
        CHECK_EQUAL(results[0].activated, 1);
        CHECK_EQUAL(results[0].satisfied, 1);
        CHECK_EQUAL(results[0].released, 0);
    }
}

TEST(a_hold_that_nothing_ends_is_released) {
    const struct uns_rule rule = {.hold = {.points = first_write, .length = 1},
                                  .until = {.points = nowhere, .length = 1},
                                  .group = -1};
    use_rules(&rule, 1, 1);
    CHECK(!strcmp(order_of(), "bbbbaaaa")); /* held for as long as anybody else could run */
    CHECK_EQUAL(results[0].released, 1);
    CHECK_EQUAL(results[0].satisfied, 0);
    CHECK(results[0].first_release > 0);
}

TEST(a_hold_gives_up_at_its_limit) {
    const struct uns_rule rule = {.hold = {.points = first_write, .length = 1},
                                  .until = {.points = nowhere, .length = 1},
                                  .limit = 1,
                                  .group = -1};
    use_rules(&rule, 1, 1);
    order_of();
    CHECK_EQUAL(results[0].released, 1);
    CHECK(results[0].held <= 2);
}

/* One thread's accesses are a region, which the other must not enter: its own is another of the
 * same group. */
TEST(exclusive_regions_do_not_overlap) {
    const struct uns_rule rules[] = {{.when = {.points = first_write, .length = 1},
                                      .until = {.points = last_write, .length = 1, .who = UNS_SELF},
                                      .group = 0},
                                     {.when = {.points = first_read, .length = 1},
                                      .until = {.points = last_read, .length = 1, .who = UNS_SELF},
                                      .group = 0}};
    for (uint64_t seed = 0; seed < 6; seed++) {
        use_rules(rules, 2, seed);
        const char *order = order_of();
        CHECK(!strcmp(order, "aaaabbbb") || !strcmp(order, "bbbbaaaa"));
        CHECK_EQUAL(results[0].satisfied + results[1].satisfied, 2);
    }
}

/* Schedules. A thread's beginning is its first event, so its n-th access is event n + 1. */

static void use_segments(const struct uns_path_segment *segments, uint32_t length) {
    plan = plan_of(UNS_PLAN_REPLAY, "replay", 0);
    plan.segments = segments;
    plan.segments_length = length;
}

TEST(a_schedule_is_followed) {
    const struct uns_path_segment segments[] = {
        {.path = "0", .until = 2},   {.path = "0.2", .until = 4}, {.path = "0.1", .until = 3},
        {.path = "0.2", .until = 5}, {.path = "0.1", .until = 6}, {.path = "0.2", .until = 6}};
    use_segments(segments, 6);
    CHECK(!strcmp(order_of(), "bbbaabaa"));
    CHECK_EQUAL(after->counters[UNS_COUNT_DIVERGED], 0);
}

/* A thread that is blocked outside is waited for as long as the schedule goes on with it. */
static void goes_on_for_three_events(void) {
    struct uns_thread *self;
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    self = uns_current();
    CHECK(uns_replay_goes_on(self));
    for (uint32_t site = 1; uns_events_of(self) < 3; site++)
        writes(site, 1);
    CHECK(!uns_replay_goes_on(self));
    uns_run_finish();
}

TEST(a_replay_knows_where_its_schedule_leaves_a_thread) {
    const struct uns_path_segment segments[] = {{.path = "0", .until = 3},
                                                {.path = "0.1", .until = 9}};
    use_segments(segments, 2);
    CHECK_EQUAL(check_in_process(goes_on_for_three_events), 0);
}

TEST(anchors_count_occurrences_instead_of_events) {
    const struct uns_path_segment segments[] = {
        {.path = "0",
         .points = (const uint32_t[]){UNS_POINT(JOIN_SITE, UNS_JOIN)},
         .length = 1,
         .occurrence = 1,
         .anchored = 1},
        {.path = "0.2", .points = last_read, .length = 1, .occurrence = 1, .anchored = 1},
        {.path = "0.1", .points = last_write, .length = 1, .occurrence = 1, .anchored = 1},
        {.path = "0.2", .anchored = 1},
        {.path = "0.1", .anchored = 1},
        {.path = "0", .anchored = 1}};
    use_segments(segments, 6);
    CHECK(!strcmp(order_of(), "bbbaaaba"));
    CHECK_EQUAL(after->counters[UNS_COUNT_DIVERGED], 0);
}

TEST(a_schedule_of_a_thread_that_never_comes_diverges) {
    const struct uns_path_segment segments[] = {{.path = "0", .until = 2},
                                                {.path = "0.9", .until = 4}};
    use_segments(segments, 2);
    order_of();
    CHECK(after->counters[UNS_COUNT_DIVERGED] > 0);
    CHECK_EQUAL(after->counters[UNS_COUNT_DIVERGED_SEGMENT], 2);
    CHECK(after->counters[UNS_COUNT_DIVERGED_AT] > 0);
}

/* Waiting. */

static struct uns_lock left, right;
static enum uns_grant *outcomes;

static void takes_left_then_right(void) {
    uns_lock_acquire(&left, 21, UNS_FOREVER, 0);
    uns_lock_acquire(&right, 22, UNS_FOREVER, 0);
    uns_lock_release(&right, 23);
    uns_lock_release(&left, 24);
}

static void found_deadlock(void);
static void takes(struct uns_lock *lock, uint32_t site) {
    if (uns_lock_acquire(lock, site, UNS_FOREVER, 0) == UNS_DEADLOCKED)
        found_deadlock();
}

static void left_first(void) {
    takes(&left, 21);
    writes(25, 1);
    takes(&right, 22);
}

static void right_first(void) {
    takes(&right, 31);
    writes(35, 1);
    takes(&left, 32);
}

static void found_deadlock(void) {
    struct uns_wait_record waits[8];
    uint32_t count = uns_gate_waits(waits, 8), circle = 0;
    CHECK_EQUAL(count, 3); /* the main thread joins */
    for (uint32_t i = 0; i < count; i++)
        if (waits[i].thread && waits[i].owner)
            circle += waits[i].owner == 3 - waits[i].thread;
    CHECK_EQUAL(circle, 2);
    _exit(UNS_EXIT_DEADLOCK);
}

/* Both have their first lock before either asks for its second. */
static void deadlock(void) {
    static const uint32_t second[] = {UNS_POINT(22, UNS_ACQUIRE)};
    static const uint32_t others_first[] = {UNS_POINT(31, UNS_ACQUIRE)};
    static const uint32_t other_second[] = {UNS_POINT(32, UNS_ACQUIRE)};
    static const uint32_t own_first[] = {UNS_POINT(21, UNS_ACQUIRE)};
    static const struct uns_rule rules[] = {{.hold = {.points = second, .length = 1},
                                             .until = {.points = others_first, .length = 1},
                                             .group = -1},
                                            {.hold = {.points = other_second, .length = 1},
                                             .until = {.points = own_first, .length = 1},
                                             .group = -1}};
    struct worker workers[2];
    plan.rules = rules;
    plan.rules_length = 2;
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    uns_lock_made(&left, 0);
    uns_lock_made(&right, 0);
    start(&workers[0], left_first);
    start(&workers[1], right_first);
    if (join(&workers[0]) == UNS_DEADLOCKED || join(&workers[1]) == UNS_DEADLOCKED)
        found_deadlock();
    exit(EXIT_FAILURE);
}

TEST(a_deadlock_is_found_and_described) {
    for (uint64_t seed = 0; seed < 4; seed++) {
        plan = plan_of(UNS_PLAN_CONTROLLED, "walk", seed);
        int status = check_in_process(deadlock);
        CHECK(WIFEXITED(status));
        CHECK_EQUAL(WEXITSTATUS(status), UNS_EXIT_DEADLOCK);
    }
}

static void takes_left(void) {
    uns_lock_acquire(&left, 21, UNS_FOREVER, 0);
    uns_lock_release(&left, 22);
}

/* The schedule wants a thread to go on that waits for a lock of the main thread's. */
TEST(a_schedule_of_a_thread_that_cannot_run_diverges) {
    const struct uns_path_segment segments[] = {{.path = "0", .until = 2},
                                                {.path = "0.1", .until = 4}};
    struct worker worker;
    use_segments(segments, 2);
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    uns_lock_made(&left, 0);
    CHECK_EQUAL(uns_lock_acquire(&left, 1, UNS_FOREVER, UNS_STAYS), UNS_GO);
    start(&worker, takes_left);
    for (uint32_t site = 2; site < 6; site++)
        writes(site, 1);
    CHECK_EQUAL(uns_rt.counters[UNS_COUNT_DIVERGED_SEGMENT], 2);
    uns_lock_release(&left, 6);
    CHECK_EQUAL(join(&worker), UNS_GO);
    uns_run_finish();
}

TEST(locks_of_one_order_do_not_deadlock) {
    plan = plan_of(UNS_PLAN_CONTROLLED, "walk", 3);
    struct worker workers[2];
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    uns_lock_made(&left, 0);
    uns_lock_made(&right, 0);
    start(&workers[0], takes_left_then_right);
    start(&workers[1], takes_left_then_right);
    CHECK_EQUAL(join(&workers[0]), UNS_GO);
    CHECK_EQUAL(join(&workers[1]), UNS_GO);
    uns_run_finish();
}

TEST(a_sleep_takes_no_time_and_the_clock_says_it_did) {
    plan = plan_of(UNS_PLAN_CONTROLLED, "walk", 1);
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    int64_t real = uns_real_ns(), virtual = uns_clock_ns();
    CHECK_EQUAL(uns_sleep(1, 3600 * 1000000000ll, 0), UNS_GO);
    CHECK(uns_real_ns() - real < 10 * 1000000000ll);
    CHECK(uns_clock_ns() - virtual >= 3600 * 1000000000ll);
    uns_run_finish();
}

static uint32_t looks_at_children;

static int two_looks_long(void) {
    return ++looks_at_children <= 2;
}

/* What a child does takes real time. Nothing ends the sleep but the end of the last child, or of
 * the run's patience with them: had it passed at once, nobody would have looked. */
TEST(no_sleep_passes_at_once_while_children_run) {
    plan = plan_of(UNS_PLAN_CONTROLLED, "walk", 1);
    const struct uns_hooks hooks = {.children = two_looks_long};
    looks_at_children = 0;
    CHECK_EQUAL(uns_run_begin(&plan, &hooks), 0);
    CHECK_EQUAL(uns_sleep(1, 3600 * 1000000000ll, 0), UNS_GO);
    CHECK(looks_at_children > 2);
    uns_run_finish();
}

TEST(a_timed_wait_for_a_lock_times_out) {
    plan = plan_of(UNS_PLAN_CONTROLLED, "walk", 1);
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    uns_lock_made(&left, 0);
    CHECK_EQUAL(uns_lock_acquire(&left, 1, UNS_FOREVER, 0), UNS_GO);
    CHECK_EQUAL(uns_lock_acquire(&left, 2, 1000000000ll, 0), UNS_TIMED_OUT);
    CHECK_EQUAL(uns_lock_acquire(&left, 2, 0, 0), UNS_TIMED_OUT);
    uns_run_finish();
}

/* One thread blocks where the gate cannot see; what it waits for is done by another. */
static int ends[2];

static void blocks(void) {
    char byte;
    CHECK_EQUAL(read(ends[0], &byte, 1), 1);
    writes(1, 1);
}

static void unblocks(void) {
    writes(2, 1);
    CHECK_EQUAL(write(ends[1], "x", 1), 1);
}

TEST(the_watch_takes_the_token_from_a_thread_that_blocks) {
    CHECK_EQUAL(pipe(ends), 0);
    const struct uns_path_segment blocked_first[] = {{.path = "0", .until = 2},
                                                     {.path = "0.1", .until = 2}};
    struct worker workers[2];
    use_segments(blocked_first, 2);
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    start(&workers[0], blocks);
    start(&workers[1], unblocks);
    CHECK_EQUAL(join(&workers[0]), UNS_GO);
    CHECK_EQUAL(join(&workers[1]), UNS_GO);
    CHECK_EQUAL(uns_rt.counters[UNS_COUNT_STALLS], 1);
    uns_run_finish();
}

static void overstays(void) {
    plan = plan_of(UNS_PLAN_CONTROLLED, "walk", 1);
    plan.time_limit = 0.05;
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    for (;;)
        pause();
}

TEST(the_time_limit_ends_a_run) {
    int status = check_in_process(overstays);
    CHECK(WIFEXITED(status));
    CHECK_EQUAL(WEXITSTATUS(status), UNS_EXIT_TIMEOUT);
}

/* Occurrences. */

TEST(sites_of_one_operation_are_counted_together) {
    static uint32_t first_sites[SITES];
    for (uint32_t site = 0; site < SITES; site++)
        first_sites[site] = site == 9 ? 8 : site;
    plan = plan_of(UNS_PLAN_CONTROLLED, "walk", 1);
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    uns_use_first_sites(first_sites, SITES);
    CHECK_EQUAL(uns_first_point(UNS_POINT(9, UNS_WRITE)), UNS_POINT(8, UNS_WRITE));
    writes(8, 1);
    writes(9, 1);
    reads(9, 1);
    CHECK_EQUAL(uns_occurrence(uns_self, UNS_POINT(8, UNS_WRITE)), 2);
    CHECK_EQUAL(uns_occurrence(uns_self, UNS_POINT(9, UNS_READ)), 1);
    CHECK_EQUAL(uns_occurrence(uns_self, UNS_POINT(9, UNS_CALL)), 0);
    uns_run_finish();
}

/* A thread that is called back from a wait. */

static struct uns_thread *sleeper;

static void sleeps(void) {
    sleeper = uns_self;
    *outcomes = uns_lock_acquire(&left, 1, UNS_FOREVER, 0);
}

static void calls(void) {
    while (!sleeper)
        writes(2, 1);
    uns_gate_call(sleeper);
}

TEST(a_waiting_thread_can_be_called_back) {
    static enum uns_grant outcome = UNS_GO;
    struct worker workers[2];
    outcomes = &outcome;
    plan = plan_of(UNS_PLAN_CONTROLLED, "walk", 1);
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    uns_lock_made(&left, 0);
    CHECK_EQUAL(uns_lock_acquire(&left, 3, UNS_FOREVER, 0), UNS_GO);
    start(&workers[0], sleeps);
    start(&workers[1], calls);
    CHECK_EQUAL(join(&workers[0]), UNS_GO);
    CHECK_EQUAL(join(&workers[1]), UNS_GO);
    CHECK_EQUAL(outcome, UNS_INTERRUPTED);
    uns_run_finish();
}

CHECK_MAIN
