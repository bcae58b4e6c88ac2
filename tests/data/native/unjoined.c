/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that nobody joins, and that must not begin before it may.
 */
#include <assert.h>
#include <pthread.h>

static int ready;

static void *work(void *argument) {
    assert(ready);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    ready = 1;
    return 0;
}
