/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNSNARL_FUTEX_H
#define UNSNARL_FUTEX_H
#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns 0, or the errno of the wait (EAGAIN, EINTR, ETIMEDOUT). */
static inline int uns_futex_wait(uint32_t *word, uint32_t expected, const struct timespec *span) {
    long r = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, span, NULL, 0);
    return r == 0 ? 0 : errno;
}

static inline void uns_futex_wake(uint32_t *word, int count) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* Not sched_yield: programs under the gate find another one by that name. */
static inline void uns_let_others_run(void) {
    syscall(SYS_sched_yield);
}

static inline struct timespec uns_span(int64_t ns) {
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}
#endif
