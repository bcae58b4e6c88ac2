/* SPDX-License-Identifier: Apache-2.0
 *
 * Clauses with two watched literals, and what follows from them.
 */
#include "sat.h"
#include <string.h>
#define HEAD (sizeof(struct uns_clause) / sizeof(uint32_t))
_Static_assert(sizeof(struct uns_clause) == 8, "a clause's head is two words of the arena");

void uns_assign(struct uns_sat *sat, lit a, uint32_t reason) {
    sat->value[a] = 1;
    sat->value[uns_not(a)] = -1;
    sat->level[a >> 1] = uns_decided(sat);
    sat->reason[a >> 1] = reason;
    UNS_PUSH(sat->pool, sat->trail, a);
}

static void watch(struct uns_sat *sat, lit watched, uint32_t clause, lit blocker) {
    uns_watches *list = &sat->watches[uns_not(watched)];
    UNS_PUSH(sat->pool, *list, ((struct uns_watch){clause, blocker}));
}

uint32_t uns_clause_new(struct uns_sat *sat, const lit *at, int32_t size, int learned) {
    int64_t begin = sat->arena.count, words = (int64_t)HEAD + size;
    if (begin + words > sat->arena.room) {
        sat->arena.room = 2 * (begin + words) + 4096;
        if (sat->arena.room > UINT32_MAX)
            longjmp(sat->pool->out, UNS_NO_MEMORY);
        sat->arena.at =
            uns_pool_resize(sat->pool, sat->arena.at, (size_t)sat->arena.room, sizeof(uint32_t));
    }
    sat->arena.count += words;
    struct uns_clause *clause = uns_clause_at(sat, (uint32_t)begin);
    *clause = (struct uns_clause){.size = (uint32_t)size, .learned = (uint32_t)learned};
    memcpy(clause->at, at, (size_t)size * sizeof *at);
    watch(sat, at[0], (uint32_t)begin, at[1]);
    watch(sat, at[1], (uint32_t)begin, at[0]);
    if (learned)
        UNS_PUSH(sat->pool, sat->learned, (uint32_t)begin);
    else
        sat->answer->clauses++;
    return (uint32_t)begin;
}

/* Literals that are already decided for good are left out. */
void uns_clause_add(struct uns_sat *sat, const lit *at, int32_t size) {
    uns_pool_tick(sat->pool);
    lit *kept = UNS_NEW(sat->pool, lit, size + 1);
    int32_t count = 0, holds = 0;
    for (int32_t i = 0; i < size; i++) {
        holds |= at[i] == UNS_TRUE_LIT || (at[i] >= 0 && sat->value[at[i]] > 0);
        if (at[i] >= 0 && !sat->value[at[i]])
            kept[count++] = at[i];
    }
    if (!holds && count > 1)
        uns_clause_new(sat, kept, count, 0);
    else if (!holds && count == 1)
        uns_assign(sat, kept[0], UNS_NO_CLAUSE);
    else if (!holds)
        sat->wrong = 1;
    uns_pool_drop(sat->pool, kept);
}

static void set_conflict(struct uns_sat *sat, const struct uns_clause *clause) {
    sat->conflict.count = 0;
    for (uint32_t i = 0; i < clause->size; i++)
        UNS_PUSH(sat->pool, sat->conflict, clause->at[i]);
}

/* Gives the clause another literal to watch; 0 if all but the first are false. */
static int watch_another(struct uns_sat *sat, uint32_t at, struct uns_clause *clause,
                         lit falsified) {
    if (clause->at[0] == falsified) {
        clause->at[0] = clause->at[1];
        clause->at[1] = falsified;
    }
    if (sat->value[clause->at[0]] > 0)
        return 0;
    for (uint32_t i = 2; i < clause->size; i++)
        if (sat->value[clause->at[i]] >= 0) {
            clause->at[1] = clause->at[i];
            clause->at[i] = falsified;
            watch(sat, clause->at[1], at, clause->at[0]);
            return 1;
        }
    return 0;
}

/* The literal has become true: what do the clauses with its negation say? */
static int visit(struct uns_sat *sat, lit a) {
    int64_t kept = 0, good = 1, count = sat->watches[a].count;
    struct uns_watch *list = sat->watches[a].at;
    for (int64_t i = 0; i < count; i++) {
        struct uns_watch w = list[i];
        struct uns_clause *clause = uns_clause_at(sat, w.clause);
        if (!good || sat->value[w.blocker] > 0) {
            list[kept++] = w;
            continue;
        }
        if (watch_another(sat, w.clause, clause, uns_not(a)))
            continue;
        list[kept++] = (struct uns_watch){w.clause, clause->at[0]};
        if (sat->value[clause->at[0]] > 0)
            continue;
        if (sat->value[clause->at[0]] < 0) {
            set_conflict(sat, clause);
            good = 0;
        } else {
            uns_assign(sat, clause->at[0], w.clause);
        }
    }
    sat->watches[a].count = kept;
    return (int)good;
}

/* Clauses first: they cost less than looking for circles. */
int uns_propagate(struct uns_sat *sat) {
    for (;;) {
        uns_pool_tick(sat->pool);
        if (sat->propagated < sat->trail.count) {
            if (!visit(sat, sat->trail.at[sat->propagated++]))
                return 0;
        } else if (sat->linked < sat->trail.count) {
            int32_t at = (int32_t)sat->linked++;
            if (!uns_graph_add(sat, sat->trail.at[at], at))
                return 0;
        } else {
            return 1;
        }
    }
}

void uns_undo(struct uns_sat *sat, int32_t level) {
    if (level >= uns_decided(sat))
        return;
    int64_t keep = sat->levels.at[level];
    uns_graph_undo(sat, keep);
    for (int64_t i = sat->trail.count - 1; i >= keep; i--) {
        lit a = sat->trail.at[i];
        sat->value[a] = sat->value[uns_not(a)] = 0;
        sat->phase[a >> 1] = a & 1;
        uns_heap_put(sat, a >> 1);
    }
    sat->trail.count = keep;
    sat->levels.count = level;
    sat->propagated = keep;
    sat->linked = sat->linked < keep ? sat->linked : keep;
}

static void forget_dropped(struct uns_sat *sat) {
    for (lit a = 0; a < 2 * sat->variables; a++) {
        uns_watches *list = &sat->watches[a];
        int64_t kept = 0;
        for (int64_t i = 0; i < list->count; i++)
            if (!uns_clause_at(sat, list->at[i].clause)->dropped)
                list->at[kept++] = list->at[i];
        list->count = kept;
    }
}

static int is_reason(struct uns_sat *sat, uint32_t at) {
    lit first = uns_clause_at(sat, at)->at[0];
    return sat->value[first] > 0 && sat->reason[first >> 1] == at;
}

/* Drops the older half of what was learned, except what involves two decisions only. */
void uns_reduce(struct uns_sat *sat) {
    int64_t kept = 0, half = sat->learned.count / 2;
    for (int64_t i = 0; i < sat->learned.count; i++) {
        uint32_t at = sat->learned.at[i];
        struct uns_clause *clause = uns_clause_at(sat, at);
        if (i < half && clause->glue > 2 && !is_reason(sat, at))
            clause->dropped = 1;
        else
            sat->learned.at[kept++] = at;
    }
    sat->learned.count = kept;
    forget_dropped(sat);
}

/* Takes nothing for granted any more; what was learned since may have depended on it. */
void uns_thaw(struct uns_sat *sat) {
    uns_undo(sat, 0);
    if (!sat->frozen)
        return;
    for (int64_t i = 0; i < sat->learned.count; i++)
        uns_clause_at(sat, sat->learned.at[i])->dropped = 1;
    sat->learned.count = sat->frozen = 0;
    forget_dropped(sat);
}
