/* SPDX-License-Identifier: Apache-2.0 */
/* Parcels pass through a ring of two places; two clerks take them out. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define PLACES  2
#define PARCELS 4

struct ring {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    pthread_cond_t emptied;
    int place[PLACES];
    int used;
    int first;
};

static struct ring ring = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0};
static int delivered[PARCELS + 1];

static void put(struct ring *to, int parcel) {
    pthread_mutex_lock(&to->lock);
    while (to->used == PLACES)
        pthread_cond_wait(&to->emptied, &to->lock);
    to->place[(to->first + to->used) % PLACES] = parcel;
    to->used++;
    pthread_cond_broadcast(&to->filled);
    pthread_mutex_unlock(&to->lock);
}

static int take(struct ring *from) {
    pthread_mutex_lock(&from->lock);
    while (from->used == 0)
        pthread_cond_wait(&from->filled, &from->lock);
    int parcel = from->place[from->first];
    from->first = (from->first + 1) % PLACES;
    from->used--;
    assert(from->used >= 0);
    pthread_cond_signal(&from->emptied);
    pthread_mutex_unlock(&from->lock);
    return parcel;
}

static void *clerk(void *arg) {
    (void)arg;
    for (int i = 0; i < PARCELS / 2; i++)
        delivered[take(&ring)]++;
    return NULL;
}

int main(void) {
    pthread_t clerks[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&clerks[i], NULL, clerk, NULL);
    for (int parcel = 1; parcel <= PARCELS; parcel++)
        put(&ring, parcel);
    for (int i = 0; i < 2; i++)
        pthread_join(clerks[i], NULL);
    puts("all delivered");
    return 0;
}
