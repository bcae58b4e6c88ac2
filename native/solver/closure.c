/* SPDX-License-Identifier: Apache-2.0 */
#include "closure.h"
#include <string.h>

void uns_closure_init(struct uns_pool *pool, struct uns_closure *closure,
                      const struct uns_order_problem *problem) {
    int32_t events = problem->events;
    closure->threads = problem->threads;
    closure->events = events;
    closure->first = problem->first;
    closure->thread = UNS_NEW(pool, int32_t, events);
    closure->row = UNS_NEW(pool, int32_t, events);
    closure->incoming = UNS_NEW(pool, int32_t, events);
    closure->done = UNS_NEW(pool, int32_t, problem->threads);
    memset(closure->incoming, -1, (size_t)events * sizeof *closure->incoming);
    for (int32_t t = 0; t < problem->threads; t++)
        for (int32_t e = problem->first[t]; e < problem->first[t + 1]; e++)
            closure->thread[e] = t;
    for (int32_t i = 0; i < problem->edges; i++)
        uns_closure_add(pool, closure, problem->source[i], problem->sink[i]);
}

void uns_closure_add(struct uns_pool *pool, struct uns_closure *closure, int32_t source,
                     int32_t sink) {
    for (int32_t i = closure->incoming[sink]; i >= 0; i = closure->edges.at[i].next) {
        int32_t *other = &closure->edges.at[i].source;
        if (closure->thread[*other] == closure->thread[source]) {
            *other = *other < source ? source : *other;
            return;
        }
    }
    struct uns_edge edge = {source, sink, closure->incoming[sink]};
    closure->incoming[sink] = (int32_t)closure->edges.count;
    UNS_PUSH(pool, closure->edges, edge);
}

static void new_row(struct uns_pool *pool, struct uns_closure *c, int32_t after) {
    int64_t width = c->threads;
    while (c->rows.room < c->rows.count + width) {
        c->rows.room = 2 * c->rows.room + 64 * width;
        c->rows.at = uns_pool_resize(pool, c->rows.at, (size_t)c->rows.room, sizeof(int32_t));
    }
    int32_t *row = c->rows.at + c->rows.count;
    if (after >= 0)
        memcpy(row, c->rows.at + after * width, (size_t)width * sizeof *row);
    else
        memset(row, 0, (size_t)width * sizeof *row);
    c->rows.count += width;
}

static void join(struct uns_closure *c, int32_t event) {
    int32_t *row = c->rows.at + (int64_t)c->row[event] * c->threads;
    for (int32_t i = c->incoming[event]; i >= 0; i = c->edges.at[i].next) {
        int32_t source = c->edges.at[i].source, from = c->thread[source];
        const int32_t *other = c->rows.at + (int64_t)c->row[source] * c->threads;
        for (int32_t t = 0; t < c->threads; t++)
            if (t != from && row[t] < other[t])
                row[t] = other[t];
        int32_t count = source - c->first[from] + 1;
        if (row[from] < count)
            row[from] = count;
    }
}

static void close_event(struct uns_pool *pool, struct uns_closure *c, int32_t event) {
    int begins = event == c->first[c->thread[event]];
    if (!begins && c->incoming[event] < 0) {
        c->row[event] = c->row[event - 1];
        return;
    }
    int32_t after = begins ? -1 : c->row[event - 1];
    c->row[event] = (int32_t)(c->rows.count / c->threads);
    new_row(pool, c, after);
    join(c, event);
}

int uns_closure_build(struct uns_pool *pool, struct uns_closure *c) {
    int32_t left = c->events;
    c->rows.count = 0;
    for (int32_t t = 0; t < c->threads; t++)
        c->done[t] = c->first[t];
    for (int moving = 1; moving && left;) {
        moving = 0;
        for (int32_t t = 0; t < c->threads; t++)
            for (; c->done[t] < c->first[t + 1] && uns_is_open(c, c->done, c->done[t]);
                 c->done[t]++) {
                close_event(pool, c, c->done[t]);
                moving = 1;
                left--;
                uns_pool_tick(pool);
            }
    }
    return !left;
}
