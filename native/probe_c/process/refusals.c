/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that returned an error: which, where, and when for the first time. The parent sees which of
 * them only failing runs have (docs/adr/0056). Only an error costs anything.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>

#define MOST_KINDS 256u
static struct kind {
    uint32_t site;
    int error;
} kinds[MOST_KINDS];
static uint32_t used;
static char busy;

/* Once for each site and error. What comes after many kinds is left out. */
static int is_new(uint32_t site, int error) {
    int found = 0;
    uns_busy();
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        ;
    for (uint32_t i = 0; i < used && !found; i++)
        found = kinds[i].site == site && kinds[i].error == error;
    int fresh = !found && used < MOST_KINDS;
    if (fresh)
        kinds[used++] = (struct kind){site, error};
    __atomic_clear(&busy, __ATOMIC_RELEASE);
    uns_idle();
    return fresh;
}

static void note(uint32_t site, const char *call, const char *error) {
    char text[384];
    int length = snprintf(
        text, sizeof text,
        "{\"caught\": {\"type\": \"%s\", \"message\": \"\", \"thread\": \"%s\", "
        "\"time\": %llu, \"frames\": [], \"by\": [\"\", 0, \"\"], "
        "\"site\": %u, \"call\": \"%s\"}}",
        error, uns_self->path,
        (unsigned long long)__atomic_load_n(&uns_rt.logical_time, __ATOMIC_RELAXED), site, call);
    uns_note(text, (uint32_t)length);
}

static void refused(const void *pc, const char *call, int number, const char *error) {
    int before = errno;
    uint32_t site = uns_c_site(pc);
    if (!site) /* of the library that called it for the program */
        site = uns_c_library_site();
    if (site && error && is_new(site, number))
        note(site, call, error);
    errno = before;
}

/* C11's outcomes have names of their own. */
static const char *c11_name(int outcome) {
    return outcome == thrd_busy       ? "thrd_busy"
           : outcome == thrd_timedout ? "thrd_timedout"
           : outcome == thrd_nomem    ? "thrd_nomem"
                                      : "thrd_error";
}

static int is_c11(const char *call) {
    return !strncmp(call, "mtx_", 4) || !strncmp(call, "cnd_", 4) || !strncmp(call, "thrd_", 5);
}

int uns_c_returned_error(int outcome, const char *call, const void *pc) {
    int number = outcome < 0 ? errno : outcome;
    if (uns_c_waits() && number != EINTR)
        refused(pc, call, number, is_c11(call) ? c11_name(outcome) : strerrorname_np(number));
    return outcome;
}

void uns_c_note_refusal(const char *call, const void *pc) {
    if (uns_c_waits() && errno != EINTR)
        refused(pc, call, errno, strerrorname_np(errno));
}

void uns_c_note_timeout(const char *call, const void *pc) {
    if (uns_c_waits())
        refused(pc, call, 0, "0 (its time ran out)");
}
