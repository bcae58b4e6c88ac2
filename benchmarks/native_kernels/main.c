/* SPDX-License-Identifier: Apache-2.0
 *
 * `kernels NAME SIZE THREADS`: what it cost, as one line of JSON.
 */
#define _GNU_SOURCE
#include "kernels.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int threads;
static size_t touched;
static pthread_barrier_t barrier;
static void (*parallel_work)(int me);

static const struct kernel {
    const char *name;
    uint64_t (*run)(long size);
} kernels[] = {
    {"options", options},
    {"hash_table", hash_table},
    {"pipeline", pipeline},
    {"clusters", clusters},
    {"lu", lu},
    {"migrating_lu", migrating_lu},
#ifdef WITH_BZIP2
    {"bzip2", bzip2},
#endif
    {"compressor", compressor},
    {"counter", counter},
    {"swaps", swaps},
};

void touches(size_t bytes) {
    touched += bytes;
}

void *data(size_t bytes) {
    void *made = calloc(1, bytes);
    if (!made) {
        fprintf(stderr, "there is no memory for %zu bytes\n", bytes);
        exit(1);
    }
    touches(bytes);
    return made;
}

static void *begin(void *me) {
    parallel_work((int)(intptr_t)me);
    return NULL;
}

void in_parallel(void (*work)(int me)) {
    pthread_t made[MOST_THREADS];
    parallel_work = work;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++)
        pthread_create(&made[i], NULL, begin, (void *)(intptr_t)i);
    for (int i = 0; i < threads; i++)
        pthread_join(made[i], NULL);
    pthread_barrier_destroy(&barrier);
}

void meet(void) {
    pthread_barrier_wait(&barrier);
}

struct part part_of(long total, int me) {
    return (struct part){total * me / threads, total * (me + 1) / threads};
}

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Not getrusage: what it says of the largest size begins with the parent's, through exec. */
static long most_resident_kb(void) {
    char line[256];
    long found = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &found) == 1)
            break;
    if (status)
        fclose(status);
    return found;
}

static int measure(const struct kernel *kernel, long size) {
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    uint64_t checksum = kernel->run(size);
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("{\"cpu\": %.6f, \"wall\": %.6f, \"resident_kb\": %ld, \"touched\": %zu, "
           "\"checksum\": %llu}\n",
           cpu, wall, most_resident_kb(), touched, (unsigned long long)checksum);
    return 0;
}

int main(int count, char **arguments) {
    const char *name = count == 4 ? arguments[1] : "";
    threads = count == 4 ? atoi(arguments[3]) : 0;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(kernels[i].name, name) && threads > 0 && threads <= MOST_THREADS)
            return measure(&kernels[i], atol(arguments[2]));
    fprintf(stderr, "usage: %s KERNEL SIZE THREADS (at most %d)\n", arguments[0], MOST_THREADS);
    return 2;
}
