/* SPDX-License-Identifier: Apache-2.0 */
/* Two workers go through three phases together, by a barrier of their own. */
#include <pthread.h>
#include <stdio.h>

#define WORKERS 2
#define PHASES  3

struct barrier {
    pthread_mutex_t lock;
    pthread_cond_t all_here;
    int here;
    int round;
};

static struct barrier barrier = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
static int work[WORKERS];

static void barrier_wait(struct barrier *at) {
    pthread_mutex_lock(&at->lock);
    at->here++;
    if (at->here == WORKERS) {
        at->here = 0;
        at->round++;
        pthread_cond_broadcast(&at->all_here);
    } else {
        int round = at->round;
        while (at->round == round)
            pthread_cond_wait(&at->all_here, &at->lock);
    }
    pthread_mutex_unlock(&at->lock);
}

static void *worker(void *arg) {
    int *own = arg;
    for (int phase = 0; phase < PHASES; phase++) {
        (*own)++;
        barrier_wait(&barrier);
    }
    return NULL;
}

int main(void) {
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, worker, &work[i]);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    printf("%d phases\n", work[0]);
    return 0;
}
