/* SPDX-License-Identifier: Apache-2.0
 *
 * A run begins in the process that will execute it and ends with its run file.
 */
#define _GNU_SOURCE
#include "gate/gate.h"
#include "recorder/recorder.h"
#include "runtime/access.h"
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#elif !defined(__aarch64__)
#error "unsnarl supports x86-64 and aarch64"
#endif

struct uns_runtime uns_rt;

static uint64_t cycle_now(void) {
#if defined(__x86_64__)
    return __rdtsc();
#else
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

/* In gated runs one thread runs at a time, so a counter is exact and repeats from run to run. */
static uint64_t logical_now(void) {
    return __atomic_add_fetch(&uns_rt.logical_time, 1, __ATOMIC_RELAXED);
}

int64_t uns_real_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t uns_clock_ns(void) {
    return uns_real_ns() + __atomic_load_n(&uns_rt.clock_offset, __ATOMIC_RELAXED);
}

uint64_t uns_random(uint64_t *state) {
    /* splitmix64: small, seedable, good enough to draw schedules with. */
    uint64_t z = *state += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}

/* Where a signal struck. */
#if defined(__x86_64__)
#define STRUCK_AT(context) ((context)->uc_mcontext.gregs[REG_RIP])
#else
#define STRUCK_AT(context) ((context)->uc_mcontext.pc)
#endif

int uns_excuse(void *context) {
    ucontext_t *struck = context;
    uintptr_t on = uns_rt.hooks.excuses ? uns_rt.hooks.excuses((uintptr_t)STRUCK_AT(struck)) : 0;
    if (on)
        STRUCK_AT(struck) = (__typeof__(STRUCK_AT(struck)))on;
    return on != 0;
}

static void on_fatal(int number, siginfo_t *info, void *context) {
    (void)info;
    if (uns_excuse(context))
        return;
    uns_rt.fatal = number;
    uns_rt.fatal_pc = (uintptr_t)STRUCK_AT((ucontext_t *)context);
    uns_run_finish();
    signal(number, SIG_DFL);
    raise(number);
}

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM};
#define FATAL (sizeof fatal / sizeof *fatal)

int uns_watches_signal(int number) {
    for (unsigned i = 0; i < FATAL; i++)
        if (fatal[i] == number)
            return 1;
    return 0;
}

void uns_watch_signal(int number) {
    struct sigaction ours = {.sa_sigaction = on_fatal, .sa_flags = SA_NODEFER | SA_SIGINFO};
    sigaction(number, &ours, NULL);
}

/* A crash still leaves its run file; handlers that the target set itself are respected. */
static void watch_signals(void) {
    struct sigaction now;
    for (unsigned i = 0; i < FATAL; i++)
        if (sigaction(fatal[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            uns_watch_signal(fatal[i]);
}

static void pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static uint32_t reports_at(enum uns_level level) {
    static const uint8_t reports[] = {[UNS_LEVEL_FUNC] = UNS_REPORTS_FUNCTIONS,
                                      [UNS_LEVEL_LOOP] = UNS_REPORTS_LOOPS,
                                      [UNS_LEVEL_FUNCLOOP] =
                                          UNS_REPORTS_FUNCTIONS | UNS_REPORTS_LOOPS,
                                      [UNS_LEVEL_BLOCK] = UNS_REPORTS_BLOCKS,
                                      [UNS_LEVEL_ACCESS] = 0};
    return reports[level];
}

int uns_run_begin(const struct uns_plan *plan, const struct uns_hooks *hooks) {
    memset(&uns_rt, 0, sizeof uns_rt);
    uns_self = NULL;
    int gated = plan->kind >= UNS_PLAN_CONTROLLED;
    /* Of events that have one order their numbers are the time. */
    int counted = gated || plan->accesses;
    if (uns_tracker_init(&uns_rt.tracker, &plan->tracker, counted ? logical_now : cycle_now) < 0)
        return -1;
    uns_rt.tracker.tap = plan->accesses ? &uns_event_tap : NULL;
    uns_rt.hooks = *hooks;
    uns_rt.site_limit = plan->site_limit;
    uns_rt.any_access = plan->any_access;
    uns_rt.noise = plan->kind == UNS_PLAN_NOISE;
    uns_rt.switch_sites = plan->switch_sites;
    uns_rt.shared_sites = uns_pages(plan->site_limit + 1);
    uns_recorder_begin(plan->file);
    uns_rt.sketch = plan->sketch;
    uns_rt.reports = reports_at(plan->sketch.level);
    uns_rt.recording = plan->kind == UNS_PLAN_RECORD;
    uns_rt.blind = uns_rt.recording && plan->sketch.level < UNS_LEVEL_ACCESS &&
                   !plan->sketch.values && !plan->sketch.noise;
    uns_rt.tracks = !uns_rt.recording || plan->accesses;
    uns_rt.tracing = plan->trace;
    uns_rt.by_object = plan->by_object;
    if (!uns_rt.shared_sites || (plan->kind != UNS_PLAN_FREE && uns_gate_begin(plan) < 0))
        return -1;
    if (gated && plan->core >= 0)
        pin(plan->core);
    uns_rt.gated = gated;
    uns_rt.held = gated || uns_rt.noise;
    uns_self = uns_thread_new(NULL, "MainThread", 0);
    uns_self->os_id = (int32_t)gettid();
    uns_self->state = UNS_RUNNING;
    watch_signals();
    __atomic_store_n(&uns_rt.active, 1, __ATOMIC_RELEASE);
    uns_rt.fast = !uns_rt.held && !uns_rt.recording && !plan->accesses &&
                  plan->tracker.racy_lookup && !plan->by_object;
    uns_guest_begins();
    return plan->time_limit > 0 || gated ? uns_watch_begin(plan->time_limit) : 0;
}

int uns_run_is_active(void) {
    return __atomic_load_n(&uns_rt.active, __ATOMIC_RELAXED);
}

void uns_access(uint32_t site, uint64_t cell, int write, int may_switch) {
    uns_access_inline(site, cell, write, may_switch);
}

/* Idempotent, callable from any thread and from a signal handler: the first call writes. */
int uns_run_finish(void) {
    uns_rt.fast = 0;
    if (!__atomic_exchange_n(&uns_rt.active, 0, __ATOMIC_SEQ_CST))
        return 0;
    if (uns_rt.hooks.ending)
        uns_rt.hooks.ending();
    uns_guest_ends();
    return uns_write_run_file();
}

void uns_run_abandon(void) {
    __atomic_store_n(&uns_rt.active, 0, __ATOMIC_RELAXED);
    uns_rt.fast = 0;
    uns_rt.held = 0;
    uns_rt.gated = 0;
    uns_rt.recording = 0; /* the pages of its logs are still those of the run */
}
