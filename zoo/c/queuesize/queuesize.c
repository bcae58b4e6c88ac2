/* SPDX-License-Identifier: Apache-2.0 */
/* A queue with room for two; whether there is room is asked outside of the lock. */
#include <assert.h>
#include <pthread.h>

#define ROOM 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int items[ROOM], used = 1;

static void put(int item) {
    pthread_mutex_lock(&lock);
    assert(used < ROOM);
    items[used] = item;
    used++;
    pthread_mutex_unlock(&lock);
}

static int is_full(void) {
    pthread_mutex_lock(&lock);
    int full = used == ROOM;
    pthread_mutex_unlock(&lock);
    return full;
}

static void *produce(void *arg) {
    (void)arg;
    if (!is_full())
        put(1);
    return NULL;
}

int main(void) {
    pthread_t producers[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&producers[i], NULL, produce, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(producers[i], NULL);
    return 0;
}
