/* SPDX-License-Identifier: Apache-2.0
 *
 * Critical sections of one lock: one ends before the other begins.
 */
#include "sat.h"
#define MOST_AT_ONCE 64 /* more are added when an order breaks them */

void uns_encode_exclusion(struct uns_sat *sat, int32_t a, int32_t b) {
    const struct uns_order_problem *p = sat->s->problem;
    int fresh;
    lit first = uns_pair(sat, p->acquire[a], p->acquire[b], &fresh);
    if (!fresh)
        return;
    sat->source[first] = p->release[a];
    sat->sink[first] = p->acquire[b];
    sat->source[uns_not(first)] = p->release[b];
    sat->sink[uns_not(first)] = p->acquire[a];
}

/* The first section of [from, to) that is not known to end before `a` begins. */
static int32_t first_open(const struct uns_sat *sat, int32_t from, int32_t to, int32_t a) {
    const struct uns_order_problem *p = sat->s->problem;
    while (from < to) {
        int32_t middle = from + (to - from) / 2;
        if (p->release[middle] >= 0 &&
            uns_is_before(&sat->s->closure, p->release[middle], p->acquire[a]))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static void encode_against(struct uns_sat *sat, int32_t a, int32_t from, int32_t to) {
    const struct uns_order_problem *p = sat->s->problem;
    from = first_open(sat, from, to, a);
    for (int32_t b = from; b < to && b < from + MOST_AT_ONCE; b++) {
        if (p->release[a] >= 0 && uns_is_before(&sat->s->closure, p->release[a], p->acquire[b]))
            break;
        uns_encode_exclusion(sat, a, b);
    }
}

static void encode_lock(struct uns_sat *sat, int32_t begin, int32_t end) {
    const struct uns_order_problem *p = sat->s->problem;
    const int32_t *thread = sat->s->closure.thread;
    for (int32_t from = begin, to; from < end; from = to) {
        for (to = from; to < end && thread[p->acquire[to]] == thread[p->acquire[from]]; to++)
            ;
        for (int32_t a = begin; a < from; a++)
            encode_against(sat, a, from, to);
        uns_pool_tick(sat->pool);
    }
}

void uns_encode_sections(struct uns_sat *sat) {
    const struct uns_order_problem *p = sat->s->problem;
    for (int32_t lock = 0; lock < p->locks; lock++)
        encode_lock(sat, p->section_first[lock], p->section_first[lock + 1]);
}
