/* SPDX-License-Identifier: Apache-2.0
 *
 * A flag that is set without the mutex of the condition: the notice may come between the look at it
 * and the wait.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

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

int main(int count, char **words) {
    int holds = count > 1 && words[1];
    pthread_t thread;
    pthread_create(&thread, NULL, guest, NULL);
    if (holds)
        pthread_mutex_lock(&lock);
    atomic_store(&is_open, 1);
    if (holds)
        pthread_mutex_unlock(&lock);
    pthread_cond_signal(&bell);
    pthread_join(thread, NULL);
    puts("ok");
    return 0;
}
