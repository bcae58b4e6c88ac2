/* SPDX-License-Identifier: Apache-2.0
 *
 * Sites in shared libraries. A library is looked for when its code first calls the probe, so it
 * makes no difference when it was loaded, and by whom; its build id says which one it is.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define MOST 256u

struct loaded {
    uintptr_t start, end, base;      /* of its segments; what its addresses are counted from */
    const struct uns_module *module; /* NULL: not a listed one */
    const char *name;
    uint32_t asked; /* it has no sites, but calls the probe */
};
static struct loaded all[MOST];
static uint32_t used;
static char busy;

static const struct loaded *find(uintptr_t address) {
    uint32_t count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++)
        if (address >= all[i].start && address < all[i].end)
            return &all[i];
    return NULL;
}

static const struct uns_module *listed(const unsigned char *id, uint32_t size) {
    uint32_t length;
    const struct uns_module *modules = uns_modules(&length);
    for (uint32_t i = 0; i < length && size <= sizeof modules->id; i++)
        if (!memcmp(modules[i].id, id, size))
            return &modules[i];
    return NULL;
}

/* The build id is a note of the linker's. */
static const struct uns_module *module_in(const char *notes, const char *end) {
    while (notes + sizeof(ElfW(Nhdr)) < end) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)notes;
        const char *name = notes + sizeof *note, *text = name + ((note->n_namesz + 3) & ~3u);
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(name, "GNU", 4))
            return listed((const unsigned char *)text, note->n_descsz);
        notes = text + ((note->n_descsz + 3) & ~3u);
    }
    return NULL;
}

static void add_segment(struct loaded *found, const struct dl_phdr_info *info,
                        const ElfW(Phdr) * segment) {
    uintptr_t start = info->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
    if (segment->p_type == PT_LOAD) {
        found->start = found->end && found->start < start ? found->start : start;
        found->end = end > found->end ? end : found->end;
    } else if (segment->p_type == PT_NOTE && !found->module) {
        found->module = module_in((const char *)start, (const char *)end);
    }
}

struct search {
    uintptr_t address;
    struct loaded found;
};

static int look(struct dl_phdr_info *info, size_t size, void *data) {
    struct search *search = data;
    struct loaded found = {.base = info->dlpi_addr, .name = info->dlpi_name};
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        add_segment(&found, info, &info->dlpi_phdr[i]);
    if (search->address < found.start || search->address >= found.end)
        return 0;
    search->found = found;
    return 1;
}

static const struct loaded *learn(uintptr_t address) {
    struct search search = {.address = address};
    dl_iterate_phdr(look, &search);
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        ;
    const struct loaded *found = find(address);
    if (!found && search.found.end && used < MOST) {
        all[used] = search.found;
        found = &all[used];
        __atomic_store_n(&used, used + 1, __ATOMIC_RELEASE);
    }
    __atomic_clear(&busy, __ATOMIC_RELEASE);
    return found;
}

/* Before a run it is not known yet which ones are listed. */
uint32_t uns_c_site_elsewhere(const void *pc) {
    if (!uns_rt.active)
        return 0;
    const struct loaded *found = find((uintptr_t)pc);
    if (UNS_UNLIKELY(!found))
        found = learn((uintptr_t)pc);
    if (!found || !found->module)
        return 0;
    uint64_t site = ((uintptr_t)pc - found->base) / UNS_C_UNIT;
    uint32_t point = UNS_POINT(found->module->first + (uint32_t)site, 0);
    /* What is of no interest has no first site. */
    return site < found->module->sites && UNS_POINT_SITE(uns_first_point(point))
               ? UNS_POINT_SITE(point)
               : 0;
}

uintptr_t uns_c_address_elsewhere(uint32_t site) {
    uint32_t count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        const struct uns_module *module = all[i].module;
        if (module && site >= module->first && site - module->first < module->sites)
            return all[i].base + (uintptr_t)(site - module->first) * UNS_C_UNIT;
    }
    return 0;
}

uint32_t uns_c_offset_elsewhere(const volatile void *address) {
    const struct loaded *found = find((uintptr_t)address);
    return found && found->module
               ? found->module->offset + (uint32_t)((uintptr_t)address - found->base)
               : 0;
}

int uns_c_owns(uint32_t site) {
    uint32_t length;
    const struct uns_module *modules = uns_modules(&length);
    for (uint32_t i = 0; i < length; i++)
        if (site >= modules[i].first && site - modules[i].first < modules[i].sites)
            return 1;
    return 0;
}

void uns_c_missed(const void *pc) {
    struct loaded *found = (struct loaded *)find((uintptr_t)pc);
    if (found && !found->module)
        found->asked = 1;
}

/* For the parent to report; a name that JSON would have to quote is left out. */
void uns_c_note_unlisted(void) {
    char note[4096];
    for (uint32_t i = 0; i < used; i++) {
        if (!all[i].asked || strpbrk(all[i].name, "\"\\\n\t"))
            continue;
        int length = snprintf(note, sizeof note, "{\"unlisted\": \"%s\"}", all[i].name);
        if (length < (int)sizeof note)
            uns_note(note, (uint32_t)length);
    }
}
