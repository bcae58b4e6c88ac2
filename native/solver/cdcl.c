/* SPDX-License-Identifier: Apache-2.0
 *
 * The search: decide, propagate, learn, go back. Restarts go back only as far as the trouble
 * reaches, and twice as far each time: the rest of a long run is none of its business.
 */
#include "sat.h"
#include <string.h>
#define FIRST_PATIENCE 100
#define MOST_LEARNED   20000

struct region {
    int64_t conflicts, patience, furthest;
    int32_t low, high;
};

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

static void settle_conflict(struct uns_sat *sat, struct region *region) {
    int32_t here = uns_decided(sat), level = uns_analyse(sat);
    learn(sat, level);
    sat->conflicts++;
    region->conflicts++;
    region->low = level < region->low ? level : region->low;
    region->high = here > region->high ? here : region->high;
}

static void start_region(struct uns_sat *sat, struct region *region) {
    region->conflicts = 0;
    region->low = region->high = uns_decided(sat);
}

static void mind_region(struct uns_sat *sat, struct region *region) {
    if (sat->trail.count > region->furthest) {
        region->furthest = sat->trail.count;
        region->patience = FIRST_PATIENCE;
        start_region(sat, region);
    } else if (region->conflicts > region->patience) {
        int32_t back = 2 * region->low - region->high;
        uns_undo(sat, back > 0 ? back : 0);
        region->patience += region->patience / 4;
        start_region(sat, region);
    }
}

static void decide(struct uns_sat *sat, int32_t v) {
    UNS_PUSH(sat->pool, sat->levels, (int32_t)sat->trail.count);
    uns_assign(sat, 2 * v + sat->phase[v], UNS_NO_CLAUSE);
}

static int search(struct uns_sat *sat) {
    struct region region = {.patience = FIRST_PATIENCE};
    int64_t most = MOST_LEARNED;
    while (!sat->wrong) {
        if (!uns_propagate(sat)) {
            if (!uns_decided(sat))
                return 0;
            settle_conflict(sat, &region);
            continue;
        }
        mind_region(sat, &region);
        if (sat->learned.count > most) {
            uns_reduce(sat);
            most = sat->learned.count + MOST_LEARNED;
        }
        int32_t v = uns_heap_take(sat);
        if (v >= 0)
            decide(sat, v);
        else if (uns_complete(sat))
            return 1;
        else
            region = (struct region){.patience = FIRST_PATIENCE};
    }
    return 0;
}

int uns_cdcl(struct uns_state *s, int32_t *order, struct uns_order_answer *answer) {
    struct uns_sat *sat = UNS_NEW(s->pool, struct uns_sat, 1);
    sat->s = s;
    sat->pool = s->pool;
    sat->increment = 1;
    uns_graph_init(sat);
    uns_encode(sat);
    uns_completion_init(sat);
    int found = search(sat);
    if (found)
        memcpy(order, sat->at_rank, (size_t)s->problem->events * sizeof *order);
    answer->variables = sat->variables;
    answer->clauses = sat->clauses;
    answer->conflicts = sat->conflicts;
    return found;
}
