/* SPDX-License-Identifier: Apache-2.0
 *
 * Which variables sites touch. The names are in the program's symbols, which the parent reads: here
 * is noted where in the program's data a site has been.
 */
#include "probe.h"
#include <stdio.h>

static uint32_t *offsets; /* by site: from the program's start, 0: elsewhere */

void uns_c_remember(uint32_t site, const volatile void *address) {
    if (!offsets)
        offsets = uns_pages((size_t)(uns_rt.site_limit + 1) * sizeof *offsets);
    if (offsets && site < uns_rt.site_limit)
        offsets[site] = uns_c_offset(address);
}

void uns_c_note_addresses(void) {
    struct uns_array note = {0};
    char text[48];
    const char *before = "{\"addresses\": {";
    for (uint32_t site = 0; offsets && site < uns_rt.site_limit; site++) {
        if (!uns_rt.shared_sites[site] || !offsets[site])
            continue;
        int length = snprintf(text, sizeof text, "%s\"%u\": %u", before, site, offsets[site]);
        uns_array_append(&note, text, (uint64_t)length);
        before = ", ";
    }
    if (note.used && uns_array_append(&note, "}}", 2) == 0)
        uns_note(note.data, (uint32_t)note.used);
    uns_array_free(&note);
}
