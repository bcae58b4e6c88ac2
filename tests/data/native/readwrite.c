/* SPDX-License-Identifier: Apache-2.0
 *
 * Two threads change a number under a read-write lock, and read it under the same one.
 */
#include <pthread.h>
#include <stdio.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int number;

static void *change(void *unused) {
    (void)unused;
    pthread_rwlock_wrlock(&lock);
    number++;
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_rdlock(&lock);
    int seen = number;
    pthread_rwlock_unlock(&lock);
    return seen ? NULL : &number;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, change, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", number);
    return 0;
}
