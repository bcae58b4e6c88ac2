/* SPDX-License-Identifier: Apache-2.0
 *
 * What a conflict teaches: the first unique implication point's clause.
 */
#include "sat.h"

/* Counts the literal in; 1 if it is of the present level. */
static int note(struct uns_sat *sat, lit a) {
    int32_t v = a >> 1;
    if (sat->seen[v] || sat->level[v] <= sat->frozen)
        return 0;
    sat->seen[v] = 1;
    uns_bump(sat, v);
    if (sat->level[v] == uns_decided(sat))
        return 1;
    UNS_PUSH(sat->pool, sat->lemma, a);
    return 0;
}

static int note_reason(struct uns_sat *sat, lit implied) {
    const struct uns_clause *clause = uns_clause_at(sat, sat->reason[implied >> 1]);
    int more = 0;
    for (uint32_t i = 0; i < clause->size; i++)
        if (clause->at[i] != implied)
            more += note(sat, clause->at[i]);
    return more;
}

/* Whether the rest of the lemma implies this literal, by its own reason. */
static int is_redundant(struct uns_sat *sat, lit a) {
    uint32_t reason = sat->reason[a >> 1];
    if (reason == UNS_NO_CLAUSE)
        return 0;
    const struct uns_clause *clause = uns_clause_at(sat, reason);
    for (uint32_t i = 0; i < clause->size; i++) {
        int32_t v = clause->at[i] >> 1;
        if (v != a >> 1 && !sat->seen[v] && sat->level[v] > sat->frozen)
            return 0;
    }
    return 1;
}

static void shorten(struct uns_sat *sat) {
    int64_t kept = 1, count = sat->lemma.count;
    sat->conflict.count = 0; /* remembers what is to be unmarked */
    for (int64_t i = 0; i < count; i++)
        UNS_PUSH(sat->pool, sat->conflict, sat->lemma.at[i]);
    for (int64_t i = 1; i < count; i++)
        if (!is_redundant(sat, sat->lemma.at[i]))
            sat->lemma.at[kept++] = sat->lemma.at[i];
    sat->lemma.count = kept;
    for (int64_t i = 0; i < count; i++)
        sat->seen[sat->conflict.at[i] >> 1] = 0;
}

/* Puts the literal of the highest level second: it is watched. */
static int32_t highest(struct uns_sat *sat) {
    if (sat->lemma.count < 2)
        return sat->frozen;
    int64_t best = 1;
    for (int64_t i = 2; i < sat->lemma.count; i++)
        if (sat->level[sat->lemma.at[i] >> 1] > sat->level[sat->lemma.at[best] >> 1])
            best = i;
    lit second = sat->lemma.at[best];
    sat->lemma.at[best] = sat->lemma.at[1];
    sat->lemma.at[1] = second;
    return sat->level[second >> 1];
}

int32_t uns_analyse(struct uns_sat *sat) {
    int open = 0;
    sat->lemma.count = 0;
    UNS_PUSH(sat->pool, sat->lemma, 0);
    for (int64_t i = 0; i < sat->conflict.count; i++)
        open += note(sat, sat->conflict.at[i]);
    int64_t at = sat->trail.count;
    for (;;) {
        do
            at--;
        while (!sat->seen[sat->trail.at[at] >> 1]);
        if (--open == 0)
            break;
        sat->seen[sat->trail.at[at] >> 1] = 0;
        open += note_reason(sat, sat->trail.at[at]);
    }
    sat->lemma.at[0] = uns_not(sat->trail.at[at]);
    shorten(sat);
    sat->increment *= 1.0 / 0.95;
    return highest(sat);
}

/* How many levels the literals are of. */
uint32_t uns_glue(struct uns_sat *sat, const lit *at, int64_t size) {
    uint32_t count = 0;
    for (int64_t i = 0; i < size; i++) {
        int fresh = 1;
        for (int64_t j = 0; j < i && fresh && j < 16; j++)
            fresh = sat->level[at[i] >> 1] != sat->level[at[j] >> 1];
        count += (uint32_t)fresh;
    }
    return count;
}
