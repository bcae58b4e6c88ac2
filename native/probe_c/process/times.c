/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping, which under the gate takes no time, and the clocks, which know of it.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <errno.h>
#include <sched.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static int is_wall(clockid_t clock) {
    return clock != CLOCK_PROCESS_CPUTIME_ID && clock != CLOCK_THREAD_CPUTIME_ID && clock >= 0;
}

int64_t uns_c_now(clockid_t clock) {
    struct timespec now = {0};
    UNS_C_REAL(clock_gettime)(clock, &now);
    int64_t spared = __atomic_load_n(&uns_rt.clock_offset, __ATOMIC_RELAXED);
    return uns_c_ns(&now) + (is_wall(clock) && uns_rt.active ? spared : 0);
}

int64_t uns_c_until(clockid_t clock, const struct timespec *when) {
    int64_t left = uns_c_ns(when) - uns_c_now(clock);
    return left > 0 ? left : 1;
}

static struct timespec span_of(int64_t ns) {
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

UNS_C_INTERCEPTOR int clock_gettime(clockid_t clock, struct timespec *now) {
    int error = UNS_C_REAL(clock_gettime)(clock, now);
    if (!error && uns_rt.clock_offset)
        *now = span_of(uns_c_now(clock));
    return error;
}
UNS_C_INTERCEPTOR int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int error = UNS_C_REAL(gettimeofday)(now, zone);
    if (!error && now && uns_rt.clock_offset) {
        int64_t microseconds = uns_c_now(CLOCK_REALTIME) / 1000;
        *now = (struct timeval){microseconds / 1000000, microseconds % 1000000};
    }
    return error;
}
UNS_C_INTERCEPTOR time_t time(time_t *out) {
    time_t now =
        uns_rt.clock_offset ? uns_c_now(CLOCK_REALTIME) / 1000000000 : UNS_C_REAL(time)(NULL);
    if (out)
        *out = now;
    return now;
}
UNS_C_INTERCEPTOR int timespec_get(struct timespec *now, int base) {
    int done = UNS_C_REAL(timespec_get)(now, base);
    if (done && uns_rt.clock_offset)
        *now = span_of(uns_c_now(CLOCK_REALTIME));
    return done;
}

/* What is left of the time if a signal cut it short, else 0. */
static int64_t sleep_for(uint32_t site, int64_t ns) {
    int64_t end = uns_clock_ns() + ns, left = ns;
    uns_c_handled = 0;
    do {
        pthread_testcancel();
        enum uns_grant outcome = uns_sleep(site, left, 0);
        if (outcome == UNS_DEADLOCKED)
            uns_c_report_deadlock();
        left = outcome == UNS_INTERRUPTED ? end - uns_clock_ns() : 0;
    } while (left > 0 && !uns_c_handled);
    pthread_testcancel();
    return left > 0 ? left : 0;
}

static int sleep_span(uint32_t site, int64_t ns, struct timespec *rest) {
    int64_t left = sleep_for(site, ns);
    if (left && rest)
        *rest = span_of(left);
    return left ? EINTR : 0;
}

UNS_C_INTERCEPTOR unsigned sleep(unsigned seconds) {
    if (!uns_c_waits())
        return UNS_C_REAL(sleep)(seconds);
    return (unsigned)((sleep_for(UNS_C_CALLER(), seconds * 1000000000ll) + 999999999) / 1000000000);
}
UNS_C_INTERCEPTOR int usleep(useconds_t microseconds) {
    if (!uns_c_waits())
        return UNS_C_REAL(usleep)(microseconds);
    if (!sleep_for(UNS_C_CALLER(), microseconds * 1000ll))
        return 0;
    errno = EINTR;
    return -1;
}
UNS_C_INTERCEPTOR int nanosleep(const struct timespec *span, struct timespec *rest) {
    if (!uns_c_waits() || span->tv_nsec < 0 || span->tv_nsec > 999999999 || span->tv_sec < 0)
        return UNS_C_REAL(nanosleep)(span, rest);
    if (!sleep_span(UNS_C_CALLER(), uns_c_ns(span), rest))
        return 0;
    errno = EINTR;
    return -1;
}
UNS_C_INTERCEPTOR int clock_nanosleep(clockid_t clock, int flags, const struct timespec *span,
                                      struct timespec *rest) {
    if (!uns_c_waits() || span->tv_nsec < 0 || span->tv_nsec > 999999999 || !is_wall(clock))
        return UNS_C_REAL(clock_nanosleep)(clock, flags, span, rest);
    int absolute = flags & TIMER_ABSTIME;
    return sleep_span(UNS_C_CALLER(), absolute ? uns_c_until(clock, span) : uns_c_ns(span),
                      absolute ? NULL : rest);
}
UNS_C_INTERCEPTOR int thrd_sleep(const struct timespec *span, struct timespec *rest) {
    if (!uns_c_waits())
        return UNS_C_REAL(thrd_sleep)(span, rest);
    return -!!sleep_span(UNS_C_CALLER(), uns_c_ns(span), rest);
}

static int yield(uint32_t site) {
    if (uns_sleep(site, 0, 0) == UNS_DEADLOCKED)
        uns_c_report_deadlock();
    return 0;
}

UNS_C_INTERCEPTOR int sched_yield(void) {
    return uns_c_waits() ? yield(UNS_C_CALLER()) : UNS_C_REAL(sched_yield)();
}
UNS_C_INTERCEPTOR void thrd_yield(void) {
    if (uns_c_waits())
        yield(UNS_C_CALLER());
    else
        UNS_C_REAL(thrd_yield)();
}
