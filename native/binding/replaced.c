/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread has one profile and one trace function. Where the target sets its own (sys.setprofile,
 * threading.settrace, a coverage tool), ours are gone, and the rest of the run is not recorded: the
 * run file must say so. The interpreter announces it to audit hooks.
 */
#include "binding/binding.h"

static _Thread_local int asking;           /* it is we who set one */
static _Thread_local int profiles, traces; /* what we have set here */
static int is_watched, is_noted;

static int on_audit(const char *event, PyObject *args, void *unused) {
    int lost = (profiles && strcmp(event, "sys.setprofile") == 0) ||
               (traces && strcmp(event, "sys.settrace") == 0);
    if (!lost || asking || is_noted || !uns_rt.active)
        return 0;
    is_noted = 1;
    char note[64];
    uns_note(note, (uint32_t)snprintf(note, sizeof note, "{\"replaced\": \"%s\"}", event));
    return 0;
}

void uns_hear(void) {
    const PyThreadState *state = PyThreadState_Get();
    asking = 1;
    uns_report_functions();
    asking = 0;
    profiles = state->c_profilefunc != NULL;
    traces = state->c_tracefunc != NULL;
    if ((profiles || traces) && !is_watched)
        is_watched = PySys_AddAuditHook(on_audit, NULL) == 0;
    PyErr_Clear();
}
