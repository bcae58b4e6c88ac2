/* SPDX-License-Identifier: Apache-2.0 */
/* A cook waits for orders; the waiter rings once he has put one down. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static int orders;

static void *cook(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    while (!orders)
        pthread_cond_wait(&bell, &lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *serve(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    orders = 1;
    pthread_cond_signal(&bell);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t kitchen, hall;
    pthread_create(&kitchen, NULL, cook, NULL);
    pthread_create(&hall, NULL, serve, NULL);
    pthread_join(kitchen, NULL);
    pthread_join(hall, NULL);
    printf("%d\n", orders);
    return 0;
}
