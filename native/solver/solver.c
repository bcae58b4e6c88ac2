/* SPDX-License-Identifier: Apache-2.0
 *
 * The stages: what clocks and saturation say, a short search along the guessed times, then CDCL.
 */
#include "state.h"
#include <string.h>

static void stages(struct uns_state *s, int32_t *order, struct uns_order_answer *answer) {
    uns_closure_init(s->pool, &s->closure, s->problem);
    uns_index_init(s);
    s->hopeless = -1;
    if (!uns_saturate(s, answer)) {
        answer->event = s->hopeless;
        answer->status = UNS_UNSATISFIABLE;
        return;
    }
    answer->stage = UNS_BY_FRONTIER;
    if (uns_frontier(s, order)) {
        answer->status = UNS_SOLVED;
        return;
    }
    answer->stage = UNS_BY_CDCL;
    answer->status = uns_cdcl(s, order, answer) ? UNS_SOLVED : UNS_UNSATISFIABLE;
}

void uns_order_solve(const struct uns_order_problem *problem, int32_t *order,
                     struct uns_order_answer *answer) {
    struct uns_pool pool = {.deadline = uns_pool_now() + problem->seconds,
                            .stop = problem->stop,
                            .asker = problem->asker};
    struct uns_state state = {.pool = &pool, .problem = problem};
    memset(answer, 0, sizeof *answer);
    answer->event = -1;
    int out = setjmp(pool.out);
    if (out)
        answer->status = (enum uns_order_status)out;
    else
        stages(&state, order, answer);
    uns_pool_free(&pool);
}
