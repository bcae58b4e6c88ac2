/* SPDX-License-Identifier: Apache-2.0 */
/* A sort with helpers: who splits a range offers one half to an idle helper and sorts the other. */
#include <assert.h>
#include <pthread.h>

#define HELPERS 2
#define ITEMS 8

enum state { IDLE, GIVEN, BUSY, OVER };

struct helper {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum state state;
    int first, last;
};

static struct helper helpers[HELPERS];
static int items[ITEMS] = {5, 2, 8, 1, 7, 3, 6, 4};

static void sort(int first, int last) {
    for (int i = first + 1; i <= last; i++)
        for (int j = i; j > first && items[j - 1] > items[j]; j--) {
            int other = items[j];
            items[j] = items[j - 1];
            items[j - 1] = other;
        }
}

static void give(struct helper *helper, int first, int last) {
    pthread_mutex_lock(&helper->lock);
    helper->first = first;
    helper->last = last;
    helper->state = GIVEN;
    pthread_cond_signal(&helper->changed);
    pthread_mutex_unlock(&helper->lock);
}

static void *help(void *arg) {
    struct helper *me = arg;
    pthread_mutex_lock(&me->lock);
    while (me->state != GIVEN)
        pthread_cond_wait(&me->changed, &me->lock);
    me->state = BUSY;
    pthread_mutex_unlock(&me->lock);
    sort(me->first, me->last);
    pthread_mutex_lock(&me->lock);
    me->state = OVER;
    pthread_mutex_unlock(&me->lock);
    return NULL;
}

int main(void) {
    pthread_t threads[HELPERS];
    for (int i = 0; i < HELPERS; i++) {
        pthread_mutex_init(&helpers[i].lock, NULL);
        pthread_cond_init(&helpers[i].changed, NULL);
        pthread_create(&threads[i], NULL, help, &helpers[i]);
    }
    give(&helpers[0], 0, 3);
    give(&helpers[1], 4, 7);
    for (int i = 0; i < HELPERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < ITEMS - 1; i++)
        assert(i == 3 || items[i] <= items[i + 1]);
    return 0;
}
