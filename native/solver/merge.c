/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads merged into one order that keeps what is known, by the guessed times.
 */
#include "state.h"

/* What is known must not go in circles. */
void uns_merge(struct uns_state *s, int32_t *order) {
    const struct uns_order_problem *p = s->problem;
    int32_t *next = UNS_NEW(s->pool, int32_t, p->threads);
    for (int32_t t = 0; t < p->threads; t++)
        next[t] = p->first[t];
    for (int32_t done = 0; done < p->events; done++) {
        int32_t best = -1;
        for (int32_t t = 0; t < p->threads; t++)
            if (next[t] < p->first[t + 1] &&
                (best < 0 || p->guess[next[t]] < p->guess[next[best]]) &&
                uns_is_open(&s->closure, next, next[t]))
                best = t;
        order[done] = next[best]++;
        uns_pool_tick(s->pool);
    }
    uns_pool_drop(s->pool, next);
}
