/* SPDX-License-Identifier: Apache-2.0
 *
 * A debugger at one point of a replayed run: it has a breakpoint on uns_c_stop_here. The thread
 * that comes there has the gate's token, so all others stay where they are.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uintptr_t uns_c_stop_at; /* read by the debugger: which of the frames is the program's */

__attribute__((noinline)) void uns_c_stop_here(void) {
    __asm__ volatile("" ::: "memory");
}

void uns_c_stop(uint32_t site) {
    uns_c_stop_at = uns_c_address(site);
    __atomic_store_n(&uns_rt.paused, 1, __ATOMIC_RELAXED);
    uns_c_stop_here();
    __atomic_store_n(&uns_rt.paused, 0, __ATOMIC_RELAXED);
}

static int is_at(const struct uns_match *stop, uint32_t point) {
    for (uint32_t i = 0; i < stop->length; i++)
        if (uns_first_point(stop->points[i]) == uns_first_point(point))
            return 1;
    return 0;
}

void uns_c_stop_if_there(const struct uns_thread *t, uint32_t point) {
    const struct uns_match *stop = &uns_c_plan.stop;
    static uint32_t seen;
    if (!strcmp(t->path, stop->path) && is_at(stop, point) && ++seen == stop->occurrence)
        uns_c_stop(UNS_POINT_SITE(point));
}

/* The debugger is the program's parent: nobody else learns how it ended. */
void uns_c_note_status(int status) {
    char text[48];
    int length = snprintf(text, sizeof text, "{\"run\": {\"status\": %d}}", status);
    if (uns_rt.active && uns_c_plan.debugged)
        uns_note(text, (uint32_t)length);
}

static void at_exit(int status, void *nothing) {
    (void)nothing;
    uns_c_note_status(status);
}

__attribute__((constructor)) static void watch_exit(void) {
    if (uns_rt.active && uns_c_plan.debugged)
        on_exit(at_exit, NULL);
}
