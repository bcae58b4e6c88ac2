/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions and lines as events of a sketch: the interpreter's own hooks report them, for the
 * target's code only, and only in runs that want them. Every thread has to ask for itself. Loops
 * are reported by probes before the jumps back, which are there only in such campaigns
 * (rewriter/loops.py).
 */
#include "binding/binding.h"

static void report(uint32_t site, enum uns_op op) {
    if (site && uns_rt.active && uns_self && !uns_self->muted)
        uns_sketch_event(uns_self, UNS_POINT(site, op));
}

static int on_function(PyObject *self, PyFrameObject *frame, int what, PyObject *value) {
    if (what == PyTrace_CALL || what == PyTrace_RETURN)
        report(uns_function_site(frame), what == PyTrace_CALL ? UNS_ENTER : UNS_EXIT);
    return 0;
}

static int on_line(PyObject *self, PyFrameObject *frame, int what, PyObject *value) {
    if (what == PyTrace_LINE)
        report(uns_line_site(frame), UNS_BLOCK);
    return 0;
}

void uns_report_back(uint32_t site) {
    if (uns_rt.reports & UNS_REPORTS_LOOPS)
        report(site, UNS_BLOCK);
}

void uns_report_functions(void) {
    if (uns_rt.reports & UNS_REPORTS_FUNCTIONS)
        PyEval_SetProfile(on_function, NULL);
    else if (uns_rt.reports & UNS_REPORTS_BLOCKS)
        PyEval_SetTrace(on_line, NULL);
}
