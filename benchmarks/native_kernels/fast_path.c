/* SPDX-License-Identifier: Apache-2.0
 *
 * What one access costs that stays in the first-level cache: a thread reads, then writes, its own
 * 4 KB again and again. The best of some rounds, as one line of JSON in nanoseconds of CPU time.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define WORDS  512
#define PASSES 2000
#define ROUNDS 30

static uint64_t words[WORDS];

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The empty statements keep the compiler from doing several accesses at once. */
static void read_all(void) {
    uint64_t sum = 0;
    for (int i = 0; i < WORDS; i++) {
        sum += words[i];
        __asm__ volatile("" : "+r"(sum));
    }
}

static void write_all(void) {
    for (int i = 0; i < WORDS; i++) {
        words[i] = (uint64_t)i;
        __asm__ volatile("" ::: "memory");
    }
}

static double best_of(void (*all)(void)) {
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (int pass = 0; pass < PASSES; pass++)
            all();
        double each = (now_ns() - start) / PASSES / WORDS;
        best = each < best ? each : best;
    }
    return best;
}

int main(void) {
    write_all();
    double read = best_of(read_all), write = best_of(write_all);
    printf("{\"read\": %.4f, \"write\": %.4f}\n", read, write);
    return 0;
}
