/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks and texts that the program copies, fills, measures or compares. Compilers leave these as
 * calls of libc; the program is linked with --wrap for each
 * (src/unsnarl/probes/native/compiler.py), so that the calls of its own objects come here, and no
 * others.
 */
#include "probe_c/probe.h"
#include <string.h>

#define READ(address, size)  report(UNS_C_SITE(), address, size, 0)
#define WRITE(address, size) report(UNS_C_SITE(), address, size, 1)
#define WRAPPED(type, name, arguments)                                                             \
    extern type __real_##name arguments __attribute__((weak));                                     \
    type __wrap_##name arguments

static void report(uint32_t site, const void *address, size_t size, int write) {
    if (size)
        uns_c_accessed(site, address, size, write);
}

static size_t bounded_length(const char *text, size_t most) {
    const char *end = memchr(text, 0, most);
    return end ? (size_t)(end - text) + 1 : most;
}

WRAPPED(void *, memcpy, (void *to, const void *from, size_t size)) {
    READ(from, size);
    WRITE(to, size);
    return __real_memcpy(to, from, size);
}
WRAPPED(void *, memmove, (void *to, const void *from, size_t size)) {
    READ(from, size);
    WRITE(to, size);
    return __real_memmove(to, from, size);
}
WRAPPED(void *, memset, (void *to, int value, size_t size)) {
    WRITE(to, size);
    return __real_memset(to, value, size);
}
WRAPPED(int, memcmp, (const void *left, const void *right, size_t size)) {
    READ(left, size);
    READ(right, size);
    return __real_memcmp(left, right, size);
}
WRAPPED(size_t, strlen, (const char *text)) {
    READ(text, __real_strlen(text) + 1);
    return __real_strlen(text); /* others may have run */
}
WRAPPED(char *, strcpy, (char *to, const char *from)) {
    size_t size = __real_strlen(from) + 1;
    READ(from, size);
    WRITE(to, size);
    return __real_strcpy(to, from);
}
WRAPPED(char *, strncpy, (char *to, const char *from, size_t size)) {
    READ(from, bounded_length(from, size));
    WRITE(to, size);
    return __real_strncpy(to, from, size);
}
WRAPPED(char *, strcat, (char *to, const char *from)) {
    size_t before = __real_strlen(to), size = __real_strlen(from) + 1;
    READ(from, size);
    READ(to, before + 1);
    WRITE(to + before, size);
    return __real_strcat(to, from);
}
WRAPPED(int, strcmp, (const char *left, const char *right)) {
    READ(left, __real_strlen(left) + 1);
    READ(right, __real_strlen(right) + 1);
    return __real_strcmp(left, right);
}
WRAPPED(int, strncmp, (const char *left, const char *right, size_t most)) {
    if (most) {
        READ(left, bounded_length(left, most));
        READ(right, bounded_length(right, most));
    }
    return __real_strncmp(left, right, most);
}

/* What -D_FORTIFY_SOURCE makes of them. */
WRAPPED(void *, __memcpy_chk, (void *to, const void *from, size_t size, size_t room)) {
    READ(from, size);
    WRITE(to, size);
    return __real___memcpy_chk(to, from, size, room);
}
WRAPPED(void *, __memmove_chk, (void *to, const void *from, size_t size, size_t room)) {
    READ(from, size);
    WRITE(to, size);
    return __real___memmove_chk(to, from, size, room);
}
WRAPPED(void *, __memset_chk, (void *to, int value, size_t size, size_t room)) {
    WRITE(to, size);
    return __real___memset_chk(to, value, size, room);
}
WRAPPED(char *, __strcpy_chk, (char *to, const char *from, size_t room)) {
    size_t size = __real_strlen(from) + 1;
    READ(from, size);
    WRITE(to, size);
    return __real___strcpy_chk(to, from, room);
}
