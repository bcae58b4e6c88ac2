/* SPDX-License-Identifier: Apache-2.0
 *
 * Edges of true literals must not go in circles. An order of all events is kept that agrees with
 * all edges; a new edge against it moves only the events between its ends (Pearce and Kelly's
 * dynamic topological order). Going back takes edges away, which no order minds.
 */
#define _GNU_SOURCE
#include "sat.h"
#include <stdlib.h>
#include <string.h>

static void closure_edges(struct uns_sat *sat) {
    const struct uns_closure *c = &sat->s->closure;
    sat->out_from = UNS_NEW(sat->pool, int32_t, c->events + 2);
    sat->out_to = UNS_NEW(sat->pool, int32_t, c->edges.count);
    for (int64_t i = 0; i < c->edges.count; i++)
        sat->out_from[c->edges.at[i].source + 2]++;
    for (int32_t e = 0; e < c->events; e++)
        sat->out_from[e + 2] += sat->out_from[e + 1];
    for (int64_t i = 0; i < c->edges.count; i++)
        sat->out_to[sat->out_from[c->edges.at[i].source + 1]++] = c->edges.at[i].sink;
}

void uns_graph_init(struct uns_sat *sat) {
    int32_t events = sat->s->problem->events;
    sat->rank = UNS_NEW(sat->pool, int32_t, events);
    sat->at_rank = UNS_NEW(sat->pool, int32_t, events);
    sat->out = UNS_NEW(sat->pool, int32_t, events);
    sat->in = UNS_NEW(sat->pool, int32_t, events);
    sat->mark = UNS_NEW(sat->pool, int32_t, events);
    sat->parent = UNS_NEW(sat->pool, int32_t, events);
    sat->parent_why = UNS_NEW(sat->pool, lit, events);
    memset(sat->out, -1, (size_t)events * sizeof *sat->out);
    memset(sat->in, -1, (size_t)events * sizeof *sat->in);
    uns_merge(sat->s, sat->at_rank);
    for (int32_t i = 0; i < events; i++)
        sat->rank[sat->at_rank[i]] = i;
    closure_edges(sat);
}

static void reach(struct uns_sat *sat, int32_t event, int32_t by, lit why) {
    if (sat->mark[event] == sat->marking)
        return;
    sat->mark[event] = sat->marking;
    sat->parent[event] = by;
    sat->parent_why[event] = why;
    UNS_PUSH(sat->pool, sat->forward, event);
}

/* All that is after `from` and not ranked after `limit`; 0 if `limit` itself is among them. */
static int search_forward(struct uns_sat *sat, int32_t from, int32_t limit) {
    const struct uns_closure *c = &sat->s->closure;
    int32_t most = sat->rank[limit];
    sat->marking++;
    sat->forward.count = 0;
    reach(sat, from, -1, UNS_TRUE_LIT);
    for (int64_t i = 0; i < sat->forward.count; i++) {
        int32_t e = sat->forward.at[i];
        if (e == limit)
            return 0;
        if (e + 1 < c->first[c->thread[e] + 1] && sat->rank[e + 1] <= most)
            reach(sat, e + 1, e, UNS_TRUE_LIT);
        for (int32_t k = sat->out_from[e]; k < sat->out_from[e + 1]; k++)
            if (sat->rank[sat->out_to[k]] <= most)
                reach(sat, sat->out_to[k], e, UNS_TRUE_LIT);
        for (int32_t k = sat->out[e]; k >= 0; k = sat->links.at[k].next_out)
            if (sat->rank[sat->links.at[k].sink] <= most)
                reach(sat, sat->links.at[k].sink, e, sat->links.at[k].why);
        uns_pool_tick(sat->pool);
    }
    return 1;
}

static void reach_back(struct uns_sat *sat, int32_t event, int32_t least) {
    if (sat->mark[event] == sat->marking || sat->rank[event] < least)
        return;
    sat->mark[event] = sat->marking;
    UNS_PUSH(sat->pool, sat->backward, event);
}

/* All that is before `from` and not ranked before `limit`. */
static void search_backward(struct uns_sat *sat, int32_t from, int32_t limit) {
    const struct uns_closure *c = &sat->s->closure;
    int32_t least = sat->rank[limit];
    sat->marking++;
    sat->backward.count = 0;
    reach_back(sat, from, least);
    for (int64_t i = 0; i < sat->backward.count; i++) {
        int32_t e = sat->backward.at[i];
        if (e > c->first[c->thread[e]])
            reach_back(sat, e - 1, least);
        for (int32_t k = c->incoming[e]; k >= 0; k = c->edges.at[k].next)
            reach_back(sat, c->edges.at[k].source, least);
        for (int32_t k = sat->in[e]; k >= 0; k = sat->links.at[k].next_in)
            reach_back(sat, sat->links.at[k].source, least);
        uns_pool_tick(sat->pool);
    }
}

static int by_rank(const void *a, const void *b, void *ranks) {
    return ((const int32_t *)ranks)[*(const int32_t *)a] -
           ((const int32_t *)ranks)[*(const int32_t *)b];
}

static int by_number(const void *a, const void *b) {
    return *(const int32_t *)a - *(const int32_t *)b;
}

/* The ranks of both searches are dealt out anew: first to what comes before, then to the rest. */
static void reorder(struct uns_sat *sat) {
    qsort_r(sat->backward.at, (size_t)sat->backward.count, sizeof(int32_t), by_rank, sat->rank);
    qsort_r(sat->forward.at, (size_t)sat->forward.count, sizeof(int32_t), by_rank, sat->rank);
    for (int64_t i = 0; i < sat->forward.count; i++)
        UNS_PUSH(sat->pool, sat->backward, sat->forward.at[i]);
    sat->ranks.count = 0;
    for (int64_t i = 0; i < sat->backward.count; i++)
        UNS_PUSH(sat->pool, sat->ranks, sat->rank[sat->backward.at[i]]);
    qsort(sat->ranks.at, (size_t)sat->ranks.count, sizeof(int32_t), by_number);
    for (int64_t i = 0; i < sat->backward.count; i++) {
        sat->rank[sat->backward.at[i]] = sat->ranks.at[i];
        sat->at_rank[sat->ranks.at[i]] = sat->backward.at[i];
    }
}

static void explain(struct uns_sat *sat, lit why, int32_t end) {
    sat->conflict.count = 0;
    UNS_PUSH(sat->pool, sat->conflict, uns_not(why));
    for (int32_t e = end; sat->parent[e] >= 0; e = sat->parent[e])
        if (sat->parent_why[e] != UNS_TRUE_LIT)
            UNS_PUSH(sat->pool, sat->conflict, uns_not(sat->parent_why[e]));
}

int uns_graph_add(struct uns_sat *sat, lit why, int32_t trail) {
    int32_t source = sat->source[why], sink = sat->sink[why];
    if (source < 0)
        return 1;
    if (sat->rank[source] >= sat->rank[sink]) {
        if (!search_forward(sat, sink, source)) {
            explain(sat, why, source);
            return 0;
        }
        search_backward(sat, source, sink);
        reorder(sat);
    }
    struct uns_link link = {source, sink, sat->out[source], sat->in[sink], why, trail};
    sat->out[source] = sat->in[sink] = (int32_t)sat->links.count;
    UNS_PUSH(sat->pool, sat->links, link);
    return 1;
}

void uns_graph_undo(struct uns_sat *sat, int64_t trail) {
    while (sat->links.count && sat->links.at[sat->links.count - 1].trail >= trail) {
        const struct uns_link *link = &sat->links.at[--sat->links.count];
        sat->out[link->source] = link->next_out;
        sat->in[link->sink] = link->next_in;
    }
}
