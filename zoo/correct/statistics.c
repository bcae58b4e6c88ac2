/* SPDX-License-Identifier: Apache-2.0 */
/* Hits are counted without a lock: some are lost, and nobody minds. What matters is under the lock.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static long hits;
static long last_worker;
static long served;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *serve(void *arg) {
    for (int i = 0; i < 4; i++) {
        hits++;
        last_worker = (long)arg;
        pthread_mutex_lock(&lock);
        served++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t workers[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&workers[i], NULL, serve, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(workers[i], NULL);
    assert(served == 12);
    assert(hits >= 1 && hits <= 12);
    printf("about %ld hits, the last by %ld\n", hits, last_worker);
    return 0;
}
