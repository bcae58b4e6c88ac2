/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about paths. They are libc's; if one is refused, that is noted.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define REFUSES(type, name, failed, arguments, ...)                                                \
    UNS_C_INTERCEPTOR type name arguments {                                                        \
        type outcome = UNS_C_REAL(name)(__VA_ARGS__);                                              \
        if (UNS_UNLIKELY(outcome == (failed)))                                                     \
            uns_c_note_refusal(#name, UNS_C_HERE);                                                 \
        return outcome;                                                                            \
    }
REFUSES(FILE *, fopen, NULL, (const char *restrict path, const char *restrict mode), path, mode)
REFUSES(FILE *, fopen64, NULL, (const char *restrict path, const char *restrict mode), path, mode)
REFUSES(DIR *, opendir, NULL, (const char *path), path)
REFUSES(int, access, -1, (const char *path, int mode), path, mode)
REFUSES(int, mkdir, -1, (const char *path, mode_t mode), path, mode)
REFUSES(int, rename, -1, (const char *from, const char *to), from, to)
REFUSES(int, rmdir, -1, (const char *path), path)
REFUSES(int, unlink, -1, (const char *path), path)

/* The mode is there only if a file may be made. */
#define OPENS(name, parameters, last, ...)                                                         \
    UNS_C_INTERCEPTOR int name parameters {                                                        \
        mode_t mode = 0;                                                                           \
        if (flags & (O_CREAT | __O_TMPFILE)) {                                                     \
            va_list rest;                                                                          \
            va_start(rest, last);                                                                  \
            mode = va_arg(rest, mode_t);                                                           \
            va_end(rest);                                                                          \
        }                                                                                          \
        int outcome = UNS_C_REAL(name)(__VA_ARGS__, flags, mode);                                  \
        if (UNS_UNLIKELY(outcome < 0))                                                             \
            uns_c_note_refusal(#name, UNS_C_HERE);                                                 \
        return outcome;                                                                            \
    }
OPENS(open, (const char *path, int flags, ...), flags, path)
OPENS(open64, (const char *path, int flags, ...), flags, path)
OPENS(openat, (int folder, const char *path, int flags, ...), flags, folder, path)
