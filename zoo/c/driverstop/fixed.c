/* SPDX-License-Identifier: Apache-2.0 */
/* A driver is stopped while a request may still come in. */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stopping, requests, stopped;

static int enter(void) {
    pthread_mutex_lock(&lock);
    int open = !stopping;
    requests += open;
    pthread_mutex_unlock(&lock);
    return open;
}

static void *serve(void *arg) {
    (void)arg;
    if (enter()) {
        assert(!stopped);
        pthread_mutex_lock(&lock);
        requests--;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *stop(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    stopping = 1;
    int left = requests;
    pthread_mutex_unlock(&lock);
    if (!left)
        stopped = 1;
    return NULL;
}

int main(void) {
    pthread_t server, stopper;
    pthread_create(&server, NULL, serve, NULL);
    pthread_create(&stopper, NULL, stop, NULL);
    pthread_join(server, NULL);
    pthread_join(stopper, NULL);
    return 0;
}
