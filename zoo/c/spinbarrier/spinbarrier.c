/* SPDX-License-Identifier: Apache-2.0 */
/* Workers wait for each other by looking and yielding; one of them counts too early. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define WORKERS 2

static atomic_int arrived;
static int parts[WORKERS];

static void *work(void *arg) {
    int me = *(int *)arg;
    arrived++;
    parts[me] = me + 1;
    while (arrived < WORKERS)
        sched_yield();
    assert(parts[1 - me] == 2 - me);
    return NULL;
}

int main(void) {
    pthread_t workers[WORKERS];
    int numbers[WORKERS] = {0, 1};
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, &numbers[i]);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
