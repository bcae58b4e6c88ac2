/* SPDX-License-Identifier: Apache-2.0 */
/* A sequence lock: readers look again if the number was odd or has changed. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_uint sequence;
static int hours, minutes;

static void set(int new_hours, int new_minutes) {
    atomic_fetch_add(&sequence, 1);
    hours = new_hours;
    minutes = new_minutes;
    atomic_fetch_add(&sequence, 1);
}

static int get(void) {
    for (;;) {
        unsigned begin = atomic_load(&sequence);
        if (begin & 1) {
            sched_yield();
            continue;
        }
        int now = hours * 60 + minutes;
        if (atomic_load(&sequence) == begin)
            return now;
    }
}

static void *tick(void *arg) {
    (void)arg;
    set(9, 59);
    set(10, 0);
    return NULL;
}

static void *look(void *arg) {
    (void)arg;
    int first = get();
    int second = get();
    assert(first == 0 || first == 599 || first == 600);
    assert(second >= first);
    return NULL;
}

int main(void) {
    pthread_t clock, readers[2];
    pthread_create(&readers[0], NULL, look, NULL);
    pthread_create(&clock, NULL, tick, NULL);
    pthread_create(&readers[1], NULL, look, NULL);
    pthread_join(clock, NULL);
    pthread_join(readers[0], NULL);
    pthread_join(readers[1], NULL);
    return 0;
}
