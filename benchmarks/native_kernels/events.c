/* SPDX-License-Identifier: Apache-2.0
 *
 * `events CALLS THREADS`: what a call of a small function costs each of some threads that run at
 * the same time, as one line of JSON in nanoseconds: the median of those rounds in which no thread
 * had to wait for a core. With `--functions` a call is two events of a sketch.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 400
#define MOST   16
#define SHARE  0.9 /* of a round that all threads must be running at the same time */

struct sample {
    double start, end, cpu;
};
static int arrived;
static long calls, threads;
static struct sample samples[MOST][ROUNDS];

static double now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* It touches memory: compilers tell nothing of functions that do not. */
static __attribute__((noinline)) void bump(long *count) {
    ++*count;
}

static __attribute__((noinline)) struct sample one_round(void) {
    long count = 0;
    double start = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (long i = 0; i < calls; i++)
        bump(&count);
    cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    return (struct sample){start, now_ns(CLOCK_MONOTONIC), cpu};
}

/* No barrier of libc's: who sleeps there comes back too late. */
static void *work(void *me) {
    for (int round = 0; round < ROUNDS; round++) {
        __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&arrived, __ATOMIC_RELAXED) < (round + 1) * threads)
            ;
        samples[(long)me][round] = one_round();
    }
    return NULL;
}

static int by_size(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* The mean of all threads in one round, 0 if they did not run at the same time. */
static double together_in(int round) {
    double sum = 0, first = 0, last = 1e300, most = 0;
    for (long i = 0; i < threads; i++) {
        const struct sample *one = &samples[i][round];
        double wall = one->end - one->start;
        if (one->cpu < SHARE * wall)
            return 0;
        first = one->start > first ? one->start : first;
        last = one->end < last ? one->end : last;
        most = wall > most ? wall : most;
        sum += wall;
    }
    return last - first < SHARE * most ? 0 : sum / (double)threads / (double)calls;
}

int main(int count, char **arguments) {
    pthread_t made[MOST];
    double found[ROUNDS];
    int rounds = 0;
    threads = count == 3 ? atol(arguments[2]) : 0;
    if (threads < 1 || threads > MOST)
        return 2;
    calls = atol(arguments[1]);
    for (long i = 0; i < threads; i++)
        pthread_create(&made[i], NULL, work, (void *)i);
    for (long i = 0; i < threads; i++)
        pthread_join(made[i], NULL);
    for (int round = 0; round < ROUNDS; round++)
        if ((found[rounds] = together_in(round)) > 0)
            rounds++;
    qsort(found, (size_t)rounds, sizeof *found, by_size);
    printf("{\"ns\": %.3f, \"rounds\": %d}\n", rounds ? found[rounds / 2] : 0, rounds);
    return 0;
}
