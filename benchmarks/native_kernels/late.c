/* SPDX-License-Identifier: Apache-2.0
 *
 * `late READING LINES`: how wrong a stamp can be (ReCBuLC III.A, figure 2(b)). One core writes a
 * number and takes a stamp, another takes a stamp and reads. A read that does not find a number
 * whose write has the earlier stamp shows that stamp to be too early, by the difference (and the
 * skew of the two clocks). READING: 0 bare, 1 drained, 2 fenced,
 * 3 as the recorder has it (recorder/log.c); LINES: others that both cores
 * write to in between, so that the write buffer has work. One line of JSON, in ticks.
 */
#define _GNU_SOURCE
#include "clock/clock.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRITES 1000000l
#define READS  (3 * WRITES)
#define LINES  64

static struct {
    volatile uint64_t number;
    char rest[56];
} message, lines[LINES];
static uint64_t written[WRITES + 2], read_at[READS], found[READS];
static volatile int begun, done;
static int reading, fought_for;
static long reads;

static uint64_t stamp(void) {
    uint32_t core;
#if defined(__x86_64__)
    if (reading == 3) {
        __asm__ volatile("lock; orl $0, (%%rsp)" ::: "memory", "cc");
        return uns_clock_read_drained(&core);
    }
#endif
    return reading == 0   ? uns_clock_read_bare(&core)
           : reading == 1 ? uns_clock_read_drained(&core)
                          : uns_clock_read(&core);
}

static void pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void fight(long round) {
    for (int i = 0; i < fought_for; i++)
        lines[(round * 7 + i * 13) % LINES].number = (uint64_t)round;
}

static void *write_all(void *core) {
    pin((int)(long)core);
    begun = 1;
    for (long i = 1; i <= WRITES; i++) {
        fight(i);
        message.number = (uint64_t)i;
        written[i] = stamp();
    }
    done = 1;
    return NULL;
}

static void *read_all(void *core) {
    pin((int)(long)core);
    while (!begun)
        ;
    for (reads = 0; !done && reads < READS; reads++) {
        read_at[reads] = stamp();
        found[reads] = message.number;
        fight(reads);
    }
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t threads[2];
    int64_t worst = 0;
    long late = 0;
    reading = count == 3 ? atoi(arguments[1]) : 0;
    fought_for = count == 3 ? atoi(arguments[2]) : 0;
    memset(written, 0xff, sizeof written);
    pthread_create(&threads[0], NULL, read_all, (void *)1);
    pthread_create(&threads[1], NULL, write_all, (void *)0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (long i = 0; i < reads; i++) {
        if (found[i] >= WRITES)
            continue; /* there was no other write */
        int64_t by = (int64_t)(read_at[i] - written[found[i] + 1]);
        late += by > 0;
        worst = by > worst ? by : worst;
    }
    printf("{\"reads\": %ld, \"late\": %ld, \"worst\": %ld}\n", reads, late, (long)worst);
    return 0;
}
