/* SPDX-License-Identifier: Apache-2.0
 *
 * The stages: what clocks and saturation say, a short search along the guessed times, then CDCL.
 */
#include "state.h"

/* CDCL has all choices to write down before it can begin: not before the other had as much time. */
static int64_t first_turn(struct uns_state *s) {
    int64_t turn = 2 * (int64_t)s->problem->events + 20000;
    for (int64_t i = 0; i < s->reads.count; i++)
        turn += uns_choices(s, s->reads.at[i]);
    return turn;
}

/* Which of the two searches is fast, nobody knows before: they take turns, in turns that grow. */
static enum uns_search searches(struct uns_state *s, int32_t *order,
                                struct uns_order_answer *answer) {
    struct uns_front *front = uns_front_start(s);
    int64_t steps = s->problem->steps, turn = steps < 0 && front ? first_turn(s) : steps;
    struct uns_sat *sat = NULL;
    for (;; turn *= 2) {
        enum uns_search found = UNS_NOT_FOUND;
        answer->phase = UNS_BY_FRONTIER;
        if (front && (found = uns_front_search(front, turn, order)) == UNS_FOUND)
            return found;
        if (front && (found == UNS_NOT_FOUND || steps >= 0)) {
            uns_front_free(front);
            front = NULL;
        }
        answer->phase = UNS_BY_CDCL;
        sat = sat ? sat : uns_cdcl_start(s, answer);
        found = uns_cdcl_search(sat, front ? turn : INT64_MAX, order);
        if (found != UNS_GOES_ON)
            return found;
    }
}

static void stages(struct uns_state *s, int32_t *order, struct uns_order_answer *answer) {
    uns_closure_init(s->pool, &s->closure, s->problem);
    uns_index_init(s);
    s->hopeless = -1;
    if (!uns_saturate(s, answer)) {
        answer->event = s->hopeless;
        answer->status = UNS_UNSATISFIABLE;
        return;
    }
    answer->status = searches(s, order, answer) == UNS_FOUND ? UNS_SOLVED : UNS_UNSATISFIABLE;
}

/* The pool is not this function's own: what a function changes after setjmp it may find as it was.
 */
static void stages_within(struct uns_pool *pool, struct uns_state *s, int32_t *order,
                          struct uns_order_answer *answer) {
    int out = setjmp(pool->out);
    if (out)
        answer->status = (enum uns_order_status)out;
    else
        stages(s, order, answer);
}

void uns_order_solve(const struct uns_order_problem *problem, int32_t *order,
                     struct uns_order_answer *answer) {
    struct uns_pool pool = {.deadline = uns_pool_now() + problem->seconds,
                            .most_bytes = (size_t)problem->bytes,
                            .stop = problem->stop,
                            .asker = problem->asker};
    struct uns_state state = {.pool = &pool, .problem = problem};
    *answer = (struct uns_order_answer){.event = -1};
    stages_within(&pool, &state, order, answer);
    uns_pool_free(&pool);
}
