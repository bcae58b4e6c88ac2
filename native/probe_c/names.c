/* SPDX-License-Identifier: Apache-2.0
 *
 * Which variables sites touch. Names are for the parent to find (src/unsnarl/probes/native/): here
 * is noted where a site has been last.
 *
 *   {"places": {"site": location, ...}}
 *   location: ["data", offset] | ["tls", offset] | null
 *        | ["stack", thread, code offset, offset from its CFA, from its SP]
 *        | ["heap", offset, size, site that asked, number of the block, calls that led there]
 */
#include "probe_c/probe.h"
#include <stdarg.h>
#include <stdio.h>

#define TLS_BYTES 65536
#define IS_LOCK   (1ull << 63)

static uint64_t *touched; /* by site: an address, 0: nothing */

static void remember(uint32_t site, uint64_t address) {
    if (!touched)
        touched = uns_pages((size_t)(uns_rt.site_limit + 1) * sizeof *touched);
    if (touched && site < uns_rt.site_limit)
        touched[site] = address;
}

void uns_c_remember(uint32_t site, const volatile void *address, uint64_t size) {
    uns_c_about_to_touch(address, size);
    remember(site, (uintptr_t)address);
}

void uns_c_remember_lock(uint32_t site, const void *address) {
    if (address)
        remember(site, (uintptr_t)address | IS_LOCK);
}

void uns_c_say(struct uns_array *note, const char *format, ...) {
    char text[192];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    uns_array_append(note, text, (uint64_t)length);
}

static void say_stack(struct uns_array *note, const struct uns_c_stack *stack, uint32_t frame,
                      uintptr_t address) {
    const struct uns_c_frame *here = &stack->frames[frame];
    uns_c_say(note, "[\"stack\", \"%s\", %u, %lld, %lld]", stack->thread->path, here->pc,
              (long long)(address - here[1].low), (long long)(address - here->low));
}

static void say_block(struct uns_array *note, const struct uns_c_block *block, uintptr_t address) {
    uns_c_say(note, "[\"heap\", %llu, %llu, %u, %u, [",
              (unsigned long long)(address - block->start), (unsigned long long)block->size,
              block->site, block->number);
    for (uint32_t i = 0; i < UNS_C_CALLS && block->calls[i]; i++)
        uns_c_say(note, "%s%u", i ? ", " : "", block->calls[i]);
    uns_c_say(note, "]]");
}

void uns_c_say_location(struct uns_array *note, uintptr_t address) {
    intptr_t local = (intptr_t)(address - (uintptr_t)__builtin_thread_pointer());
    uint32_t data = uns_c_offset((const void *)address);
    if (data) {
        uns_c_say(note, "[\"data\", %u]", data);
        return;
    }
    struct uns_c_block block = uns_c_block_at(address);
    uint32_t frame;
    const struct uns_c_stack *stack = uns_c_stack_with(address, &frame);
    if (block.number)
        say_block(note, &block, address);
    else if (local < 0 && local > -TLS_BYTES)
        uns_c_say(note, "[\"tls\", %lld]", (long long)local);
    else if (stack)
        say_stack(note, stack, frame, address);
    else
        uns_c_say(note, "null");
}

void uns_c_note_locations(void) {
    struct uns_array note = {0};
    for (uint32_t site = 0; touched && site < uns_rt.site_limit; site++) {
        if (!touched[site] || !(uns_rt.shared_sites[site] || touched[site] & IS_LOCK))
            continue;
        uns_c_say(&note, "%s\"%u\": ", note.used ? ", " : "{\"places\": {", site);
        uns_c_say_location(&note, touched[site] & ~IS_LOCK);
    }
    if (note.used && uns_array_append(&note, "}}", 2) == 0)
        uns_note(note.data, (uint32_t)note.used);
    uns_array_free(&note);
}
