/* SPDX-License-Identifier: Apache-2.0 */
/* A plain struct is published by an atomic flag: release here, acquire there. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sched.h>

static struct {
    int begin;
    int end;
} window;
static atomic_bool ready;

static void *produce(void *arg) {
    (void)arg;
    window.begin = 3;
    window.end = 9;
    atomic_store_explicit(&ready, true, memory_order_release);
    return NULL;
}

static void *consume(void *arg) {
    (void)arg;
    while (!atomic_load_explicit(&ready, memory_order_acquire))
        sched_yield();
    assert(window.end - window.begin == 6);
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, consume, NULL);
    pthread_create(&threads[1], NULL, produce, NULL);
    pthread_create(&threads[2], NULL, consume, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
