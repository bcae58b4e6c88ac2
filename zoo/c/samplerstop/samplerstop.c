/* SPDX-License-Identifier: Apache-2.0 */
/* A sampler fills a buffer until it is told to stop; then the buffer is given back. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sampler {
    atomic_int stop;
    int *samples;
    size_t count;
};

static int measure(size_t turn) {
    return (int)(turn * 7 % 11);
}

static void *sample(void *arg) {
    struct sampler *own = arg;
    for (size_t turn = 0; turn < 8; turn++) {
        if (atomic_load(&own->stop))
            break;
        own->samples[turn] = measure(turn);
        own->count++;
    }
    return NULL;
}

static void stop(struct sampler *which) {
    atomic_store(&which->stop, 1);
    free(which->samples);
    which->samples = NULL;
}

int main(void) {
    struct sampler *own = calloc(1, sizeof *own);
    pthread_t thread;
    own->samples = calloc(8, sizeof *own->samples);
    if (pthread_create(&thread, NULL, sample, own) != 0)
        return 2;
    stop(own);
    pthread_join(thread, NULL);
    printf("%zu samples\n", own->count);
    free(own);
    return 0;
}
