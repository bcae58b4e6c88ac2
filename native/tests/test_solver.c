/* SPDX-License-Identifier: Apache-2.0
 *
 * Order problems of a few events, whose answers are plain: litmus tests of sequential consistency.
 * Every one is given to the frontier search and to CDCL alone.
 */
#include "check.h"
#include "solver/solver.h"

#define MOST    16
#define R(c, v) {UNS_READS, c, v}
#define W(c, v) {UNS_WRITES, c, v}
#define NOTHING {UNS_NO_ACCESS, -1, 0}

struct event {
    uint8_t access;
    int32_t cell;
    uint64_t value;
};

static int32_t first[MOST + 1], cells[MOST], section_first[MOST + 1], order[MOST];
static uint8_t accesses[MOST], begun[MOST];
static uint64_t values[MOST], initial[MOST];
static double guesses[MOST];

/* Four cells that begin with 0, and nothing else. */
static struct uns_order_problem no_events(void) {
    memset(begun, 1, sizeof begun);
    return (struct uns_order_problem){.cells = 4,
                                      .first = first,
                                      .access = accesses,
                                      .cell = cells,
                                      .value = values,
                                      .begun = begun,
                                      .initial = initial,
                                      .section_first = section_first,
                                      .guess = guesses,
                                      .seconds = 20,
                                      .bytes = 1ull << 28,
                                      .steps = -1,
                                      .lag = 64};
}

/* Threads of `lengths` (0: no more), one after the other. */
static struct uns_order_problem problem_of(const struct event *events, const int32_t *lengths) {
    struct uns_order_problem p = no_events();
    for (; lengths[p.threads]; p.threads++)
        first[p.threads + 1] = first[p.threads] + lengths[p.threads];
    p.events = first[p.threads];
    for (int32_t i = 0; i < p.events; i++) {
        accesses[i] = events[i].access;
        cells[i] = events[i].cell;
        values[i] = events[i].value;
        guesses[i] = i;
    }
    return p;
}

static int position(const struct uns_order_problem *p, int32_t event) {
    for (int32_t i = 0; i < p->events; i++)
        if (order[i] == event)
            return i;
    CHECK(!"the event is in the order");
    return -1;
}

static int before(const struct uns_order_problem *p, int32_t a, int32_t b) {
    return position(p, a) < position(p, b);
}

/* Played in this order, every read finds its value, and threads keep theirs. */
static void check_order(const struct uns_order_problem *p) {
    uint64_t memory[MOST] = {0};
    for (int32_t i = 0; i < p->events; i++) {
        int32_t event = order[i];
        CHECK(event >= 0 && event < p->events);
        if (p->access[event] == UNS_WRITES)
            memory[p->cell[event]] = p->value[event];
        if (p->access[event] == UNS_READS)
            CHECK_EQUAL(memory[p->cell[event]], p->value[event]);
    }
    for (int32_t t = 0; t < p->threads; t++)
        for (int32_t event = p->first[t]; event + 1 < p->first[t + 1]; event++)
            CHECK(before(p, event, event + 1));
}

/* By both searches; returns the answer of the second. */
static struct uns_order_answer solve(struct uns_order_problem *p, enum uns_order_status expected) {
    struct uns_order_answer answer;
    for (p->steps = -1; p->steps <= 0; p->steps++) {
        memset(order, 0xff, sizeof order);
        uns_order_solve(p, order, &answer);
        CHECK_EQUAL(answer.status, expected);
        if (expected == UNS_SOLVED)
            check_order(p);
    }
    return answer;
}

TEST(a_read_comes_after_the_write_of_its_value) {
    const struct event events[] = {R(0, 1), W(0, 1)};
    struct uns_order_problem p = problem_of(events, (int32_t[]){1, 1, 0});
    solve(&p, UNS_SOLVED);
    CHECK(before(&p, 1, 0));
}

TEST(a_read_of_the_first_value_comes_before_all_writes) {
    const struct event events[] = {W(0, 1), R(0, 0)};
    struct uns_order_problem p = problem_of(events, (int32_t[]){1, 1, 0});
    solve(&p, UNS_SOLVED);
    CHECK(before(&p, 1, 0));
}

TEST(a_value_that_nobody_writes_has_no_order) {
    const struct event events[] = {W(0, 1), R(0, 2)};
    struct uns_order_problem p = problem_of(events, (int32_t[]){1, 1, 0});
    CHECK_EQUAL(solve(&p, UNS_UNSATISFIABLE).event, 1);
}

/* Each thread reads the other's cell as it was before the other wrote: only weak memory does. */
TEST(store_buffering_is_not_sequentially_consistent) {
    const struct event events[] = {W(0, 1), R(1, 0), W(1, 1), R(0, 0)};
    struct uns_order_problem p = problem_of(events, (int32_t[]){2, 2, 0});
    solve(&p, UNS_UNSATISFIABLE);
}

TEST(message_passing_must_bring_the_data) {
    const struct event stale[] = {W(0, 1), W(1, 1), R(1, 1), R(0, 0)};
    struct uns_order_problem p = problem_of(stale, (int32_t[]){2, 2, 0});
    solve(&p, UNS_UNSATISFIABLE);
    const struct event fresh[] = {W(0, 1), W(1, 1), R(1, 1), R(0, 1)};
    p = problem_of(fresh, (int32_t[]){2, 2, 0});
    solve(&p, UNS_SOLVED);
}

/* Two readers that see two writes in opposite orders. */
TEST(independent_reads_agree_on_the_order_of_writes) {
    const struct event events[] = {W(0, 1), W(1, 1), R(0, 1), R(1, 0), R(1, 1), R(0, 0)};
    struct uns_order_problem p = problem_of(events, (int32_t[]){1, 1, 2, 2, 0});
    solve(&p, UNS_UNSATISFIABLE);
}

/* v = v + 1 by two threads, one update lost. */
TEST(a_lost_update) {
    const struct event events[] = {R(0, 0), W(0, 1), R(0, 0), W(0, 1), R(0, 1)};
    struct uns_order_problem p = problem_of(events, (int32_t[]){2, 2, 1, 0});
    solve(&p, UNS_SOLVED);
    CHECK(before(&p, 0, 3) && before(&p, 2, 1));
}

/* The same under one lock: sections do not overlap, so no update can be lost. */
TEST(a_lock_keeps_updates) {
    const struct event events[] = {NOTHING, R(0, 0), W(0, 1), NOTHING,
                                   NOTHING, R(0, 0), W(0, 1), NOTHING};
    static const int32_t acquire[] = {0, 4}, release[] = {3, 7};
    struct uns_order_problem p = problem_of(events, (int32_t[]){4, 4, 0});
    p.locks = 1;
    p.sections = section_first[1] = 2;
    p.acquire = acquire;
    p.release = release;
    solve(&p, UNS_UNSATISFIABLE);
    values[5] = 1;
    values[6] = 2;
    solve(&p, UNS_SOLVED);
    CHECK(before(&p, 3, 4));
}

TEST(given_orders_are_kept_and_may_contradict) {
    const struct event events[] = {W(0, 1), W(0, 2)};
    static const int32_t forth[] = {1}, back[] = {0}, both[] = {0, 1}, other[] = {1, 0};
    struct uns_order_problem p = problem_of(events, (int32_t[]){1, 1, 0});
    p.edges = 1;
    p.source = forth;
    p.sink = back;
    solve(&p, UNS_SOLVED);
    CHECK(before(&p, 1, 0));
    p.edges = 2;
    p.source = both;
    p.sink = other;
    solve(&p, UNS_UNSATISFIABLE);
}

TEST(a_cell_whose_first_value_is_open_may_begin_with_any) {
    const struct event events[] = {R(0, 7), W(0, 1)};
    struct uns_order_problem p = problem_of(events, (int32_t[]){1, 1, 0});
    solve(&p, UNS_UNSATISFIABLE);
    begun[0] = 0;
    struct uns_order_answer answer;
    uns_order_solve(&p, order, &answer);
    CHECK_EQUAL(answer.status, UNS_SOLVED);
    CHECK(before(&p, 0, 1));
}

static int always(void *asker) {
    ++*(int *)asker;
    return 1;
}

TEST(too_little_memory_is_said) {
    const struct event events[] = {R(0, 1), W(0, 1)};
    struct uns_order_problem p = problem_of(events, (int32_t[]){1, 1, 0});
    p.bytes = 16;
    solve(&p, UNS_NO_MEMORY);
}

/* A problem that takes a while: each of many reads has many writes to choose from. */
TEST(who_asks_may_stop_it) {
    enum { THREADS = 6, EACH = 400 };
    static int32_t from[THREADS + 1], cell[THREADS * EACH], out[THREADS * EACH];
    static uint8_t access[THREADS * EACH];
    static uint64_t value[THREADS * EACH];
    static double guess[THREADS * EACH];
    int asked = 0;
    for (int i = 0; i < THREADS * EACH; i++) {
        access[i] = i % 2 ? UNS_READS : UNS_WRITES;
        value[i] = (uint64_t)(i * 7919 % 5);
        guess[i] = i * 31 % 977;
    }
    for (int t = 0; t <= THREADS; t++)
        from[t] = t * EACH;
    struct uns_order_problem p = no_events();
    p.threads = THREADS;
    p.events = THREADS * EACH;
    p.first = from;
    p.access = access;
    p.cell = cell;
    p.value = value;
    p.guess = guess;
    p.stop = always;
    p.asker = &asked;
    struct uns_order_answer answer;
    uns_order_solve(&p, out, &answer);
    CHECK(asked ? answer.status == UNS_STOPPED : answer.status <= UNS_UNSATISFIABLE);
    CHECK(asked);
}

CHECK_MAIN
