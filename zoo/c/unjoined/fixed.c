/* SPDX-License-Identifier: Apache-2.0 */
/* A reporter is sent out, and the main thread goes home without waiting for him. */
#include <assert.h>
#include <pthread.h>

static int edition;

static void *report(void *arg) {
    (void)arg;
    assert(edition == 7);
    return NULL;
}

int main(void) {
    pthread_t reporter;
    edition = 7;
    pthread_create(&reporter, NULL, report, NULL);
    pthread_detach(reporter);
    return 0;
}
