/* SPDX-License-Identifier: Apache-2.0
 *
 * One number that all threads count up, thrice: under a mutex, atomically, and with a race.
 */
#include "kernels.h"
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t guarded;
static _Atomic uint64_t atomic;
static volatile uint64_t racy;
static long rounds;

static void count(int me) {
    (void)me;
    for (long i = 0; i < rounds; i++) {
        pthread_mutex_lock(&mutex);
        guarded++;
        pthread_mutex_unlock(&mutex);
        atomic++;
        racy++;
    }
}

uint64_t counter(long size) {
    rounds = size / threads;
    in_parallel(count);
    return guarded + atomic; /* how many counts the race lost is another matter */
}
