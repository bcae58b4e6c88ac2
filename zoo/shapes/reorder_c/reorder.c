/* SPDX-License-Identifier: Apache-2.0
 *
 * Many writers set `started`, then `finished`. The reader fails only if it comes after the first
 * write of one variable and before the first write of the other: later writes change nothing.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST 200
static int started, finished, locked;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *set(void *unused) {
    if (locked)
        pthread_mutex_lock(&mutex);
    started = 1;
    finished = 1;
    if (locked)
        pthread_mutex_unlock(&mutex);
    return unused;
}

static void *check(void *unused) {
    if (locked)
        pthread_mutex_lock(&mutex);
    if (started)
        assert(finished);
    if (locked)
        pthread_mutex_unlock(&mutex);
    return unused;
}

int main(int argc, char **argv) {
    pthread_t threads[MOST + 1];
    int setters = argc > 1 ? atoi(argv[1]) : 2;
    locked = argc > 2 && !strcmp(argv[2], "locked");
    for (int i = 0; i < setters && i < MOST; i++)
        pthread_create(&threads[i], NULL, set, NULL);
    pthread_create(&threads[setters], NULL, check, NULL);
    for (int i = 0; i <= setters; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
