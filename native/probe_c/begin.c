/* SPDX-License-Identifier: Apache-2.0
 *
 * A run begins before the program's constructors and ends when its process does.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include "runtime/plan_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLAN "UNSNARL_PLAN="
/* In a free run, so many writes that are news to nobody may have one time: reading the clock
 * costs as much as all else on the slow path. */
#define STALE 16u

static void refuse(const char *why) {
    dprintf(STDERR_FILENO, "unsnarl: this program cannot be run under a plan: %s\n", why);
    _exit(UNS_EXIT_REFUSED);
}

/* What the program starts is not the run. */
static const char *take_plan(char **environment) {
    for (char **at = environment; *at; at++)
        if (!strncmp(*at, PLAN, sizeof PLAN - 1)) {
            const char *plan = *at + sizeof PLAN - 1;
            for (; *at; at++)
                at[0] = at[1];
            return plan;
        }
    return NULL;
}

static void begin(int count, char **arguments, char **environment) {
    const char *path = take_plan(environment);
    if (!path)
        return;
    struct uns_hooks hooks = {.inside = uns_c_is_inside,
                              .ending = uns_c_note_end,
                              .adopted = uns_c_watch_this_thread,
                              .idle = uns_c_hear,
                              .excuses = uns_c_peeks};
    if (uns_plan_load(path, &uns_c_plan) < 0)
        refuse("it was built with another version of unsnarl");
    unlink(path);
    uint32_t sites = (uint32_t)((&etext - &__executable_start) / UNS_C_UNIT) + 1, listed;
    const struct uns_module *program = uns_modules(&listed);
    if (!listed || program->sites != sites)
        refuse("it was built again since its sites were listed");
    uns_c_watch_signals();
    uns_c_capture_begin(&hooks);
    uns_c_beginning = 1;
    if (uns_run_begin(&uns_c_plan, &hooks) < 0)
        refuse("its memory is limited too tightly");
    uns_c_beginning = 0;
    if (!uns_rt.gated && !uns_rt.recording && !uns_rt.tracker.tap &&
        uns_shadow_init(&uns_c_shadow) < 0)
        refuse("its memory is limited too tightly");
    uns_rt.tracker.stale = STALE;
    uns_c_watch_threads();
    pthread_atfork(NULL, NULL, uns_c_go_on_alone);
    at_quick_exit(uns_c_finish);
}
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **,
                                                                              char **) = begin;
