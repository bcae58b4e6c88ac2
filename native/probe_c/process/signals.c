/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of signals. One that strikes a thread in the middle of the gate or of the tracker must
 * wait until the thread is out of there: its own accesses come the same way. A thread that waits is
 * called back by the watch.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct sigaction wanted[NSIG]; /* what the program has asked for */
__thread int uns_c_handled;

/* A signal that came too early. */
struct early {
    siginfo_t info;
    int number;
};
#define EARLY 16
static __thread struct early early[EARLY];

static int is_fault(int number) {
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
           number == SIGABRT || number == SIGTRAP;
}

static void handle(int number, siginfo_t *info, void *context) {
    struct sigaction now = wanted[number];
    uns_c_handled |= now.sa_flags & SA_RESTART ? UNS_C_RESTARTS : UNS_C_BREAKS_OFF;
    if (now.sa_flags & SA_RESETHAND)
        wanted[number].sa_handler = SIG_DFL;
    int reason = errno, outside = uns_c_waits() && uns_self->state == UNS_OUTSIDE;
    if (outside) /* the call that it broke into may go on afterwards */
        uns_gate_come_back(uns_self, 0);
    if (now.sa_flags & SA_SIGINFO)
        now.sa_sigaction(number, info, context);
    else if (now.sa_handler != SIG_IGN && now.sa_handler != SIG_DFL)
        now.sa_handler(number);
    if (outside)
        uns_gate_go_outside(uns_self);
    errno = reason;
}

/* As in the kernel, one of a kind is enough, but for those that are queued. */
static int put_off(int number, const siginfo_t *info) {
    for (uint32_t i = 0; i < EARLY; i++)
        if (early[i].number == number && number < SIGRTMIN)
            return 1;
    for (uint32_t i = 0; i < EARLY; i++)
        if (!early[i].number) {
            early[i] = (struct early){*info, number};
            __atomic_store_n(&uns_self->signalled, 1, __ATOMIC_RELEASE);
            return 1;
        }
    return 0;
}

/* A fault does not wait: what it is about happens now. */
static void arrive(int number, siginfo_t *info, void *context) {
    if (is_fault(number) && uns_excuse(context))
        return;
    if (uns_self && uns_self->busy && uns_rt.active && !is_fault(number) && put_off(number, info))
        return;
    handle(number, info, context);
}

/* The thread is out of the gate. */
void uns_c_hear(void) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    __atomic_store_n(&uns_self->signalled, 0, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < EARLY; i++) {
        struct early one = early[i];
        if (!one.number)
            continue;
        early[i].number = 0;
        sigset_t during = before;
        sigaddset(&during, one.number);
        pthread_sigmask(SIG_SETMASK, &during, NULL);
        handle(one.number, &one.info, NULL);
        pthread_sigmask(SIG_SETMASK, &all, NULL);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Before the probe's own handlers are set: what the program was started with. */
void uns_c_watch_signals(void) {
    for (int number = 1; number < NSIG; number++)
        UNS_C_REAL(sigaction)(number, NULL, &wanted[number]);
}

static int is_handler(const struct sigaction *action) {
    return action->sa_flags & SA_SIGINFO ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

/* Where the program has no handler of its own for a fault, the probe keeps its own. */
static int set_handler(int number, const struct sigaction *action) {
    struct sigaction ours = *action;
    wanted[number] = *action;
    if (!is_handler(action) && uns_watches_signal(number) && action->sa_handler == SIG_DFL) {
        uns_watch_signal(number);
        return 0;
    }
    if (is_handler(action)) {
        ours.sa_sigaction = arrive;
        ours.sa_flags = (ours.sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
    }
    return UNS_C_REAL(sigaction)(number, &ours, NULL);
}

UNS_C_INTERCEPTOR int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
    if (!uns_rt.active || number <= 0 || number >= NSIG)
        return UNS_C_REAL(sigaction)(number, action, old);
    struct sigaction before = wanted[number], next = action ? *action : before;
    if (action && set_handler(number, &next) < 0)
        return wanted[number] = before, -1;
    if (old)
        *old = before;
    return 0;
}

UNS_C_INTERCEPTOR void (*signal(int number, void (*handler)(int)))(int) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    if (!uns_rt.active)
        return UNS_C_REAL(signal)(number, handler);
    return sigaction(number, &action, &old) < 0 ? SIG_ERR : old.sa_handler;
}

static void expect(int64_t ns) {
    if (uns_c_gated())
        uns_gate_expect(ns);
}

UNS_C_INTERCEPTOR int kill(pid_t pid, int number) {
    expect(0);
    return UNS_C_REAL(kill)(pid, number);
}
UNS_C_INTERCEPTOR int pthread_kill(pthread_t thread, int number) {
    expect(0);
    return UNS_C_REAL(pthread_kill)(thread, number);
}
UNS_C_INTERCEPTOR unsigned alarm(unsigned seconds) {
    expect(seconds * 1000000000ll);
    return UNS_C_REAL(alarm)(seconds);
}
UNS_C_INTERCEPTOR int setitimer(__itimer_which_t which, const struct itimerval *restrict value,
                                struct itimerval *restrict old) {
    const struct timeval *first = &value->it_value, *interval = &value->it_interval;
    if (interval->tv_sec || interval->tv_usec)
        expect(UNS_FOREVER / 2);
    else
        expect(first->tv_sec * 1000000000ll + first->tv_usec * 1000ll);
    return UNS_C_REAL(setitimer)(which, value, old);
}
UNS_C_INTERCEPTOR int timer_settime(timer_t timer, int flags,
                                    const struct itimerspec *restrict value,
                                    struct itimerspec *restrict old) {
    expect(uns_c_ns(&value->it_interval) || flags ? UNS_FOREVER / 2 : uns_c_ns(&value->it_value));
    return UNS_C_REAL(timer_settime)(timer, flags, value, old);
}
