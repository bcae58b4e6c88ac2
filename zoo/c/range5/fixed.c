/* SPDX-License-Identifier: Apache-2.0 */
/* Several clerks set both ends of the same range; an auditor looks at it at any time. */
#include <assert.h>
#include <pthread.h>

#define CLERKS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int low, high;

static void *set(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    low = 10;
    high = 20;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *audit(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    int from = low;
    int upto = high;
    pthread_mutex_unlock(&lock);
    assert(from <= upto);
    return NULL;
}

int main(void) {
    pthread_t clerks[CLERKS], auditor;
    for (int i = 0; i < CLERKS; i++)
        pthread_create(&clerks[i], NULL, set, NULL);
    pthread_create(&auditor, NULL, audit, NULL);
    for (int i = 0; i < CLERKS; i++)
        pthread_join(clerks[i], NULL);
    pthread_join(auditor, NULL);
    return 0;
}
