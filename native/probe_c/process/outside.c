/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that block for reasons which cannot be asked beforehand: the thread gives up its turn, and
 * asks for another when it is back.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

/* Also if the thread is cancelled out there: what it cleans up is the program's. */
void uns_c_come_back(uint32_t *site) {
    int reason = errno;
    if (uns_c_waits() && uns_gate_come_back(uns_self, *site) == UNS_DEADLOCKED)
        uns_c_report_deadlock();
    errno = reason;
}

#define OUTSIDE(type, name, arguments, ...)                                                        \
    UNS_C_INTERCEPTOR type name arguments {                                                        \
        if (!uns_c_waits())                                                                        \
            return UNS_C_REAL(name)(__VA_ARGS__);                                                  \
        __attribute__((cleanup(uns_c_come_back))) uint32_t site = UNS_C_CALLER();                  \
        uns_gate_go_outside(uns_self);                                                             \
        return UNS_C_REAL(name)(__VA_ARGS__);                                                      \
    }
OUTSIDE(int, pause, (void))
OUTSIDE(int, sigwait, (const sigset_t *restrict set, int *restrict number), set, number)
OUTSIDE(int, sigwaitinfo, (const sigset_t *restrict set, siginfo_t *restrict info), set, info)
OUTSIDE(int, sigtimedwait,
        (const sigset_t *restrict set, siginfo_t *restrict info,
         const struct timespec *restrict timeout),
        set, info, timeout)
OUTSIDE(int, sigsuspend, (const sigset_t *set), set)
OUTSIDE(ssize_t, msgrcv, (int queue, void *to, size_t size, long type, int flags), queue, to, size,
        type, flags)
OUTSIDE(int, msgsnd, (int queue, const void *from, size_t size, int flags), queue, from, size,
        flags)
OUTSIDE(int, semop, (int set, struct sembuf *operations, size_t count), set, operations, count)
OUTSIDE(int, flock, (int fd, int operation), fd, operation)
OUTSIDE(int, lockf, (int fd, int command, off_t length), fd, command, length)
OUTSIDE(int, system, (const char *command), command)
OUTSIDE(int, pclose, (FILE * stream), stream)
OUTSIDE(int, getaddrinfo,
        (const char *restrict node, const char *restrict service,
         const struct addrinfo *restrict hints, struct addrinfo **restrict found),
        node, service, hints, found)
