/* SPDX-License-Identifier: Apache-2.0
 *
 * The probe as a shared library, which instrumented libraries need. It begins no runs: in a Python
 * process the binding does; in a program built with the wrapper, the program's own copy of the
 * probe, which the libraries' calls find first; elsewhere, nobody.
 */
#include "probe_c/probe.h"

static void begins(void) {
    uns_shadow_free(&uns_c_shadow);
    if (!uns_rt.held && !uns_rt.recording && !uns_rt.tracker.tap)
        uns_shadow_init(&uns_c_shadow); /* without room for one, cells are in the hash table */
    uns_view_everything();              /* what this thread did before was of no interest */
    uns_rt.hooks.excuses = uns_c_peeks;
    uns_c_watch_threads();
    pthread_atfork(NULL, NULL, uns_c_go_on_alone);
}

__attribute__((constructor)) static void come(void) {
    static const struct uns_guest guest = {begins, uns_c_note_end, uns_c_is_inside};
    uns_use_guest(&guest);
}
