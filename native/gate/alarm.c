/* SPDX-License-Identifier: Apache-2.0
 *
 * The alarm that a program has set (signal.alarm, setitimer): one more thing for which time passes.
 * Where all wait longer than that, it rings, as it would if they had waited; the kernel is asked to
 * send the signal at once. It may also ring by itself, if the program computes that long.
 */
#define _GNU_SOURCE
#include "gate/state.h"
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* Alarms that are set for longer watch over a test: where nobody waits for a time, what they would
 * end is a deadlock, and is called one. */
#define GUARDS_NS 5000000000ll

static int64_t due, span, interval; /* atomic, virtual ns; due 0: none is set */

static int64_t load(const int64_t *word) {
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void store(int64_t *word, int64_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

void uns_alarm_set(int64_t first, int64_t repeat) {
    store(&span, first);
    store(&interval, repeat);
    store(&due, first && uns_rt.gated ? uns_gate_now() + first : 0);
}

void uns_alarm_rang(void) {
    int64_t repeat = load(&interval);
    store(&span, repeat);
    store(&due, repeat && uns_rt.gated ? uns_gate_now() + repeat : 0);
}

int64_t uns_alarm_due(void) {
    int64_t at = load(&due);
    return at ? at : UNS_FOREVER;
}

static struct timeval timeval_of(int64_t ns) {
    return (struct timeval){.tv_sec = ns / 1000000000, .tv_usec = ns % 1000000000 / 1000};
}

void uns_alarm_ring(int somebody_has_time) {
    if (!load(&due) || (!somebody_has_time && load(&span) > GUARDS_NS))
        return;
    int64_t ahead = load(&due) - uns_gate_now();
    if (ahead > 0)
        __atomic_fetch_add(&uns_rt.clock_offset, ahead, __ATOMIC_RELAXED);
    store(&due, 0);
    const struct itimerval soon = {.it_interval = timeval_of(load(&interval)),
                                   .it_value = {.tv_usec = 1}};
    uns_gate_expect(0);
    /* Not by its name, which belongs to the probe in C programs. */
    syscall(SYS_setitimer, ITIMER_REAL, &soon, NULL);
}
