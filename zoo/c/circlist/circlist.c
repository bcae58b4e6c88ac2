/* SPDX-License-Identifier: Apache-2.0 */
/* Spreads jobs over the servers in turn: the server at the head of a circular list gets the job and
 * moves to the tail. */
#include <assert.h>
#include <pthread.h>

#define SERVERS     4
#define DISPATCHERS 2
#define JOBS        5
#define SLOTS       8

struct circular_list {
    pthread_mutex_t lock;
    long head;
    long tail;
    long items[SLOTS];
};

static struct circular_list servers = {.lock = PTHREAD_MUTEX_INITIALIZER};
static long load[DISPATCHERS][SERVERS];

static long take_head(struct circular_list *list) {
    pthread_mutex_lock(&list->lock);
    long slot = list->head;
    list->head = slot + 1;
    long item = list->items[slot % SLOTS];
    pthread_mutex_unlock(&list->lock);
    return item;
}

static void append(struct circular_list *list, long item) {
    pthread_mutex_lock(&list->lock);
    long slot = list->tail;
    list->items[slot % SLOTS] = item;
    list->tail = slot + 1;
    pthread_mutex_unlock(&list->lock);
}

static long advance(struct circular_list *list) {
    long item = take_head(list);
    append(list, item);
    return item;
}

static void *dispatch(void *arg) {
    long *mine = arg;
    for (int job = 0; job < JOBS; job++)
        mine[advance(&servers)]++;
    return NULL;
}

/* Whether each server is still followed by its successor. */
static int in_turn(const struct circular_list *list) {
    for (long slot = list->head; slot + 1 < list->tail; slot++)
        if (list->items[(slot + 1) % SLOTS] != (list->items[slot % SLOTS] + 1) % SERVERS)
            return 0;
    return 1;
}

int main(void) {
    pthread_t threads[DISPATCHERS];
    for (long server = 0; server < SERVERS; server++)
        append(&servers, server);
    for (int i = 0; i < DISPATCHERS; i++)
        pthread_create(&threads[i], NULL, dispatch, load[i]);
    for (int i = 0; i < DISPATCHERS; i++)
        pthread_join(threads[i], NULL);
    assert(in_turn(&servers));
    return 0;
}
