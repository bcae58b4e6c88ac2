/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops on two or three cores whose stamps show how far the cores' clocks are apart (ReCBuLC
 * III.B).
 */
#ifndef UNSNARL_CALIBRATE_H
#define UNSNARL_CALIBRATE_H
#include <stdint.h>

#define UNS_CLOCK_MOST_RUNS (1u << 24)

enum uns_clock_test {
    UNS_TEST_FENCES,    /* figure 5(a) */
    UNS_TEST_SERIALISE, /* 5(b) */
    UNS_TEST_EXCHANGE,  /* 5(c) */
    UNS_TEST_COMPARE,   /* 5(d) */
    UNS_TEST_PING_PONG, /* ours: a message there and one back, a single stamp in between */
    UNS_TEST_TRIGGER,   /* figure 6 */
    UNS_TEST_UNSEEN,    /* figure 2(b): thread 0 writes and stamps, thread 1 stamps and reads */
    UNS_CLOCK_TESTS
};

/* Which of clock.h's reads takes the stamps. 5(b) and figure 6 have their own. */
enum uns_clock_reading {
    UNS_READ_FULL,
    UNS_READ_DRAINED,
    UNS_READ_BARE,
    UNS_READ_KERNEL,
    UNS_CLOCK_READINGS
};

/* Two stamps. The first was taken before the second: one thread's write came after the first stamp
 * and was seen, or overwritten, by another thread before the second; or was not seen by a read
 * after the first (UNSEEN). Figure 6 alone does not know which of its two was earlier. */
struct uns_stamps {
    uint64_t first, second;
    uint32_t first_core, second_core;
};

struct uns_calibration {
    enum uns_clock_test test;
    enum uns_clock_reading reading;
    int pinned;         /* each thread on its core; otherwise wherever the kernel puts it */
    uint32_t cores[3];  /* figure 6: the third one is the trigger's */
    uint64_t runs;      /* at most UNS_CLOCK_MOST_RUNS */
    int64_t most_nanos; /* then the loop ends with fewer runs: it cannot hang */
};

/* How many stamps a calibration can give: room for them must be at `stamps` below. */
uint64_t uns_calibration_most(const struct uns_calibration *how);

/* Returns the number of stamps written, or an errno, negative (EINVAL: a core may not be used). */
int64_t uns_calibrate(const struct uns_calibration *how, struct uns_stamps *stamps);

/* Nanoseconds for `count` reads of one kind, by this thread alone. */
int64_t uns_clock_cost(enum uns_clock_reading reading, uint64_t count);

/* Of reads by one thread, one after the other on the same core: what divides all differences (the
 * step that the counter makes: 26 on a processor that counts 100 million times a second and calls
 * it 2.6 GHz), and the smallest one. */
struct uns_clock_steps {
    uint64_t grain, closest;
};
struct uns_clock_steps uns_clock_steps(enum uns_clock_reading reading);

uint64_t uns_clock_now(enum uns_clock_reading reading, uint32_t *core);
#endif
