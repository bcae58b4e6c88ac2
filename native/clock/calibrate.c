/* SPDX-License-Identifier: Apache-2.0
 *
 * Every test here comes down to messages. If a write of one thread, made after stamp TS1, is seen
 * by another one before it takes TS4, then TS1 was taken first; so the clock of the second core
 * minus that of the first is less than TS4 - TS1 (equation 1; equation 2 is the same the other way
 * round). How the loops differ is how short the way from stamp to stamp is, and with it the bound.
 *
 * Stamps stay in registers until the round is over: a store between stamp and message would
 * lengthen the way. Each thread keeps its own; they are put together when all have ended.
 */
#define _GNU_SOURCE
#include "clock/calibrate.h"
#include "clock/clock.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define SPINS       4096 /* looks between two looks at the time */
#define DITHER      63
#define MOST_LEAD   1000
#define UNSEEN_LEAD 400

struct stamp {
    uint64_t ticks;
    uint32_t core, seen;
};

/* Words that other threads wait for must not share a cache line with anything. */
struct word {
    _Alignas(128) uint64_t value;
};

struct meeting {
    struct word x[2], flag, at[3]; /* x: in turn; at: how far each thread has come */
    const struct uns_calibration *how;
    int64_t deadline;
    uint32_t over;
    struct stamp *stamps[3]; /* two for every run */
    uint64_t done[3];
};

struct guest {
    struct meeting *meeting;
    uint32_t id;
};

#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t get(const uint64_t *word) {
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

INLINE void put(uint64_t *word, uint64_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

INLINE struct stamp take(enum uns_clock_reading reading) {
    struct stamp m = {0};
    switch (reading) {
    case UNS_READ_DRAINED:
        m.ticks = uns_clock_read_drained(&m.core);
        break;
    case UNS_READ_BARE:
        m.ticks = uns_clock_read_bare(&m.core);
        break;
    case UNS_READ_KERNEL:
        m.ticks = uns_clock_read_kernel(&m.core);
        break;
    default:
        m.ticks = uns_clock_read(&m.core);
    }
    return m;
}

/* The stamp before a write. No fence has to keep the write behind it on x86-64: a write leaves the
 * core when it is retired, and that happens in program order. */
INLINE struct stamp take_before_write(enum uns_clock_reading reading) {
#if defined(__x86_64__)
    if (reading == UNS_READ_DRAINED) {
        struct stamp m = {0};
        m.ticks = uns_clock_pair(&m.core);
        return m;
    }
#endif
    return take(reading);
}

/* A full spin without the other side: it may have lost its core, so ours is offered, too. */
static int give_up(struct meeting *m) {
    if (now_ns() > m->deadline)
        __atomic_store_n(&m->over, 1, __ATOMIC_RELAXED);
    sched_yield();
    return (int)__atomic_load_n(&m->over, __ATOMIC_RELAXED);
}

/* 0 if the time is up. No PAUSE: it would add its own length to the way of the message. */
INLINE int await(struct meeting *m, const uint64_t *word, uint64_t value) {
    do {
        for (int i = 0; i < SPINS; i++)
            if (get(word) >= value)
                return 1;
    } while (!give_up(m));
    return 0;
}

INLINE int meet(struct meeting *m, uint32_t id, uint64_t step) {
    put(&m->at[id].value, step);
    return await(m, &m->at[!id].value, step);
}

/* A different pause each time: sooner or later the two writes fall on the same instant, which is
 * what makes the range narrow (III.B.2). `lead` is what this thread was too early by. */
static void linger(uint64_t run, uint32_t id, int64_t lead) {
    uint64_t mixed = (run * 3 + id + 1) * 0x9E3779B97F4A7C15ull;
    for (int64_t left = (int64_t)(mixed >> 33 & DITHER) + lead; left > 0; left--)
        __asm__ volatile("" ::: "memory");
}

/* 5(b) uses an instruction that waits for everything and lets nothing begin. */
INLINE void serialise(void) {
#if defined(__x86_64__)
    uint32_t leaf = 0, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(leaf), "=b"(b), "+c"(c), "=d"(d)::"memory");
#else
    __asm__ volatile("dsb sy\n\tisb" ::: "memory");
#endif
}

INLINE struct stamp take_serialised(enum uns_clock_reading reading) {
    struct stamp m = {0};
    serialise();
    if (reading == UNS_READ_KERNEL)
        m.ticks = uns_clock_read_kernel(&m.core);
    else
        m.ticks = uns_clock_pair(&m.core);
    serialise();
    return m;
}

/* Figure 4: both threads write X between two stamps. `seen` shows whose write was first. */
INLINE void write_between(struct meeting *m, uint32_t id, uint64_t *x, struct stamp both[2]) {
    enum uns_clock_reading reading = m->how->reading;
    uint64_t old = 0;
    switch (m->how->test) {
    case UNS_TEST_SERIALISE:
        both[0] = take_serialised(reading);
        put(x, id + 1);
        both[1] = take_serialised(reading);
        break;
    case UNS_TEST_EXCHANGE:
        both[0] = take_before_write(reading);
        old = __atomic_exchange_n(x, id + 1, __ATOMIC_SEQ_CST);
        both[1] = take(reading);
        break;
    case UNS_TEST_COMPARE:
        both[0] = take_before_write(reading);
        __atomic_compare_exchange_n(x, &old, id + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        both[1] = take(reading);
        break;
    case UNS_TEST_UNSEEN:
        if (id == 0)
            put(x, 1);
        both[0] = both[1] = take(reading);
        if (id == 1)
            old = get(x);
        break;
    default:
        both[0] = take(reading);
        put(x, id + 1);
        both[1] = take(reading);
    }
    both[1].seen = (uint32_t)old;
}

/* What stayed in X shows both threads who was late; the other one waits a little longer next time,
 * so that they stay close together, whoever leaves the meeting first. The way is shortest if the
 * first writer has the line and the second one has just asked for it: the two take turns in having
 * it. (Measured: 260 cycles in each of five tries, against 338 to 390.) */
static int64_t adjusted(const struct uns_calibration *how, uint64_t x, int64_t lead) {
    if (how->test == UNS_TEST_UNSEEN) /* X does not show it: all leads, in turn */
        return lead >= UNSEEN_LEAD ? -UNSEEN_LEAD : lead + 1;
    int second_late = how->test == UNS_TEST_COMPARE ? x == 1 : x == 2;
    int64_t next = lead + (second_late ? 1 : -1);
    return next > MOST_LEAD || next < -MOST_LEAD ? lead : next;
}

static int program_run(struct meeting *m, uint32_t id, uint64_t run, int64_t *lead) {
    struct stamp both[2];
    uint64_t *x = &m->x[run & 1].value;
    if (id == (run & 1)) /* the line is in its cache: its own write will be quick */
        put(x, 0);
    if (!meet(m, id, 2 * run + 1))
        return 0;
    linger(run, id, id == 0 ? *lead : -*lead);
    write_between(m, id, x, both);
    if (!meet(m, id, 2 * run + 2))
        return 0;
    both[0].seen = (uint32_t)get(x);
    *lead = adjusted(m->how, both[0].seen, *lead);
    m->stamps[id][2 * run] = both[0];
    m->stamps[id][2 * run + 1] = both[1];
    return 1;
}

static int ping_pong_run(struct meeting *m, uint32_t id, uint64_t run) {
    enum uns_clock_reading reading = m->how->reading;
    uint64_t *flag = &m->flag.value;
    struct stamp first, second;
    if (id == 0) {
        linger(run, id, 0);
        first = take_before_write(reading);
        put(flag, 2 * run + 1);
        if (!await(m, flag, 2 * run + 2))
            return 0;
        second = take(reading);
    } else {
        if (!await(m, flag, 2 * run + 1))
            return 0;
        first = second = take_before_write(reading);
        put(flag, 2 * run + 2);
    }
    m->stamps[id][2 * run] = first;
    m->stamps[id][2 * run + 1] = second;
    return 1;
}

/* Figure 6. The workers report that they are there, then spin on the flag and read at once. */
static int trigger_run(struct meeting *m, uint32_t id, uint64_t run) {
    enum uns_clock_reading reading = m->how->reading;
    if (id == 2) {
        for (int worker = 0; worker < 2; worker++)
            if (!await(m, &m->at[worker].value, run + 1))
                return 0;
        linger(run, id, 0);
        put(&m->flag.value, run + 1);
        return 1;
    }
    put(&m->at[id].value, run + 1);
    if (!await(m, &m->flag.value, run + 1))
        return 0;
    m->stamps[id][2 * run] = take(reading);
    return 1;
}

static int one_run(struct meeting *m, uint32_t id, uint64_t run, int64_t *lead) {
    switch (m->how->test) {
    case UNS_TEST_PING_PONG:
        return ping_pong_run(m, id, run);
    case UNS_TEST_TRIGGER:
        return trigger_run(m, id, run);
    default:
        return program_run(m, id, run, lead);
    }
}

static void *attend(void *argument) {
    struct guest *guest = argument;
    struct meeting *m = guest->meeting;
    uint64_t run = 0;
    int64_t lead[2] = {0, 0}; /* of thread 0, by who has the line */
    while (run < m->how->runs && one_run(m, guest->id, run, &lead[run & 1]))
        run++;
    m->done[guest->id] = run;
    return NULL;
}

/* Only threads of our own are bound: nobody's affinity has to be restored. */
static int start(struct guest *guest, pthread_t *thread) {
    const struct uns_calibration *how = guest->meeting->how;
    pthread_attr_t attributes;
    cpu_set_t core;
    if (how->pinned && how->cores[guest->id] >= CPU_SETSIZE)
        return EINVAL;
    CPU_ZERO(&core);
    CPU_SET(how->cores[guest->id], &core);
    pthread_attr_init(&attributes);
    int error = how->pinned ? pthread_attr_setaffinity_np(&attributes, sizeof core, &core) : 0;
    if (!error)
        error = pthread_create(thread, &attributes, attend, guest);
    pthread_attr_destroy(&attributes);
    return error;
}

static int hold_meeting(struct meeting *m) {
    struct guest guests[3];
    pthread_t threads[3];
    int wanted = m->how->test == UNS_TEST_TRIGGER ? 3 : 2, started = 0, error = 0;
    while (started < wanted && !error) {
        guests[started] = (struct guest){m, (uint32_t)started};
        error = start(&guests[started], &threads[started]);
        started += !error;
    }
    if (error)
        __atomic_store_n(&m->over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return error;
}

static struct uns_stamps pair_of(const struct stamp *first, const struct stamp *second) {
    return (struct uns_stamps){first->ticks, second->ticks, first->core, second->core};
}

/* Equations 1 and 2: who wrote last has a second stamp that is later than the other's first. For
 * (a) and (b) the value that stayed decides; for (c) and (d) what the later one found. */
static int program_stamps(const struct meeting *m, uint64_t run, struct uns_stamps *out) {
    const struct stamp *zero = &m->stamps[0][2 * run], *one = &m->stamps[1][2 * run];
    int atomic = m->how->test == UNS_TEST_EXCHANGE || m->how->test == UNS_TEST_COMPARE;
    if (m->how->test == UNS_TEST_UNSEEN) {
        *out = pair_of(&one[0], &zero[0]);
        return one[1].seen == 0;
    }
    if (atomic ? one[1].seen == 1 : zero[0].seen == 2)
        *out = pair_of(&zero[0], &one[1]);
    else if (atomic ? zero[1].seen == 2 : zero[0].seen == 1)
        *out = pair_of(&one[0], &zero[1]);
    else
        return 0;
    return 1;
}

static int stamps_of(const struct meeting *m, uint64_t run, struct uns_stamps *out) {
    const struct stamp *zero = &m->stamps[0][2 * run], *one = &m->stamps[1][2 * run];
    switch (m->how->test) {
    case UNS_TEST_PING_PONG:
        out[0] = pair_of(&zero[0], &one[0]);
        out[1] = pair_of(&one[1], &zero[1]);
        return 2;
    case UNS_TEST_TRIGGER:
        out[0] = pair_of(&zero[0], &one[0]);
        return 1;
    default:
        return program_stamps(m, run, out);
    }
}

uint64_t uns_calibration_most(const struct uns_calibration *how) {
    return how->test == UNS_TEST_PING_PONG ? 2 * how->runs : how->runs;
}

static int64_t collect(const struct meeting *m, struct uns_stamps *stamps) {
    uint64_t runs = m->done[0] < m->done[1] ? m->done[0] : m->done[1];
    int64_t count = 0;
    for (uint64_t run = 0; run < runs; run++)
        count += stamps_of(m, run, stamps + count);
    return count;
}

int64_t uns_calibrate(const struct uns_calibration *how, struct uns_stamps *stamps) {
    struct meeting meeting = {.how = how, .deadline = now_ns() + how->most_nanos};
    int64_t result = how->runs > UNS_CLOCK_MOST_RUNS ? -EINVAL : 0;
    for (int i = 0; i < 2 && !result; i++) {
        meeting.stamps[i] = calloc(how->runs, 2 * sizeof(struct stamp));
        if (!meeting.stamps[i] && how->runs)
            result = -ENOMEM;
    }
    if (!result)
        result = -hold_meeting(&meeting);
    if (!result)
        result = collect(&meeting, stamps);
    for (int i = 0; i < 2; i++)
        free(meeting.stamps[i]);
    return result;
}

uint64_t uns_clock_now(enum uns_clock_reading reading, uint32_t *core) {
    struct stamp now = take(reading);
    *core = now.core;
    return now.ticks;
}

INLINE int64_t cost_of(enum uns_clock_reading reading, uint64_t count) {
    int64_t begin = now_ns();
    for (uint64_t i = 0; i < count; i++) {
        struct stamp m = take(reading);
        __asm__ volatile("" ::"r"(m.ticks), "r"(m.core));
    }
    return now_ns() - begin;
}

int64_t uns_clock_cost(enum uns_clock_reading reading, uint64_t count) {
    switch (reading) { /* the loop must not choose anew for every read */
    case UNS_READ_DRAINED:
        return cost_of(UNS_READ_DRAINED, count);
    case UNS_READ_BARE:
        return cost_of(UNS_READ_BARE, count);
    case UNS_READ_KERNEL:
        return cost_of(UNS_READ_KERNEL, count);
    default:
        return cost_of(UNS_READ_FULL, count);
    }
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

struct uns_clock_steps uns_clock_steps(enum uns_clock_reading reading) {
    struct uns_clock_steps steps = {0, UINT64_MAX};
    uint32_t core, last_core;
    uint64_t last = uns_clock_now(reading, &last_core);
    for (int i = 0; i < 10000; i++) {
        uint64_t next = uns_clock_now(reading, &core);
        if (core == last_core) {
            steps.grain = common_divisor(next - last, steps.grain);
            steps.closest = next - last < steps.closest ? next - last : steps.closest;
        }
        last = next;
        last_core = core;
    }
    return steps;
}
