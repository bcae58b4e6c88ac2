/* SPDX-License-Identifier: Apache-2.0 */
/* A store that reports by a status, as C libraries with a "last error" do. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STORE_OK, STORE_MISSING, STORE_FULL };

static int store_status;
static const char *names[4] = {"alpha", "beta"};

static int store_find(const char *name) {
    store_status = STORE_OK;
    for (int i = 0; i < 4; i++)
        if (names[i] && strcmp(names[i], name) == 0)
            return i;
    store_status = STORE_MISSING;
    return 0;
}

static int failures;

static void *lookup(void *arg) {
    const char *name = arg;
    int at = store_find(name);
    if (store_status != STORE_OK) {
        fprintf(stderr, "%s: not in the store (status %d)\n", name, store_status);
        failures++;
        return NULL;
    }
    printf("%s at %d\n", name, at);
    return NULL;
}

static void *probe(void *arg) {
    const char *name = arg;
    (void)store_find(name);
    return NULL;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, lookup, "beta");
    pthread_create(&two, NULL, probe, "gamma");
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
