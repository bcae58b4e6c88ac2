/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known to be before what: vector clocks over the threads as chains (the idea of CSSTs: a
 * partial order of few chains needs no more than a number per chain).
 *
 * An event's clock differs from its predecessor's in its own thread only where an edge comes in, so
 * only such events have a row of their own.
 */
#ifndef UNSNARL_SOLVER_CLOSURE_H
#define UNSNARL_SOLVER_CLOSURE_H
#include "pool.h"
#include "solver.h"

struct uns_edge {
    int32_t source, sink, next; /* next: of the same sink, or -1 */
};

struct uns_closure {
    int32_t threads, events;
    const int32_t *first;
    int32_t *thread;   /* of each event */
    int32_t *row;      /* of each event: where its clock is */
    int32_t *incoming; /* of each event: its last edge, or -1 */
    int32_t *done;     /* scratch: threads */
    UNS_ARRAY(struct uns_edge) edges;
    UNS_ARRAY(int32_t) rows; /* `threads` numbers each; a row's own thread is not kept up */
};

void uns_closure_init(struct uns_pool *pool, struct uns_closure *closure,
                      const struct uns_order_problem *problem);
/* Of each thread only the last source is kept: the thread's own order implies the others. */
void uns_closure_add(struct uns_pool *pool, struct uns_closure *closure, int32_t source,
                     int32_t sink);
/* Closes it; 0 if the edges go in circles. */
int uns_closure_build(struct uns_pool *pool, struct uns_closure *closure);

static inline int32_t uns_position(const struct uns_closure *c, int32_t event) {
    return event - c->first[c->thread[event]];
}

/* How many events of the thread are before the event. */
static inline int32_t uns_count_before(const struct uns_closure *c, int32_t event, int32_t thread) {
    if (thread == c->thread[event])
        return uns_position(c, event);
    return c->rows.at[(int64_t)c->row[event] * c->threads + thread];
}

/* The first event of the thread that is not known to be before the event. */
static inline int32_t uns_first_open(const struct uns_closure *c, int32_t event, int32_t thread) {
    return c->first[thread] + uns_count_before(c, event, thread);
}

/* Whether all edges into the event come from events that are done: each thread's before `next`. */
static inline int uns_is_open(const struct uns_closure *c, const int32_t *next, int32_t event) {
    for (int32_t i = c->incoming[event]; i >= 0; i = c->edges.at[i].next) {
        int32_t source = c->edges.at[i].source;
        if (next[c->thread[source]] <= source)
            return 0;
    }
    return 1;
}

static inline int uns_is_before(const struct uns_closure *c, int32_t a, int32_t b) {
    return uns_first_open(c, b, c->thread[a]) > a;
}
#endif
