/* SPDX-License-Identifier: Apache-2.0 */
/* Three clerks set both ends of a range, an auditor looks at it; a fourth is made elsewhere. */
#include <pthread.h>
#include <stdio.h>

static volatile int low, high;

static void *set(void *arg) {
    (void)arg;
    low = 10;
    high = 20;
    return NULL;
}

static void *audit(void *arg) {
    (void)arg;
    int from = low;
    int upto = high;
    puts(from <= upto ? "ok" : "wrong");
    return NULL;
}

int main(void) {
    pthread_t threads[4], late;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, i < 3 ? set : audit, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    pthread_create(&late, NULL, set, NULL);
    pthread_join(late, NULL);
    return 0;
}
