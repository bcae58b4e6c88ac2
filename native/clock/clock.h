/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a core's own counter (ReCBuLC III.A). A stamp is only worth something if the processor
 * cannot move it past the accesses that it stands for, so three reads are offered, each with what
 * it promises; TS is the instant of reading:
 *
 *                            W; TS   W is visible     R; TS   R has its     TS; X   X begins
 *                            to all cores before TS   value before TS       after TS
 *   uns_clock_read                   yes                    yes                  yes
 *   uns_clock_read_drained           no *                   yes                  yes
 *   uns_clock_read_bare              no                     no                   no
 *
 * (*) yes if the last write was a locked one, or a system call came after it: taking or giving back
 * a lock empties the write buffer by itself.
 *
 * Only stamps whose promises cover the accesses in question prove an order between cores (figure
 * 2(b) shows how the others deceive); which skew they may have is measured in calibrate.c.
 *
 * No state, no library calls on the two architectures: fit for signal handlers and for the hot
 * path.
 */
#ifndef UNSNARL_CLOCK_H
#define UNSNARL_CLOCK_H
#include <sched.h>
#include <stdint.h>
#include <time.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "unsnarl supports x86-64 and aarch64"
#endif

#define UNS_CLOCK_ANY_CORE UINT32_MAX /* the kernel would not say */

#if defined(__has_include)
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define UNS_CLOCK_RSEQ 1
#endif
#endif

/* Where the thread runs now. The kernel keeps the answer in the thread's own memory
 * (restartable sequences), which costs one load; older C libraries ask the vDSO. */
static inline uint32_t uns_clock_core(void) {
#ifdef UNS_CLOCK_RSEQ
    if (__builtin_expect(__rseq_size != 0, 1)) {
        struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
        return __atomic_load_n(&area->cpu_id, __ATOMIC_RELAXED);
    }
#endif
    int core = sched_getcpu();
    return core < 0 ? UNS_CLOCK_ANY_CORE : (uint32_t)core;
}

/* Whatever was written before is visible to all cores, whatever was read has its value. */
static inline void uns_clock_settle(void) {
#if defined(__x86_64__)
    /* MFENCE empties the write buffer, LFENCE lets nothing begin before that is done. */
    __asm__ volatile("mfence\n\tlfence" ::: "memory");
#else
    /* DMB would order memory accesses only, and the counter is none: DSB holds everything. */
    __asm__ volatile("dsb ish\n\tisb" ::: "memory");
#endif
}

/* Nothing that follows has begun. */
static inline void uns_clock_hold(void) {
#if defined(__x86_64__)
    __asm__ volatile("lfence" ::: "memory");
#else
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* The counter alone, wherever the processor likes to read it. */
static inline uint64_t uns_clock_counter(void) {
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
#else
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
    return ticks;
#endif
}

/* Counter and core at the same instant. On x86-64 one instruction gives both; elsewhere the core is
 * asked before and after, and a thread that was moved in between asks again. */
static inline uint64_t uns_clock_pair(uint32_t *core) {
#if defined(__x86_64__)
    uint32_t low, high, aux;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(aux)::"memory");
    *core = aux & 0xFFF; /* Linux: node << 12 | core */
    return (uint64_t)high << 32 | low;
#else
    uint64_t ticks;
    do {
        *core = uns_clock_core();
        ticks = uns_clock_counter();
    } while (uns_clock_core() != *core);
    return ticks;
#endif
}

/* For points where the write buffer is known to be empty; see the table above. RDTSCP itself waits
 * until everything before it has been executed. */
static inline uint64_t uns_clock_read_drained(uint32_t *core) {
#if defined(__aarch64__)
    uns_clock_hold();
#endif
    uint64_t ticks = uns_clock_pair(core);
    uns_clock_hold();
    return ticks;
}

/* Figure 2(c): the write is visible before the clock is read, what follows begins after. */
static inline uint64_t uns_clock_read(uint32_t *core) {
    uns_clock_settle();
    uint64_t ticks = uns_clock_pair(core);
    uns_clock_hold();
    return ticks;
}

/* No fence: a hint about time, never a proof of order. RDTSC and the thread's own note of its core
 * cost about half of RDTSCP. */
static inline uint64_t uns_clock_read_bare(uint32_t *core) {
    uint64_t ticks;
    do {
        *core = uns_clock_core();
        ticks = uns_clock_counter();
    } while (__builtin_expect(uns_clock_core() != *core, 0));
    return ticks;
}

/* Where counters differ in speed or stop: the kernel's clock, in nanoseconds, with the promises of
 * uns_clock_read. In a program that has the probe in it, clock_gettime must be libc's own. */
static inline uint64_t uns_clock_read_kernel(uint32_t *core) {
    struct timespec now;
    uns_clock_settle();
    do {
        *core = uns_clock_core();
        clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    } while (uns_clock_core() != *core);
    uns_clock_hold();
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
#endif
