/* SPDX-License-Identifier: Apache-2.0 */
/* Sells tickets at several counters until there are none left. */
#include <assert.h>
#include <pthread.h>

#define COUNTERS 3
#define TICKETS  5

struct office {
    pthread_mutex_t lock;
    long left;
};

static struct office office = {.lock = PTHREAD_MUTEX_INITIALIZER, .left = TICKETS};
static long sold[COUNTERS];

static int available(struct office *o) {
    pthread_mutex_lock(&o->lock);
    long left = o->left;
    pthread_mutex_unlock(&o->lock);
    return left > 0;
}

static void sell(struct office *o) {
    pthread_mutex_lock(&o->lock);
    o->left -= 1;
    pthread_mutex_unlock(&o->lock);
}

static void *serve(void *arg) {
    long *count = arg;
    while (available(&office)) {
        sell(&office);
        *count += 1;
    }
    return NULL;
}

int main(void) {
    pthread_t threads[COUNTERS];
    long total = 0;
    for (int i = 0; i < COUNTERS; i++)
        pthread_create(&threads[i], NULL, serve, &sold[i]);
    for (int i = 0; i < COUNTERS; i++) {
        pthread_join(threads[i], NULL);
        total += sold[i];
    }
    assert(total == TICKETS);
    return 0;
}
