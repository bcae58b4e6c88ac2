/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls that may block. Under the gate a thread waits for its turn until the call would not
 * block, and does it then: so a pipe between two threads of the run is controlled like a lock. What
 * cannot be asked beforehand is done outside, while others run.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MILLISECOND 1000000ll

/* 0, or -1 with errno EINTR. A cancelled thread does not return. */
static int await(uint32_t site, int (*ready)(void *), void *about, int64_t timeout_ns) {
    enum uns_grant outcome;
    do {
        pthread_testcancel();
        uns_c_handled = 0;
        outcome = uns_gate_await(uns_self, site, ready, about, timeout_ns);
        if (outcome == UNS_DEADLOCKED)
            uns_c_report_deadlock();
    } while (outcome == UNS_INTERRUPTED && !(uns_c_handled & UNS_C_BREAKS_OFF));
    if (outcome != UNS_INTERRUPTED)
        return 0;
    pthread_testcancel();
    errno = EINTR;
    return -1;
}

/* Calls on one file. */

static int is_open_for(void *about) {
    struct pollfd *one = about;
    return UNS_C_REAL(poll)(one, 1, 0) != 0;
}

static int never_blocks(int fd, int flags) {
    struct stat found;
    if (flags & MSG_DONTWAIT || fstat(fd, &found) < 0 || S_ISREG(found.st_mode) ||
        S_ISDIR(found.st_mode) || S_ISBLK(found.st_mode))
        return 1;
    return fcntl(fd, F_GETFL) & O_NONBLOCK;
}

static int64_t timeout_of(int fd, int events) {
    struct timeval limit = {0};
    socklen_t size = sizeof limit;
    if (getsockopt(fd, SOL_SOCKET, events == POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO, &limit, &size) < 0)
        return UNS_FOREVER;
    int64_t ns = limit.tv_sec * 1000 * MILLISECOND + limit.tv_usec * 1000;
    return ns ? ns : UNS_FOREVER;
}

int uns_c_await_file(int fd, short events, int flags, uint32_t site) {
    struct pollfd one = {.fd = fd, .events = events};
    int before = errno, outcome = 0;
    if (!never_blocks(fd, flags)) {
        int64_t timeout_ns = timeout_of(fd, events);
        outcome = await(site, is_open_for, &one, timeout_ns);
        if (!outcome && timeout_ns != UNS_FOREVER && !is_open_for(&one))
            outcome = -1, errno = EAGAIN;
    }
    uns_rt.stirred++; /* the call comes now */
    errno = outcome ? errno : before;
    return outcome;
}

#define ON_FILE(type, name, events, flags, arguments, ...)                                         \
    UNS_C_INTERCEPTOR type name arguments {                                                        \
        type outcome = -1;                                                                         \
        if (!uns_c_waits() || !uns_c_await_file(fd, events, flags, UNS_C_CALLER()))                \
            outcome = UNS_C_REAL(name)(__VA_ARGS__);                                               \
        if (UNS_UNLIKELY(outcome < 0))                                                             \
            uns_c_note_refusal(#name, UNS_C_HERE);                                                 \
        return outcome;                                                                            \
    }
ON_FILE(ssize_t, read, POLLIN, 0, (int fd, void *to, size_t size), fd, to, size)
ON_FILE(ssize_t, readv, POLLIN, 0, (int fd, const struct iovec *to, int count), fd, to, count)
ON_FILE(ssize_t, recv, POLLIN, flags, (int fd, void *to, size_t size, int flags), fd, to, size,
        flags)
ON_FILE(ssize_t, recvfrom, POLLIN, flags,
        (int fd, void *restrict to, size_t size, int flags, struct sockaddr *restrict from,
         socklen_t *restrict length),
        fd, to, size, flags, from, length)
ON_FILE(ssize_t, recvmsg, POLLIN, flags, (int fd, struct msghdr *to, int flags), fd, to, flags)
ON_FILE(int, accept, POLLIN, 0,
        (int fd, struct sockaddr *restrict from, socklen_t *restrict length), fd, from, length)
ON_FILE(int, accept4, POLLIN, 0,
        (int fd, struct sockaddr *restrict from, socklen_t *restrict length, int flags), fd, from,
        length, flags)
ON_FILE(ssize_t, writev, POLLOUT, 0, (int fd, const struct iovec *from, int count), fd, from, count)
ON_FILE(ssize_t, sendto, POLLOUT, flags,
        (int fd, const void *from, size_t size, int flags, const struct sockaddr *to,
         socklen_t length),
        fd, from, size, flags, to, length)
ON_FILE(ssize_t, sendmsg, POLLOUT, flags, (int fd, const struct msghdr *from, int flags), fd, from,
        flags)

/* A file that is open for writing takes a page; what is more may block. Messages are not cut. */
#define PAGE 4096u
static int takes_pages(int fd) {
    int type = 0;
    socklen_t size = sizeof type;
    struct stat found;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0)
        return type == SOCK_STREAM;
    return fstat(fd, &found) == 0 && S_ISFIFO(found.st_mode);
}

static size_t next_part(int fd, size_t size) {
    int before = errno;
    size_t part = size > PAGE && takes_pages(fd) ? PAGE : size;
    errno = before;
    return part;
}

#define IN_PARTS(name, flags, arguments, ...)                                                      \
    UNS_C_INTERCEPTOR ssize_t name arguments {                                                     \
        if (!uns_c_waits())                                                                        \
            return UNS_C_REAL(name)(fd, from, size, ##__VA_ARGS__);                                \
        size_t done = 0;                                                                           \
        do {                                                                                       \
            size_t part = never_blocks(fd, flags) ? size - done : next_part(fd, size - done);      \
            ssize_t n = uns_c_await_file(fd, POLLOUT, flags, UNS_C_CALLER());                      \
            if (n == 0)                                                                            \
                n = UNS_C_REAL(name)(fd, (const char *)from + done, part, ##__VA_ARGS__);          \
            if (n < 0)                                                                             \
                uns_c_note_refusal(#name, UNS_C_HERE);                                             \
            if (n < 0)                                                                             \
                return done ? (ssize_t)done : -1;                                                  \
            done += (size_t)n;                                                                     \
            if ((size_t)n < part)                                                                  \
                break;                                                                             \
        } while (done < size);                                                                     \
        return (ssize_t)done;                                                                      \
    }
IN_PARTS(write, 0, (int fd, const void *from, size_t size))
IN_PARTS(send, flags, (int fd, const void *from, size_t size, int flags), flags)

/* A socket that connects is watched like others, if it need not be asked at once. */
static int connect_later(int fd, const struct sockaddr *to, socklen_t length, uint32_t site) {
    int flags = fcntl(fd, F_GETFL), error = 0;
    socklen_t size = sizeof error;
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    int outcome = UNS_C_REAL(connect)(fd, to, length), reason = errno;
    fcntl(fd, F_SETFL, flags);
    errno = reason;
    if (outcome == 0 || reason != EINPROGRESS)
        return outcome;
    if (uns_c_await_file(fd, POLLOUT, 0, site) < 0)
        return -1;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error ? error : errno;
    return error ? -1 : 0;
}

UNS_C_INTERCEPTOR int connect(int fd, const struct sockaddr *to, socklen_t length) {
    if (!uns_c_waits() || never_blocks(fd, 0))
        return UNS_C_REAL(connect)(fd, to, length);
    return UNS_C_RETURNED(connect, connect_later(fd, to, length, UNS_C_CALLER()));
}

/* Calls on many files: asked without time, as often as it takes. */

struct polled {
    struct pollfd *files;
    nfds_t count;
};
static int any_polled(void *about) {
    struct polled *all = about;
    return UNS_C_REAL(poll)(all->files, all->count, 0) != 0;
}

/* A mask of signals holds only during the call itself, so it is done while others run. */
#define OUTSIDE(call)                                                                              \
    ({                                                                                             \
        __attribute__((cleanup(uns_c_come_back))) uint32_t site = UNS_C_CALLER();                  \
        uns_gate_go_outside(uns_self);                                                             \
        call;                                                                                      \
    })

/* What a call on many files returns: 0 if its time ran out, which is noted like an error. */
static int returned(int outcome, const char *call, const void *pc) {
    if (outcome < 0)
        uns_c_note_refusal(call, pc);
    else if (!outcome)
        uns_c_note_timeout(call, pc);
    return outcome;
}

static int64_t in_ms(int timeout) {
    return timeout < 0 ? UNS_FOREVER : timeout * MILLISECOND;
}
static int64_t of_span(const struct timespec *timeout) {
    return timeout ? uns_c_ns(timeout) : UNS_FOREVER;
}

static int poll_for(struct pollfd *files, nfds_t count, int64_t ns, uint32_t site) {
    struct polled all = {files, count};
    return await(site, any_polled, &all, ns) ? -1 : UNS_C_REAL(poll)(files, count, 0);
}

UNS_C_INTERCEPTOR int poll(struct pollfd *files, nfds_t count, int timeout) {
    if (!uns_c_waits() || !timeout)
        return UNS_C_REAL(poll)(files, count, timeout);
    return returned(poll_for(files, count, in_ms(timeout), UNS_C_CALLER()), "poll", UNS_C_HERE);
}
UNS_C_INTERCEPTOR int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout,
                            const sigset_t *mask) {
    int64_t ns = of_span(timeout);
    if (!uns_c_waits() || !ns)
        return UNS_C_REAL(ppoll)(files, count, timeout, mask);
    if (mask)
        return OUTSIDE(UNS_C_REAL(ppoll)(files, count, timeout, mask));
    return returned(poll_for(files, count, ns, UNS_C_CALLER()), "ppoll", UNS_C_HERE);
}

struct selected {
    int count;
    fd_set *sets[3];
};
static int any_selected(void *about) {
    struct selected *all = about;
    fd_set copies[3], *given[3];
    for (int i = 0; i < 3; i++) {
        given[i] = all->sets[i] ? &copies[i] : NULL;
        if (given[i])
            copies[i] = *all->sets[i];
    }
    struct timeval none = {0};
    return UNS_C_REAL(select)(all->count, given[0], given[1], given[2], &none) != 0;
}

static int select_for(struct selected all, int64_t ns, uint32_t site) {
    struct timeval none = {0};
    if (await(site, any_selected, &all, ns) < 0)
        return -1;
    return UNS_C_REAL(select)(all.count, all.sets[0], all.sets[1], all.sets[2], &none);
}

UNS_C_INTERCEPTOR int select(int count, fd_set *restrict reads, fd_set *restrict writes,
                             fd_set *restrict others, struct timeval *restrict timeout) {
    struct selected all = {count, {reads, writes, others}};
    int64_t ns =
        timeout ? timeout->tv_sec * 1000 * MILLISECOND + timeout->tv_usec * 1000 : UNS_FOREVER;
    if (!uns_c_waits() || !ns)
        return UNS_C_REAL(select)(count, reads, writes, others, timeout);
    return returned(select_for(all, ns, UNS_C_CALLER()), "select", UNS_C_HERE);
}
UNS_C_INTERCEPTOR int pselect(int count, fd_set *restrict reads, fd_set *restrict writes,
                              fd_set *restrict others, const struct timespec *restrict timeout,
                              const sigset_t *restrict mask) {
    struct selected all = {count, {reads, writes, others}};
    int64_t ns = of_span(timeout);
    if (!uns_c_waits() || !ns)
        return UNS_C_REAL(pselect)(count, reads, writes, others, timeout, mask);
    if (mask)
        return OUTSIDE(UNS_C_REAL(pselect)(count, reads, writes, others, timeout, mask));
    return returned(select_for(all, ns, UNS_C_CALLER()), "pselect", UNS_C_HERE);
}

static int epoll_for(int fd, struct epoll_event *events, int most, int64_t ns, uint32_t site) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return await(site, is_open_for, &one, ns) ? -1 : UNS_C_REAL(epoll_wait)(fd, events, most, 0);
}

UNS_C_INTERCEPTOR int epoll_wait(int fd, struct epoll_event *events, int most, int timeout) {
    if (!uns_c_waits() || !timeout)
        return UNS_C_REAL(epoll_wait)(fd, events, most, timeout);
    return returned(epoll_for(fd, events, most, in_ms(timeout), UNS_C_CALLER()), "epoll_wait",
                    UNS_C_HERE);
}
UNS_C_INTERCEPTOR int epoll_pwait(int fd, struct epoll_event *events, int most, int timeout,
                                  const sigset_t *mask) {
    if (!uns_c_waits() || !timeout)
        return UNS_C_REAL(epoll_pwait)(fd, events, most, timeout, mask);
    if (mask)
        return OUTSIDE(UNS_C_REAL(epoll_pwait)(fd, events, most, timeout, mask));
    return returned(epoll_for(fd, events, most, in_ms(timeout), UNS_C_CALLER()), "epoll_pwait",
                    UNS_C_HERE);
}

/* Children. */

struct child {
    idtype_t type;
    id_t id;
    int options;
};
static int has_changed(void *about) {
    struct child *child = about;
    siginfo_t found = {.si_pid = 0};
    int outcome =
        UNS_C_REAL(waitid)(child->type, child->id, &found, child->options | WNOHANG | WNOWAIT);
    return outcome < 0 || found.si_pid;
}

static int await_child(pid_t pid, int options, uint32_t site) {
    struct child child = {pid > 0     ? P_PID
                          : pid == -1 ? P_ALL
                                      : P_PGID,
                          pid > 0 ? (id_t)pid : (id_t)-pid, WEXITED | (options & ~WNOHANG)};
    if (pid == 0)
        child.id = (id_t)getpgrp();
    return options & WNOHANG ? 0 : await(site, has_changed, &child, UNS_FOREVER);
}

#define ON_CHILD(name, which, options, arguments, ...)                                             \
    UNS_C_INTERCEPTOR pid_t name arguments {                                                       \
        if (uns_c_waits() && await_child(which, options, UNS_C_CALLER()) < 0)                      \
            return -1;                                                                             \
        return UNS_C_REAL(name)(__VA_ARGS__);                                                      \
    }
ON_CHILD(wait, -1, 0, (int *status), status)
ON_CHILD(waitpid, pid, options, (pid_t pid, int *status, int options), pid, status, options)
ON_CHILD(wait4, pid, options, (pid_t pid, int *status, int options, struct rusage *usage), pid,
         status, options, usage)

UNS_C_INTERCEPTOR int waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
    struct child child = {type, id, options};
    if (uns_c_waits() && !(options & WNOHANG) &&
        await(UNS_C_CALLER(), has_changed, &child, UNS_FOREVER) < 0)
        return -1;
    return UNS_C_REAL(waitid)(type, id, info, options);
}
