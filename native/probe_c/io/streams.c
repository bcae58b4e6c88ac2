/* SPDX-License-Identifier: Apache-2.0
 *
 * Input by stdio: libc reads by itself, unseen. If a stream has nothing left, the next read may
 * block, and its thread waits for its turn until it does not. (A line that comes in pieces may
 * still block: the stall watch sees to that.)
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <poll.h>
#include <stdio.h>

static int await_stream(FILE *stream, uint32_t site) {
    int fd = fileno(stream);
    if (fd < 0 || stream->_IO_read_ptr < stream->_IO_read_end)
        return 0;
    return uns_c_await_file(fd, POLLIN, 0, site);
}

#define ON_STREAM(type, name, failed, arguments, ...)                                              \
    UNS_C_INTERCEPTOR type name arguments {                                                        \
        if (uns_c_waits() && await_stream(stream, UNS_C_CALLER()) < 0)                             \
            return failed;                                                                         \
        return UNS_C_REAL(name)(__VA_ARGS__);                                                      \
    }
ON_STREAM(char *, fgets, NULL, (char *restrict to, int size, FILE *restrict stream), to, size,
          stream)
ON_STREAM(size_t, fread, 0, (void *restrict to, size_t size, size_t count, FILE *restrict stream),
          to, size, count, stream)
ON_STREAM(int, fgetc, EOF, (FILE * stream), stream)
ON_STREAM(int, getc, EOF, (FILE * stream), stream)
ON_STREAM(ssize_t, getline, -1, (char **restrict to, size_t *restrict size, FILE *restrict stream),
          to, size, stream)
/* The second is what its header makes of the others. */
#define DELIMITED(name)                                                                            \
    ON_STREAM(ssize_t, name, -1,                                                                   \
              (char **restrict to, size_t *restrict size, int end, FILE *restrict stream), to,     \
              size, end, stream)
DELIMITED(getdelim)
DELIMITED(__getdelim)
UNS_C_INTERCEPTOR int getchar(void) {
    if (uns_c_waits() && await_stream(stdin, UNS_C_CALLER()) < 0)
        return EOF;
    return UNS_C_REAL(getchar)();
}
