/* SPDX-License-Identifier: Apache-2.0
 *
 * Two values that belong together, each with its lock: a reader that comes between the two stages
 * of all writers sees the new first value and the old second one.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST 200
static int first, second, locked;
static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER,
                       second_lock = PTHREAD_MUTEX_INITIALIZER, both = PTHREAD_MUTEX_INITIALIZER;

static void *write_both(void *unused) {
    if (locked)
        pthread_mutex_lock(&both);
    pthread_mutex_lock(&first_lock);
    first = 1;
    pthread_mutex_unlock(&first_lock);
    pthread_mutex_lock(&second_lock);
    second = first + 1;
    pthread_mutex_unlock(&second_lock);
    if (locked)
        pthread_mutex_unlock(&both);
    return unused;
}

static void *read_both(void *unused) {
    if (locked)
        pthread_mutex_lock(&both);
    pthread_mutex_lock(&first_lock);
    int one = first;
    pthread_mutex_unlock(&first_lock);
    if (one) {
        pthread_mutex_lock(&second_lock);
        int other = second;
        pthread_mutex_unlock(&second_lock);
        assert(other == one + 1);
    }
    if (locked)
        pthread_mutex_unlock(&both);
    return unused;
}

int main(int argc, char **argv) {
    pthread_t threads[MOST + 1];
    int writers = argc > 1 ? atoi(argv[1]) : 2;
    locked = argc > 2 && !strcmp(argv[2], "locked");
    for (int i = 0; i < writers && i < MOST; i++)
        pthread_create(&threads[i], NULL, write_both, NULL);
    pthread_create(&threads[writers], NULL, read_both, NULL);
    for (int i = 0; i <= writers; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
