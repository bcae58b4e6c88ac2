/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a script; a collector flushes the cache of resolved properties meanwhile. */
#include <assert.h>
#include <pthread.h>

#define PROPERTIES 6
#define UNKNOWN    0

enum { WIDTH, HEIGHT, TITLE, COLOR };

/* Where properties live; an empty cache need not be flushed. */
struct property_cache {
    long empty;
    long slots[PROPERTIES];
};

static struct property_cache cache = {.empty = 1};
static const long layout[PROPERTIES] = {8, 16, 24, 32, 40, 48};
static const long script[] = {TITLE, WIDTH, WIDTH, WIDTH, WIDTH, WIDTH};

static void fill(long property, long slot) {
    cache.slots[property] = slot;
    cache.empty = 0;
}

static void flush(void) {
    if (!cache.empty) {
        for (long property = 0; property < PROPERTIES; property++)
            cache.slots[property] = UNKNOWN;
        cache.empty = 1;
    }
}

static long resolve(long property) {
    long slot = cache.slots[property];
    if (slot == UNKNOWN) {
        slot = layout[property];
        fill(property, slot);
    }
    return slot;
}

static void *run(void *arg) {
    long *touched = arg;
    for (unsigned i = 0; i < sizeof script / sizeof *script; i++)
        *touched += resolve(script[i]);
    return NULL;
}

static void *collect(void *arg) {
    (void)arg;
    flush();
    return NULL;
}

static long cached(void) {
    long count = 0;
    for (long property = 0; property < PROPERTIES; property++)
        count += cache.slots[property] != UNKNOWN;
    return count;
}

int main(void) {
    pthread_t interpreter, collector;
    long touched = resolve(HEIGHT) + resolve(COLOR);
    pthread_create(&interpreter, NULL, run, &touched);
    pthread_create(&collector, NULL, collect, NULL);
    pthread_join(interpreter, NULL);
    pthread_join(collector, NULL);
    flush();
    assert(!cached());
    return 0;
}
