/* SPDX-License-Identifier: Apache-2.0
 *
 * How a run failed, in the form that the parent reads (a line of JSON in the notes).
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOTE_BYTES 4096

/* As much of a text as fits, as the inside of a JSON string. */
static void add_text(char *note, size_t *used, const char *text) {
    for (; *text && *used < NOTE_BYTES - 64; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 32)
            *used += (size_t)snprintf(note + *used, 8, "\\u%04x", c);
        else {
            if (c == '"' || c == '\\')
                note[(*used)++] = '\\';
            note[(*used)++] = (char)c;
        }
    }
}

static void add(char *note, size_t *used, const char *before, const char *text) {
    *used += (size_t)snprintf(note + *used, 64, "%s", before);
    add_text(note, used, text);
}

void uns_c_note_failure(const char *kind, const char *type, const char *message, const char *file,
                        unsigned line, const char *function) {
    char note[NOTE_BYTES + 256];
    size_t used = 0;
    add(note, &used, "{\"failure\": {\"kind\": \"", kind);
    add(note, &used, "\", \"type\": \"", type);
    add(note, &used, "\", \"message\": \"", message);
    add(note, &used, "\", \"thread\": \"", uns_self ? uns_self->path : "");
    used += (size_t)snprintf(note + used, 32, "\", \"frames\": [");
    if (file) {
        char number[32];
        snprintf(number, sizeof number, "\", %u, \"", line);
        add(note, &used, "[\"", file);
        used += (size_t)snprintf(note + used, 32, "%s", number);
        add_text(note, &used, function);
        used += (size_t)snprintf(note + used, 8, "\"]");
    }
    used += (size_t)snprintf(note + used, 8, "]}}");
    uns_note(note, (uint32_t)used);
}

void uns_c_note_signal(int number, uint32_t site) {
    char note[160];
    int used = snprintf(note, sizeof note,
                        "{\"failure\": {\"kind\": \"signal\", \"type\": \"SIG%s\", "
                        "\"thread\": \"%s\", \"site\": %u}}",
                        sigabbrev_np(number), uns_self->path, site);
    uns_note(note, (uint32_t)used);
}

/* Sites become lines when the parent reads them. */
void uns_c_note_heap_error(const char *type, const char *what, uint32_t site, uint32_t made,
                           uint32_t freed) {
    char note[256];
    int used = snprintf(note, sizeof note,
                        "{\"failure\": {\"kind\": \"heap\", \"type\": \"%s\", \"message\": \"%s\", "
                        "\"thread\": \"%s\", \"site\": %u, \"made\": %u, \"freed\": %u}}",
                        type, what, uns_self ? uns_self->path : "", site, made, freed);
    uns_note(note, (uint32_t)used);
}

/* Of the C++ library, where there is one. A type's name is behind its table of functions. */
struct type_info {
    const void *functions;
    const char *name;
};
extern const struct type_info *__cxa_current_exception_type(void) __attribute__((weak));

/* The parent makes a plain name of it: that needs memory, which may be what is broken here. */
void uns_c_note_exception(void) {
    const struct type_info *type =
        __cxa_current_exception_type ? __cxa_current_exception_type() : NULL;
    if (!type || !uns_self)
        return;
    char note[512];
    uint32_t thrown = uns_c_library_site(); /* the stack is still that of the throw */
    int used = snprintf(note, sizeof note,
                        "{\"failure\": {\"kind\": \"exception\", \"type\": \"_ZTS%.300s\", "
                        "\"thread\": \"%s\", \"site\": %u}}",
                        type->name + (*type->name == '*'), uns_self->path,
                        thrown ? thrown : uns_self->last_site);
    uns_note(note, (uint32_t)used);
}

void uns_c_report_deadlock(void) {
    if (uns_c_plan.debugged)
        uns_c_stop(UNS_POINT_SITE(uns_current()->pending.point));
    if (uns_rt.hooks.deadlock)
        uns_rt.hooks.deadlock();
    uns_gate_deadlock_edges();
    uns_c_note_failure("deadlock", "Deadlock", "no thread can go on", NULL, 0, NULL);
    uns_run_finish();
    _exit(UNS_EXIT_DEADLOCK);
}

UNS_C_INTERCEPTOR void __assert_fail(const char *expression, const char *file, unsigned line,
                                     const char *function) {
    if (uns_rt.active)
        uns_c_note_failure("assertion", "assert", expression, file, line, function);
    void (*real)(const char *, const char *, unsigned, const char *) = uns_c_next("__assert_fail");
    real(expression, file, line, function);
    __builtin_unreachable();
}
