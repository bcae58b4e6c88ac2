/* SPDX-License-Identifier: Apache-2.0
 *
 * Time limits and sleeps under the gate: whose time comes when, with rules and without.
 */
#include "runs.h"
#include "gate/gate.h"

#define SECOND      1000000000ll
#define MILLISECOND 1000000ll
#define SEEDS       24

static struct uns_plan plan;
static struct uns_lock gone; /* the main thread has it: nobody else gets it before it ends */
static struct {
    enum uns_grant joined;
    struct uns_rule_record rule;
    uint64_t worked, timed_out;
    int64_t passed;
} *seen;

#define STEPS 64
/* "0.1" works at sites 1 to 8, for some rounds. */
static void works(void) {
    for (uint32_t step = 0; step < STEPS; step++) {
        writes(1 + step % 8, 1);
        seen->worked++;
    }
}

static enum uns_grant wait_for(struct worker *worker, int64_t limit) {
    enum uns_grant outcome = uns_lock_acquire(&worker->done, JOIN_SITE, limit, 0);
    if (outcome == UNS_GO)
        uns_lock_release(&worker->done, JOIN_SITE);
    return outcome;
}

static void note_rule(void) {
    uint32_t count;
    const struct uns_rule_record *found = uns_gate_rule_results(&count);
    if (count)
        seen->rule = *found;
}

static const uint32_t works_first[] = {UNS_POINT(1, UNS_WRITE)};
static const uint32_t nowhere[] = {UNS_POINT(50, UNS_READ)};
static const uint32_t wakes[] = {UNS_POINT(40, UNS_WRITE)};
static const struct uns_rule never_ends = {.hold = {.points = works_first, .length = 1},
                                           .until = {.points = nowhere, .length = 1, .path = "0.9"},
                                           .group = -1};

static void under(const struct uns_rule *rule, uint64_t seed, void (*program)(void)) {
    seen = seen ? seen : check_shared(sizeof *seen);
    memset(seen, 0, sizeof *seen);
    plan = plan_of(UNS_PLAN_CONTROLLED, seed % 2 ? "pct" : "walk", seed);
    plan.rules = rule;
    plan.rules_length = rule != NULL;
    CHECK_EQUAL(check_in_process(program), 0);
}

static void joins_for_30_s(void) {
    struct worker worker;
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    start(&worker, works);
    int64_t begun = uns_clock_ns();
    seen->joined = wait_for(&worker, 30 * SECOND);
    seen->passed = uns_clock_ns() - begun;
    note_rule();
    CHECK_EQUAL(join(&worker), UNS_GO);
    uns_run_finish();
}

TEST(a_long_limit_does_not_run_out_while_others_can_run) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        under(NULL, seed, joins_for_30_s);
        CHECK_EQUAL(seen->joined, UNS_GO);
        CHECK_EQUAL(seen->worked, STEPS);
    }
}

TEST(a_hold_is_given_up_before_a_limit_runs_out) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        under(&never_ends, seed, joins_for_30_s);
        CHECK_EQUAL(seen->joined, UNS_GO);
        CHECK_EQUAL(seen->rule.released, 1);
        CHECK(seen->passed < 20 * SECOND);
    }
}

/* The main thread polls, with a limit of its own. */
static void polls_for_1_s(void) {
    struct worker worker;
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    int64_t begun = uns_clock_ns();
    start(&worker, works);
    while (seen->worked < STEPS && uns_clock_ns() - begun < SECOND)
        CHECK_EQUAL(uns_sleep(9, 50 * MILLISECOND, 0), UNS_GO);
    seen->passed = uns_clock_ns() - begun;
    note_rule();
    CHECK_EQUAL(join(&worker), UNS_GO);
    uns_run_finish();
}

TEST(polling_does_not_reach_its_limit_while_others_work) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        under(NULL, seed, polls_for_1_s);
        CHECK(seen->passed < SECOND);
    }
}

TEST(a_hold_is_given_up_before_polling_reaches_its_limit) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        under(&never_ends, seed, polls_for_1_s);
        CHECK(seen->passed < SECOND);
        CHECK_EQUAL(seen->rule.released, 1);
    }
}

/* ... but who is waited for may sleep as long as it likes: a region is a lock. */
static void sleeps_then_wakes(void) {
    uns_sleep(39, 3 * SECOND, 0);
    writes(40, 1);
}

static void one_sleeps(void) {
    struct worker workers[2];
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    start(&workers[0], works);
    start(&workers[1], sleeps_then_wakes);
    seen->joined = wait_for(&workers[0], 30 * SECOND);
    CHECK_EQUAL(wait_for(&workers[1], 30 * SECOND), UNS_GO);
    note_rule();
    CHECK_EQUAL(join(&workers[0]), UNS_GO);
    CHECK_EQUAL(join(&workers[1]), UNS_GO);
    uns_run_finish();
}

TEST(the_sleep_of_whom_a_hold_waits_for_passes) {
    const struct uns_rule rule = {.hold = {.points = works_first, .length = 1},
                                  .until = {.points = wakes, .length = 1, .path = "0.2"},
                                  .group = -1};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        under(&rule, seed, one_sleeps);
        CHECK_EQUAL(seen->joined, UNS_GO);
        CHECK_EQUAL(seen->rule.released, 0);
        CHECK_EQUAL(seen->rule.satisfied, 1);
    }
}

/* Nobody could run even without rules. */
static void waits_for_ever(void) {
    uns_lock_acquire(&gone, 41, 60 * SECOND, 0);
}

static void joins_who_waits(void) {
    struct worker worker;
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    uns_lock_made(&gone, 0);
    CHECK_EQUAL(uns_lock_acquire(&gone, 42, UNS_FOREVER, UNS_STAYS), UNS_GO);
    start(&worker, waits_for_ever);
    seen->joined = wait_for(&worker, 30 * SECOND);
    note_rule();
    uns_lock_release(&gone, 43);
    CHECK_EQUAL(join(&worker), UNS_GO);
    uns_run_finish();
}

TEST(a_limit_runs_out_where_nobody_can_run) {
    for (uint64_t seed = 0; seed < 4; seed++) {
        under(NULL, seed, joins_who_waits);
        CHECK_EQUAL(seen->joined, UNS_TIMED_OUT);
    }
}

/* The held thread could go on after 60 s, the join ends after 30: the program sees that. */
TEST(a_limit_runs_out_before_the_later_one_of_a_held_thread) {
    static const uint32_t waits[] = {UNS_POINT(41, UNS_ACQUIRE)};
    const struct uns_rule rule = {.hold = {.points = waits, .length = 1},
                                  .until = {.points = nowhere, .length = 1, .path = "0.9"},
                                  .group = -1};
    for (uint64_t seed = 0; seed < 4; seed++) {
        under(&rule, seed, joins_who_waits);
        CHECK_EQUAL(seen->joined, UNS_TIMED_OUT);
        CHECK_EQUAL(seen->rule.released, 0);
    }
}

static void joins_for_1_ms(void) {
    struct worker worker;
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    start(&worker, works);
    while ((seen->joined = wait_for(&worker, MILLISECOND)) == UNS_TIMED_OUT)
        seen->timed_out += seen->worked > 0 && seen->worked < STEPS;
    CHECK_EQUAL(join(&worker), UNS_GO);
    uns_run_finish();
}

TEST(a_short_limit_may_run_out_while_others_work) {
    int in_the_middle = 0, never = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        under(NULL, seed, joins_for_1_ms);
        in_the_middle += seen->timed_out > 0;
        never += !seen->timed_out;
    }
    CHECK(in_the_middle >= SEEDS / 4);
    CHECK(never > 0);
}

/* "0.1" does 3 of its accesses, a join times out, then it does the others. */
TEST(a_schedule_repeats_a_time_out) {
    const struct uns_path_segment segments[] = {{.path = "0", .until = 2},
                                                {.path = "0.1", .until = 4},
                                                {.path = "0", .until = 3},
                                                {.path = "0.1", .until = STEPS + 1},
                                                {.path = "0", .until = 6}};
    seen = seen ? seen : check_shared(sizeof *seen);
    memset(seen, 0, sizeof *seen);
    plan = plan_of(UNS_PLAN_REPLAY, "replay", 0);
    plan.segments = segments;
    plan.segments_length = 5;
    CHECK_EQUAL(check_in_process(joins_for_1_ms), 0);
    CHECK_EQUAL(seen->timed_out, 1);
}

/* Nobody joins the worker. */
static void ends_at_once(void) {
    struct worker worker;
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    start(&worker, works);
    uns_gate_linger();
    uns_run_finish();
    _exit(0);
}

TEST(a_thread_that_nobody_joins_may_run_before_the_end) {
    int ran = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        under(NULL, seed, ends_at_once);
        ran += seen->worked > 0;
    }
    CHECK(ran >= SEEDS / 4);
    CHECK(ran < SEEDS || seen->worked < STEPS);
}

/* A thread polls for a lock that the main thread has; the latter waits for its end, with a limit.
 */
static void polls_three_times(void) {
    for (int i = 0; i < 3; i++)
        uns_lock_acquire(&gone, 1, 100 * MILLISECOND, 0);
    uns_lock_acquire(&gone, 2, UNS_FOREVER, 0);
    uns_lock_release(&gone, 3);
}

TEST(where_nobody_can_go_on_those_that_wait_are_noted) {
    struct worker worker;
    uint32_t count;
    plan = plan_of(UNS_PLAN_CONTROLLED, "walk", 1);
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    uns_lock_made(&gone, 0);
    CHECK_EQUAL(uns_lock_acquire(&gone, 9, UNS_FOREVER, 0), UNS_GO);
    start(&worker, polls_three_times);
    CHECK_EQUAL(wait_for(&worker, 5 * SECOND), UNS_TIMED_OUT);
    const struct uns_standstill_record *rows = uns_gate_standstills(&count);
    CHECK_EQUAL(count, 4); /* three polls are alike: two standstills of two threads each */
    CHECK(rows[0].number == rows[1].number && rows[1].number < rows[2].number);
    for (uint32_t i = 0; i < count; i++) {
        int mine = rows[i].wait.thread == 0, first = i < 2;
        CHECK(mine || rows[i].wait.owner == 0);
        CHECK_EQUAL(rows[i].flags,
                    UNS_STANDSTILL_ALONE | (mine != first ? UNS_STANDSTILL_RAN_OUT : 0));
        CHECK_EQUAL(rows[i].limit, mine ? 5 * SECOND : first ? 100 * MILLISECOND : 0);
    }
    uns_lock_release(&gone, 9);
    CHECK_EQUAL(wait_for(&worker, UNS_FOREVER), UNS_GO);
    uns_run_finish();
}

/* The same for a thread that waits for what another one would have to send, if a join ran out. */
static int never(void *unused) {
    return 0;
}

static void waits_for_word(void) {
    uns_gate_await_own(uns_thread_current(), 1, never, NULL, 10 * SECOND);
}

TEST(who_waits_for_word_is_noted_when_the_time_of_a_join_is_over) {
    struct worker worker;
    uint32_t count;
    plan = plan_of(UNS_PLAN_CONTROLLED, "walk", 1);
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    start(&worker, waits_for_word);
    CHECK_EQUAL(wait_for(&worker, 5 * SECOND), UNS_TIMED_OUT);
    const struct uns_standstill_record *rows = uns_gate_standstills(&count);
    CHECK_EQUAL(count, 2);
    for (uint32_t i = 0; i < count; i++) {
        int mine = rows[i].wait.thread == 0;
        CHECK(mine || rows[i].wait.owner == UNS_NO_OWNER);
        CHECK(rows[i].flags & UNS_STANDSTILL_ALONE);
        CHECK_EQUAL(rows[i].wait.point,
                    mine ? UNS_POINT(JOIN_SITE, UNS_JOIN) : UNS_POINT(1, UNS_WAIT));
    }
    CHECK_EQUAL(wait_for(&worker, UNS_FOREVER), UNS_GO);
    uns_run_finish();
}

/* A lock that stands for one of the kernel's: nobody releases it here, and yet it is free. */
static int freed_in_the_kernel;

static int is_free(void *unused) {
    return freed_in_the_kernel;
}

static void takes_what_was_closed(void) {
    CHECK_EQUAL(uns_lock_acquire_asking(&gone, 1, 0, is_free, NULL), UNS_GO);
    CHECK_EQUAL(gone.owner, uns_thread_current()->index);
    uns_lock_release(&gone, 2);
}

TEST(a_lock_that_the_kernel_says_is_free_is_had) {
    struct worker worker;
    plan = plan_of(UNS_PLAN_CONTROLLED, "walk", 1);
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    uns_lock_made(&gone, 0);
    CHECK_EQUAL(uns_lock_acquire(&gone, 9, UNS_FOREVER, 0), UNS_GO);
    start(&worker, takes_what_was_closed);
    CHECK_EQUAL(wait_for(&worker, SECOND), UNS_TIMED_OUT);
    freed_in_the_kernel = 1;
    CHECK_EQUAL(wait_for(&worker, UNS_FOREVER), UNS_GO);
    CHECK_EQUAL(gone.word, 0);
    uns_run_finish();
}

CHECK_MAIN
