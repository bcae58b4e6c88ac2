/* SPDX-License-Identifier: Apache-2.0
 *
 * Lock-heavy: a table of chains under 64 mutexes. Most operations count a resident; every 16th lets
 * a guest in, or out if it is there. Both come to the same in any order.
 */
#include "kernels.h"
#include <pthread.h>
#include <stdlib.h>

#define BUCKETS   (1u << 14)
#define STRIPES   64u
#define RESIDENTS 32768u
#define GUESTS    4096u

struct node {
    struct node *next;
    uint64_t key, count;
};
static struct node **buckets;
static struct stripe {
    _Alignas(LINE) pthread_mutex_t mutex;
} stripes[STRIPES];
static long operations;

static struct node **place_of(uint32_t key) {
    struct node **place = &buckets[(key * 2654435761u) >> 18];
    while (*place && (*place)->key != key)
        place = &(*place)->next;
    return place;
}

static void insert(struct node **place, uint32_t key) {
    struct node *node = malloc(sizeof *node);
    *node = (struct node){.key = key, .count = 1};
    *place = node;
}

static void count_resident(uint32_t key) {
    struct node **place = place_of(key);
    if (*place)
        (*place)->count++;
    else
        insert(place, key);
}

static void pass_door(uint32_t key) {
    struct node **place = place_of(key), *node = *place;
    if (!node) {
        insert(place, key);
        return;
    }
    *place = node->next;
    free(node);
}

static void operate(int me) {
    uint32_t drawn = (uint32_t)me * 7919u + 1;
    for (long i = 0; i < operations / threads; i++) {
        int guest = draw(&drawn) % 16 == 0;
        uint32_t key = guest ? RESIDENTS + draw(&drawn) % GUESTS : draw(&drawn) % RESIDENTS;
        pthread_mutex_t *mutex = &stripes[(key * 2654435761u >> 18) % STRIPES].mutex;
        pthread_mutex_lock(mutex);
        if (guest)
            pass_door(key);
        else
            count_resident(key);
        pthread_mutex_unlock(mutex);
    }
}

uint64_t hash_table(long size) {
    operations = size;
    buckets = data(BUCKETS * sizeof *buckets);
    for (uint32_t i = 0; i < STRIPES; i++)
        pthread_mutex_init(&stripes[i].mutex, NULL);
    in_parallel(operate);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < BUCKETS; i++)
        for (const struct node *node = buckets[i]; node; node = node->next) {
            sum += node->key * node->count;
            touches(sizeof *node + sizeof(size_t)); /* malloc's own word */
        }
    return sum;
}
