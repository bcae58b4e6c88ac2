/* SPDX-License-Identifier: Apache-2.0
 *
 * What the probe itself uses of the functions that it intercepts (own.h).
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#pragma GCC visibility push(hidden)

/* The compiler makes a call of memcpy out of a loop that copies: here it must not. */
#define AS_WRITTEN __attribute__((optimize("no-tree-loop-distribute-patterns")))

AS_WRITTEN void *uns_own_memcpy(void *to, const void *from, size_t size) {
#if defined(__x86_64__)
    void *at = to;
    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(size) : : "memory");
#else
    for (size_t i = 0; i < size; i++)
        ((char *)to)[i] = ((const char *)from)[i];
#endif
    return to;
}

AS_WRITTEN void *uns_own_memmove(void *to, const void *from, size_t size) {
    if ((uintptr_t)to - (uintptr_t)from >= size)
        return uns_own_memcpy(to, from, size);
    while (size--)
        ((char *)to)[size] = ((const char *)from)[size];
    return to;
}

AS_WRITTEN void *uns_own_memset(void *to, int value, size_t size) {
#if defined(__x86_64__)
    void *at = to;
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(value) : "memory");
#else
    for (size_t i = 0; i < size; i++)
        ((char *)to)[i] = (char)value;
#endif
    return to;
}

int uns_own_memcmp(const void *left, const void *right, size_t size) {
    const unsigned char *a = left, *b = right;
    for (; size && *a == *b; size--)
        a++, b++;
    return size ? *a - *b : 0;
}

AS_WRITTEN size_t uns_own_strlen(const char *text) {
    size_t length = 0;
    while (text[length])
        length++;
    return length;
}

int uns_own_strncmp(const char *left, const char *right, size_t most) {
    for (; most && *left && *left == *right; most--)
        left++, right++;
    return most ? (unsigned char)*left - (unsigned char)*right : 0;
}

int uns_own_strcmp(const char *left, const char *right) {
    return uns_own_strncmp(left, right, SIZE_MAX);
}

long uns_own_syscall(long number, ...) {
    long words[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(rest, long);
    va_end(rest);
    return UNS_C_REAL(syscall)(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
int uns_own_clock_gettime(clockid_t clock, struct timespec *now) {
    return UNS_C_REAL(clock_gettime)(clock, now);
}
int uns_own_nanosleep(const struct timespec *span, struct timespec *rest) {
    return UNS_C_REAL(nanosleep)(span, rest);
}
ssize_t uns_own_read(int fd, void *to, size_t size) {
    return UNS_C_REAL(read)(fd, to, size);
}
ssize_t uns_own_write(int fd, const void *from, size_t size) {
    return UNS_C_REAL(write)(fd, from, size);
}
int uns_own_sigaction(int number, const struct sigaction *new, struct sigaction *old) {
    return UNS_C_REAL(sigaction)(number, new, old);
}
void (*uns_own_signal(int number, void (*handler)(int)))(int) {
    return UNS_C_REAL(signal)(number, handler);
}
int uns_own_open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return UNS_C_REAL(open)(path, flags, mode);
}
DIR *uns_own_opendir(const char *path) {
    return UNS_C_REAL(opendir)(path);
}
int uns_own_rename(const char *from, const char *to) {
    return UNS_C_REAL(rename)(from, to);
}
int uns_own_unlink(const char *path) {
    return UNS_C_REAL(unlink)(path);
}
