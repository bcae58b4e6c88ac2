/* SPDX-License-Identifier: Apache-2.0 */
/* A guest waits for the door to be opened; the flag is atomic, and set without the lock. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static atomic_int is_open;

static void *guest(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    while (!atomic_load(&is_open))
        pthread_cond_wait(&bell, &lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, guest, NULL);
    atomic_store(&is_open, 1);
    pthread_cond_signal(&bell);
    pthread_join(thread, NULL);
    return 0;
}
