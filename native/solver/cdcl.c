/* SPDX-License-Identifier: Apache-2.0
 *
 * The search: decide, propagate, learn, go back.
 *
 * A run is long, but trouble is local: what is decided far behind the search's front is frozen, as
 * if it were known, so that a lemma of one literal does not undo the whole run. Only if the front
 * cannot go on is everything thawed, with what was learned meanwhile, and the lag is made longer;
 * so the search stays complete. Restarts, too, go back only as far as the trouble reaches, and
 * twice as far each time.
 */
#include "sat.h"
#include <string.h>
#define FIRST_PATIENCE 100
#define MOST_LEARNED   20000

static void learn(struct uns_sat *sat, int32_t level) {
    uint32_t glue = uns_glue(sat, sat->lemma.at, sat->lemma.count);
    uns_undo(sat, level);
    if (sat->lemma.count == 1) {
        uns_assign(sat, sat->lemma.at[0], UNS_NO_CLAUSE);
        return;
    }
    uint32_t at = uns_clause_new(sat, sat->lemma.at, (int32_t)sat->lemma.count, 1);
    uns_clause_at(sat, at)->glue = glue;
    uns_assign(sat, sat->lemma.at[0], at);
}

static void settle_conflict(struct uns_sat *sat, struct uns_region *region) {
    int32_t here = uns_decided(sat), level = uns_analyse(sat);
    learn(sat, level);
    sat->answer->conflicts++;
    region->conflicts++;
    region->low = level < region->low ? level : region->low;
    region->high = here > region->high ? here : region->high;
}

static void start_region(struct uns_sat *sat, struct uns_region *region) {
    region->conflicts = 0;
    region->low = region->high = uns_decided(sat);
}

static void mind_region(struct uns_sat *sat, struct uns_region *region) {
    if (sat->trail.count > region->furthest) {
        region->furthest = sat->trail.count;
        region->patience = FIRST_PATIENCE;
        start_region(sat, region);
    } else if (region->conflicts > region->patience) {
        int32_t back = 2 * region->low - region->high;
        uns_undo(sat, back > sat->frozen ? back : sat->frozen);
        region->patience += region->patience / 4;
        start_region(sat, region);
    }
}

/* Of two orders, the one that the order at hand has already: it closes no circle. */
static lit preferred(const struct uns_sat *sat, int32_t v) {
    lit a = 2 * v, b = a + 1;
    if (sat->source[b] >= 0) {
        if (sat->rank[sat->source[a]] < sat->rank[sat->sink[a]])
            return a;
        if (sat->rank[sat->source[b]] < sat->rank[sat->sink[b]])
            return b;
    }
    return a + sat->phase[v];
}

static void decide(struct uns_sat *sat, int32_t v) {
    UNS_PUSH(sat->pool, sat->levels, (int32_t)sat->trail.count);
    uns_assign(sat, preferred(sat, v), UNS_NO_CLAUSE);
}

static void freeze(struct uns_sat *sat, const struct uns_region *region) {
    if (uns_decided(sat) - sat->frozen > 2 * region->lag)
        sat->frozen = uns_decided(sat) - region->lag;
}

/* Nothing goes with what is frozen; 0 if nothing is. */
static int thaw(struct uns_sat *sat, struct uns_region *region) {
    if (!sat->frozen)
        return 0;
    uns_thaw(sat);
    int32_t lag = region->lag < INT32_MAX / 16 ? 8 * region->lag : INT32_MAX / 2;
    *region = (struct uns_region){.patience = FIRST_PATIENCE, .lag = lag};
    return 1;
}

/* The next decision; without one left, whether the order at hand is an answer. */
static int is_done(struct uns_sat *sat) {
    int32_t v = uns_heap_take(sat);
    if (v >= 0)
        decide(sat, v);
    else if (uns_complete(sat))
        return 1;
    else
        sat->region = (struct uns_region){.patience = FIRST_PATIENCE, .lag = sat->region.lag};
    return 0;
}

enum uns_search uns_cdcl_search(struct uns_sat *sat, int64_t ticks, int32_t *order) {
    uint64_t end = sat->pool->ticks + (uint64_t)ticks;
    while (!sat->wrong) {
        if (sat->pool->ticks > end)
            return UNS_GOES_ON;
        if (!uns_propagate(sat)) {
            if (uns_decided(sat) > sat->frozen)
                settle_conflict(sat, &sat->region);
            else if (!thaw(sat, &sat->region))
                return UNS_NOT_FOUND;
            continue;
        }
        mind_region(sat, &sat->region);
        freeze(sat, &sat->region);
        if (sat->learned.count > sat->most_learned) {
            uns_reduce(sat);
            sat->most_learned = sat->learned.count + MOST_LEARNED;
        }
        if (is_done(sat)) {
            memcpy(order, sat->at_rank, (size_t)sat->s->problem->events * sizeof *order);
            return UNS_FOUND;
        }
    }
    return UNS_NOT_FOUND;
}

struct uns_sat *uns_cdcl_start(struct uns_state *s, struct uns_order_answer *answer) {
    struct uns_sat *sat = UNS_NEW(s->pool, struct uns_sat, 1);
    sat->s = s;
    sat->pool = s->pool;
    sat->answer = answer;
    sat->increment = 1;
    sat->most_learned = MOST_LEARNED;
    sat->region = (struct uns_region){.patience = FIRST_PATIENCE, .lag = s->problem->lag};
    uns_graph_init(sat);
    uns_encode(sat);
    uns_completion_init(sat);
    return sat;
}
