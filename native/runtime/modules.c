/* SPDX-License-Identifier: Apache-2.0
 *
 * Instrumented libraries: which ones a campaign has listed, and the probe that they bring along
 * into a process whose runs another probe begins.
 */
#include "runtime/runtime.h"

static const struct uns_module *listed;
static uint32_t listed_length;
static const struct uns_guest *guest;

void uns_use_modules(const struct uns_module *modules, uint32_t length) {
    listed = modules;
    listed_length = length;
}

const struct uns_module *uns_modules(uint32_t *length) {
    *length = listed_length;
    return listed;
}

/* A library may come when the run is under way. */
void uns_use_guest(const struct uns_guest *one) {
    guest = one;
    if (uns_rt.active)
        guest->begins();
}

void uns_guest_begins(void) {
    if (guest)
        guest->begins();
}

void uns_guest_ends(void) {
    if (guest)
        guest->ending();
}

/* Who cannot be asked has not left. */
int uns_inside(uint32_t low, uint32_t high) {
    return !uns_rt.hooks.inside || uns_rt.hooks.inside(low, high) ||
           (guest && guest->inside(low, high));
}
