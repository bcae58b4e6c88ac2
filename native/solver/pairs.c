/* SPDX-License-Identifier: Apache-2.0
 *
 * A variable for a pair of events, made when it is first asked for.
 */
#include "sat.h"

static uint64_t mixed(uint64_t key) {
    key *= 0x9E3779B97F4A7C15ull;
    return key ^ key >> 29;
}

static int64_t find(const struct uns_sat *sat, uint64_t key) {
    int64_t mask = sat->pair_keys.room - 1, at = (int64_t)(mixed(key) & (uint64_t)mask);
    while (sat->pair_variables.at[at] >= 0 && sat->pair_keys.at[at] != key)
        at = (at + 1) & mask;
    return at;
}

static void resize(struct uns_sat *sat, int64_t room) {
    uint64_t *keys = sat->pair_keys.at;
    int32_t *variables = sat->pair_variables.at;
    int64_t old = sat->pair_keys.room;
    sat->pair_keys.at = UNS_NEW(sat->pool, uint64_t, room);
    sat->pair_variables.at = UNS_NEW(sat->pool, int32_t, room);
    sat->pair_keys.room = sat->pair_variables.room = room;
    for (int64_t i = 0; i < room; i++)
        sat->pair_variables.at[i] = -1;
    for (int64_t i = 0; i < old; i++)
        if (variables[i] >= 0) {
            int64_t at = find(sat, keys[i]);
            sat->pair_keys.at[at] = keys[i];
            sat->pair_variables.at[at] = variables[i];
        }
    uns_pool_drop(sat->pool, keys);
    uns_pool_drop(sat->pool, variables);
}

/* The literal for "a first"; its variable is true if the event of the lower number is. */
lit uns_pair(struct uns_sat *sat, int32_t a, int32_t b, int *fresh) {
    if (2 * sat->pairs >= sat->pair_keys.room)
        resize(sat, sat->pair_keys.room ? 2 * sat->pair_keys.room : 1024);
    int32_t low = a < b ? a : b, high = a < b ? b : a;
    uint64_t key = (uint64_t)low << 32 | (uint32_t)high;
    int64_t at = find(sat, key);
    *fresh = sat->pair_variables.at[at] < 0;
    if (*fresh) {
        const double *guess = sat->s->problem->guess;
        int32_t v = uns_new_variable(sat, guess[low] > guess[high] ? guess[low] : guess[high]);
        sat->phase[v] = sat->rank[low] > sat->rank[high];
        sat->pair_keys.at[at] = key;
        sat->pair_variables.at[at] = v;
        sat->pairs++;
    }
    return 2 * sat->pair_variables.at[at] + (a > b);
}

/* The literal for "a before b", which may be known. */
lit uns_order_lit(struct uns_sat *sat, int32_t a, int32_t b) {
    if (uns_is_before(&sat->s->closure, a, b))
        return UNS_TRUE_LIT;
    if (uns_is_before(&sat->s->closure, b, a))
        return UNS_FALSE_LIT;
    int fresh;
    lit first = uns_pair(sat, a, b, &fresh);
    if (fresh) {
        sat->source[first] = sat->sink[uns_not(first)] = a;
        sat->sink[first] = sat->source[uns_not(first)] = b;
    }
    return first;
}
