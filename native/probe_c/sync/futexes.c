/* SPDX-License-Identifier: Apache-2.0
 *
 * What waits on a word in memory: std::future, std::latch and std::atomic::wait do it by the system
 * call itself; and the guards of C++'s local statics.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORD, OPERATION, VALUE, TIMEOUT, WORDS = 6 };

static int64_t timeout_of(long operation, const struct timespec *when) {
    if (!when)
        return UNS_FOREVER;
    if ((operation & FUTEX_CMD_MASK) == FUTEX_WAIT)
        return uns_c_ns(when);
    return uns_c_until(operation & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC, when);
}

static int wait_on(const uint32_t *word, uint32_t value, uint32_t site, int64_t timeout_ns) {
    struct uns_c_object *object = uns_c_object(word, UNS_C_FUTEX);
    struct uns_c_waiter me = {0};
    uns_c_enter(object, site);
    int waits = __atomic_load_n(word, __ATOMIC_SEQ_CST) == value;
    if (waits)
        uns_c_wait_in(object, &me, site);
    uns_c_exit(object, site);
    return waits ? uns_c_sleep_in(object, &me, site, timeout_ns, 1) : EAGAIN;
}

static long wake(const uint32_t *word, long most, uint32_t site) {
    struct uns_c_object *object = uns_c_object(word, UNS_C_FUTEX);
    long woken = 0;
    uns_c_enter(object, site);
    while (woken < most && uns_c_wake_first(object, site))
        woken++;
    uns_c_exit(object, site);
    return woken;
}

/* Returns whether the call was one that the gate does. */
static int do_futex(const long *words, uint32_t site, long *result) {
    uint32_t *word = (uint32_t *)words[WORD];
    long command = words[OPERATION] & FUTEX_CMD_MASK;
    if (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET) {
        *result = wake(word, words[VALUE], site);
        return 1;
    }
    if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET)
        return 0;
    const struct timespec *when = (const struct timespec *)words[TIMEOUT];
    int error = wait_on(word, (uint32_t)words[VALUE], site, timeout_of(words[OPERATION], when));
    errno = error ? error : errno;
    *result = error ? -1 : 0;
    return 1;
}

UNS_C_INTERCEPTOR long syscall(long number, ...) {
    long words[WORDS], result;
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < WORDS; i++)
        words[i] = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_futex && uns_c_waits() && do_futex(words, UNS_C_CALLER(), &result))
        return result;
    return UNS_C_REAL(syscall)(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* A guard's first byte says that the static is made. Who makes it has the lock till then. */
UNS_C_INTERCEPTOR int __cxa_guard_acquire(int64_t *guard) {
    if (!uns_c_gated())
        return UNS_C_REAL(__cxa_guard_acquire)(guard);
    if (__atomic_load_n((char *)guard, __ATOMIC_ACQUIRE))
        return 0;
    struct uns_c_object *object = uns_c_object(guard, UNS_C_ONCE);
    uns_c_take(&object->lock, UNS_C_CALLER(), UNS_FOREVER);
    if (!*(char *)guard)
        return 1;
    uns_lock_release(&object->lock, UNS_C_CALLER());
    return 0;
}
UNS_C_INTERCEPTOR void __cxa_guard_release(int64_t *guard) {
    if (!uns_c_gated()) {
        UNS_C_REAL(__cxa_guard_release)(guard);
        return;
    }
    __atomic_store_n((char *)guard, 1, __ATOMIC_RELEASE);
    uns_lock_release(&uns_c_object(guard, UNS_C_ONCE)->lock, UNS_C_CALLER());
}
UNS_C_INTERCEPTOR void __cxa_guard_abort(int64_t *guard) {
    if (uns_c_gated())
        uns_lock_release(&uns_c_object(guard, UNS_C_ONCE)->lock, UNS_C_CALLER());
    else
        UNS_C_REAL(__cxa_guard_abort)(guard);
}
