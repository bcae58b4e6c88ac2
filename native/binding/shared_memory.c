/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that processes share, made before the runs are forked: semaphores of multiprocessing,
 * its values and arrays, maps without a file. All runs would have it in common, at the same time
 * and one after the other: who is ended while it holds such a semaphore would leave it locked for
 * all that come (docs/adr/0095). So each run begins with a copy of its own, which processes that
 * it forks share with it.
 */
#define _GNU_SOURCE
#include "binding/binding.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SEMAPHORES "/dev/shm/sem."
#define NAMELESS   "(deleted)" /* a map without a file is one of a file that has no name, too */

struct region {
    uintptr_t start, end;
};

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

/* One line of /proc/self/maps: whether it is memory that only processes forked here can share. */
static int is_common(const char *line, struct region *region) {
    char access[5];
    int path = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %*s %n", &region->start, &region->end,
               access, &path) < 3 ||
        strncmp(access, "rw", 2) != 0 || access[3] != 's' || !path)
        return 0;
    return ends_with(line + path, NAMELESS) ||
           !strncmp(line + path, SEMAPHORES, strlen(SEMAPHORES));
}

/* What cannot be copied stays as it is. */
static void copy_of_its_own(const struct region *region) {
    size_t bytes = region->end - region->start;
    void *here = (void *)region->start;
    void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return;
    memcpy(copy, here, bytes);
    if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, here) == MAP_FAILED)
        munmap(copy, bytes);
}

static struct region *found;
static size_t count;

static int keep(const struct region *region) {
    struct region *more = realloc(found, (count + 1) * sizeof *more);
    if (!more)
        return -1;
    found = more;
    found[count++] = *region;
    return 0;
}

/* In the server, once: the list is long, and every run would have the same. */
PyObject *uns_find_shared_memory(PyObject *module, PyObject *unused) {
    char line[4352]; /* a path and what stands before it */
    struct region region;
    int failed = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    count = 0;
    while (maps && !failed && fgets(line, sizeof line, maps)) {
        line[strcspn(line, "\n")] = 0;
        failed = is_common(line, &region) && keep(&region) < 0;
    }
    if (maps)
        fclose(maps);
    return failed ? PyErr_NoMemory() : PyLong_FromSize_t(count);
}

PyObject *uns_unshare_memory(PyObject *module, PyObject *unused) {
    for (size_t at = 0; at < count; at++)
        copy_of_its_own(&found[at]);
    Py_RETURN_NONE;
}
