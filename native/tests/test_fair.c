/* SPDX-License-Identifier: Apache-2.0
 *
 * What a fair scheduler lets go on is never called a hang: whatever strategies, rules and schedules
 * do, runs of these programs end.
 */
#include "runs.h"
#include "gate/gate.h"

#define SEEDS 24
#define LIMIT 4.0 /* seconds that a run may take, where it is only the second half that is fair */

static struct uns_plan plan;
static struct uns_lock left, right;
static struct uns_rule_record *result; /* of the first rule */
static volatile int over;

static const char *const strategies[] = {"walk", "pct", "pos", "rff", "surw", "serial"};
#define STRATEGIES (sizeof strategies / sizeof *strategies)

static void two_threads(void (*first)(void), void (*second)(void)) {
    struct worker workers[2];
    over = 0;
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    uns_lock_made(&left, 0);
    uns_lock_made(&right, 0);
    start(&workers[0], first);
    start(&workers[1], second);
    CHECK_EQUAL(join(&workers[0]), UNS_GO);
    CHECK_EQUAL(join(&workers[1]), UNS_GO);
    CHECK_EQUAL(uns_run_finish(), 0);
    uint32_t count;
    const struct uns_rule_record *found = uns_gate_rule_results(&count);
    if (count)
        *result = *found;
}

static void ends(void (*program)(void)) {
    result = result ? result : check_shared(sizeof *result);
    int status = check_in_process(program);
    CHECK(WIFEXITED(status));
    CHECK_EQUAL(WEXITSTATUS(status), EXIT_SUCCESS);
}

/* Two that take one lock and try the other one's, and give up both if that is taken. */
static void moves(struct uns_lock *own, struct uns_lock *other, uint32_t site) {
    for (int moved = 0; moved < 3;) {
        CHECK_EQUAL(uns_lock_acquire(own, site, UNS_FOREVER, 0), UNS_GO);
        if (uns_lock_acquire(other, site + 1, 0, 0) == UNS_GO) {
            writes(site + 2, 1);
            moved++;
            uns_lock_release(other, site + 3);
        }
        uns_lock_release(own, site + 4);
    }
}
static void moves_right(void) {
    moves(&left, &right, 1);
}
static void moves_left(void) {
    moves(&right, &left, 11);
}
static void back_off(void) {
    two_threads(moves_right, moves_left);
}

TEST(threads_that_try_each_others_lock_do_not_stay_in_step) {
    for (unsigned which = 0; which < STRATEGIES; which++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            plan = plan_of(UNS_PLAN_CONTROLLED, strategies[which], seed);
            plan.length = 12; /* priorities change while somebody tries */
            ends(back_off);
        }
}

/* A rule that is made anew in every turn of "0.1", and that nothing ends but its patience. */
#define TURNS 10000
static const uint32_t turn_begins[] = {UNS_POINT(1, UNS_WRITE)};
static const uint32_t turn_goes_on[] = {UNS_POINT(2, UNS_WRITE)};
static const uint32_t nowhere[] = {UNS_POINT(50, UNS_READ)};
static const struct uns_rule every_turn = {.when = {.points = turn_begins, .length = 1},
                                           .hold = {.points = turn_goes_on, .length = 1},
                                           .until = {.points = nowhere, .length = 1},
                                           .group = -1};

static void takes_turns(void) {
    for (int turn = 0; turn < TURNS; turn++) {
        writes(1, 1);
        writes(2, 1);
    }
    over = 1;
}
static void works_until_then(void) {
    while (!over)
        writes(11, 2);
}
static void turns(void) {
    two_threads(takes_turns, works_until_then);
}

static void use_rule(const struct uns_rule *rule) {
    plan = plan_of(UNS_PLAN_CONTROLLED, "walk", 1);
    plan.rules = rule;
    plan.rules_length = 1;
}

TEST(a_limit_is_that_of_all_instances) {
    struct uns_rule rule = every_turn;
    rule.limit = 100;
    use_rule(&rule);
    ends(turns);
    CHECK(result->held <= 110);
    CHECK_EQUAL(result->activated, TURNS);
    CHECK_EQUAL(result->released, TURNS);
}

TEST(rules_are_given_up_before_a_run_is_called_a_hang) {
    use_rule(&every_turn);
    plan.time_limit = LIMIT;
    ends(turns);
    CHECK_EQUAL(result->activated, TURNS);
    CHECK_EQUAL(result->released, TURNS);
    CHECK_EQUAL(result->active, 0);
}

/* A schedule has come to its end while somebody waits by looking. */
static void looks(void) {
    while (!over)
        reads(1, 1);
}
static void sets(void) {
    for (uint32_t site = 11; site < 15; site++)
        writes(site, 2);
    over = 1;
    writes(15, 1);
}
static void polling(void) {
    two_threads(looks, sets);
}

TEST(after_a_schedule_all_go_on) {
    const struct uns_path_segment segments[] = {{.path = "0", .until = 3},
                                                {.path = "0.1", .until = 6}};
    plan = plan_of(UNS_PLAN_REPLAY, "replay", 0);
    plan.segments = segments;
    plan.segments_length = 2;
    plan.time_limit = LIMIT;
    ends(polling);
}

/* It waits where no run so far has shared anything, so that nobody could come between. */
static const uint8_t no_switch_points[SITES];

TEST(who_waits_by_looking_lets_others_come) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        plan = plan_of(UNS_PLAN_CONTROLLED, "walk", seed);
        plan.switch_sites = no_switch_points;
        ends(polling);
    }
}

static void tries_to_set(void) {
    while (!over)
        writes(1, 1);
}
static void spinning(void) {
    two_threads(tries_to_set, sets);
}

TEST(who_waits_by_writing_lets_others_come) {
    for (uint64_t seed = 0; seed < 3; seed++) {
        plan = plan_of(UNS_PLAN_CONTROLLED, "walk", seed);
        plan.switch_sites = no_switch_points;
        plan.time_limit = 1.0;
        ends(spinning);
    }
}

CHECK_MAIN
