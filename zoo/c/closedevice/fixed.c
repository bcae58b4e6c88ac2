/* SPDX-License-Identifier: Apache-2.0 */
/* A device is closed while somebody still looks at its buffer. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *buffer;

static void *look(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    if (buffer)
        assert(*buffer == 7);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *close_device(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    int *old = buffer;
    buffer = NULL;
    free(old);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t viewer, closer;
    buffer = malloc(sizeof *buffer);
    *buffer = 7;
    pthread_create(&viewer, NULL, look, NULL);
    pthread_create(&closer, NULL, close_device, NULL);
    pthread_join(viewer, NULL);
    pthread_join(closer, NULL);
    return 0;
}
