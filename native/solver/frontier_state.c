/* SPDX-License-Identifier: Apache-2.0 */
#include "frontier.h"
#include <string.h>
#define MOST_SEEN (1 << 24) /* states, in 128 MiB */

struct class_table {
    int64_t mask;
    int32_t *cell, *class;
    uint64_t *value;
    int32_t count;
};

static int32_t class_of(struct class_table *table, int32_t cell, uint64_t value) {
    uint64_t hash = uns_front_mix(cell, (int32_t)value) ^ uns_front_mix((int32_t)(value >> 32), 1);
    int64_t at = (int64_t)(hash & (uint64_t)table->mask);
    while (table->class[at] >= 0 && (table->cell[at] != cell || table->value[at] != value))
        at = (at + 1) & table->mask;
    if (table->class[at] < 0) {
        table->cell[at] = cell;
        table->value[at] = value;
        table->class[at] = table->count++;
    }
    return table->class[at];
}

static struct class_table new_table(struct uns_pool *pool, int64_t entries) {
    struct class_table table = {.mask = 15};
    while (table.mask < 2 * entries)
        table.mask = 2 * table.mask + 1;
    table.cell = UNS_NEW(pool, int32_t, table.mask + 1);
    table.class = UNS_NEW(pool, int32_t, table.mask + 1);
    table.value = UNS_NEW(pool, uint64_t, table.mask + 1);
    memset(table.class, -1, (size_t)(table.mask + 1) * sizeof(int32_t));
    return table;
}

static void classify(struct uns_front *f) {
    const struct uns_order_problem *p = f->s->problem;
    struct uns_pool *pool = f->s->pool;
    struct class_table table = new_table(pool, (int64_t)p->events + p->cells);
    f->class = UNS_NEW(pool, int32_t, p->events);
    f->left = UNS_NEW(pool, int32_t, p->events + p->cells + 1);
    f->memory = UNS_NEW(pool, int32_t, p->cells);
    for (int32_t e = 0; e < p->events; e++)
        if (p->access[e]) {
            f->class[e] = class_of(&table, p->cell[e], p->value[e]);
            f->left[f->class[e]] += p->access[e] == UNS_WRITES;
        }
    for (int32_t c = 0; c < p->cells; c++)
        f->memory[c] = f->s->begun[c] ? class_of(&table, c, f->s->initial[c]) : -1;
    uns_pool_drop(pool, table.cell);
    uns_pool_drop(pool, table.class);
    uns_pool_drop(pool, table.value);
}

static void chain(struct uns_front *f) {
    const struct uns_order_problem *p = f->s->problem;
    int64_t size = (int64_t)p->cells * p->threads;
    f->heads = UNS_NEW(f->s->pool, int32_t, size);
    f->following = UNS_NEW(f->s->pool, int32_t, p->events);
    memset(f->heads, -1, (size_t)size * sizeof(int32_t));
    for (int32_t e = p->events - 1; e >= 0; e--)
        if (p->access[e]) {
            int32_t *head = &f->heads[(int64_t)p->cell[e] * p->threads + f->s->closure.thread[e]];
            f->following[e] = *head;
            *head = e;
        }
}

void uns_front_init(struct uns_front *f) {
    const struct uns_order_problem *p = f->s->problem;
    classify(f);
    chain(f);
    f->next = UNS_NEW(f->s->pool, int32_t, p->threads);
    memcpy(f->next, p->first, (size_t)p->threads * sizeof(int32_t));
    f->held = UNS_NEW(f->s->pool, uint8_t, p->locks);
    f->lock = UNS_NEW(f->s->pool, int32_t, p->events);
    for (int32_t lock = 0; lock < p->locks; lock++)
        for (int32_t i = p->section_first[lock]; i < p->section_first[lock + 1]; i++) {
            f->lock[p->acquire[i]] = lock + 1;
            if (p->release[i] >= 0)
                f->lock[p->release[i]] = -lock - 1;
        }
}

void uns_front_free(struct uns_front *f) {
    void *all[] = {f->class, f->left, f->memory,  f->heads,    f->following, f->next,
                   f->held,  f->lock, f->done.at, f->nodes.at, f->seen.at};
    struct uns_pool *pool = f->s->pool;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        uns_pool_drop(pool, all[i]);
    uns_pool_drop(pool, f);
}

static void seen_resize(struct uns_front *f) {
    uint64_t *old = f->seen.at;
    int64_t room = f->seen.room;
    f->seen.room = room ? 2 * room : 4096;
    f->seen.at = UNS_NEW(f->s->pool, uint64_t, f->seen.room);
    for (int64_t i = 0; i < room; i++)
        if (old[i]) {
            int64_t at = (int64_t)(old[i] & (uint64_t)(f->seen.room - 1));
            while (f->seen.at[at])
                at = (at + 1) & (f->seen.room - 1);
            f->seen.at[at] = old[i];
        }
    uns_pool_drop(f->s->pool, old);
}

/* Forgetting costs time only. */
static void seen_make_room(struct uns_front *f) {
    if (f->seen.room < MOST_SEEN) {
        seen_resize(f);
        return;
    }
    memset(f->seen.at, 0, (size_t)f->seen.room * sizeof *f->seen.at);
    f->seen_count = 0;
}

/* Whether the search has not been in this state yet: it need not come twice. */
int uns_front_is_new(struct uns_front *f) {
    uint64_t key = f->hash;
    for (int32_t t = 0; t < f->s->problem->threads; t++)
        key ^= uns_front_mix(f->next[t], -2 - t);
    key |= !key;
    if (2 * f->seen_count >= f->seen.room)
        seen_make_room(f);
    int64_t at = (int64_t)(key & (uint64_t)(f->seen.room - 1));
    for (; f->seen.at[at]; at = (at + 1) & (f->seen.room - 1))
        if (f->seen.at[at] == key)
            return 0;
    f->seen.at[at] = key;
    f->seen_count++;
    return 1;
}
