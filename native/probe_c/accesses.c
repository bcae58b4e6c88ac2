/* SPDX-License-Identifier: Apache-2.0
 *
 * Plain accesses, as gcc and clang tell of them.
 */
#include "probe.h"
#include <string.h>

#define GRANULE      4u
#define MOST_WORDS   64u /* of a range: what lies behind is not looked at */
#define MOST_FRESH   65536u
#define ENTRY        __attribute__((aligned(64)))
#define WORD_OF(a)   ((uintptr_t)(a) / GRANULE)
#define ACCESS(n, w) uns_c_accessed(UNS_C_SITE(), address, n, w)

static uint64_t cell_at(uintptr_t word) {
    return uns_cell_key(uns_mix(word), word);
}

/* An object of 8 bytes is one cell, at its beginning; smaller ones that share 4 bytes are one. */
void uns_c_accessed(uint32_t site, const volatile void *address, uint64_t size, int write) {
    if (!uns_c_on())
        return;
    if (uns_rt.gated)
        uns_c_remember(site, address);
    uns_current()->last_site = site;
    uns_access(site, cell_at(WORD_OF(address)), write, 1);
    if (size <= 8)
        return;
    struct uns_thread *t = uns_current();
    uint32_t point = UNS_POINT(site, write ? UNS_WRITE : UNS_READ);
    uint64_t words = size / 8 < MOST_WORDS ? size / 8 : MOST_WORDS;
    for (uint64_t i = 1; i < words; i++) {
        uint64_t cell = cell_at(WORD_OF(address) + i * 8 / GRANULE);
        uns_gate_touch(t, site, cell);
        if (write)
            uns_write(&uns_rt.tracker, &t->tracked, point, cell);
        else
            uns_read(&uns_rt.tracker, &t->tracked, point, cell);
    }
}

/* Memory made anew: what was known of it is void. The last bytes of a very large block keep their
 * past: voiding is for what a program asks for often. */
void uns_c_fresh(const void *address, uint64_t size) {
    if (!uns_c_on())
        return;
    struct uns_thread *t = uns_current();
    uint64_t words = (size < MOST_FRESH ? size + GRANULE - 1 : MOST_FRESH) / GRANULE;
    for (uint64_t i = 0; i < words; i++)
        uns_forget(&uns_rt.tracker, &t->tracked, cell_at(WORD_OF(address) + i));
}

#define PLAIN(n)                                                                                   \
    ENTRY void __tsan_read##n(void *address) {                                                     \
        ACCESS(n, 0);                                                                              \
    }                                                                                              \
    ENTRY void __tsan_write##n(void *address) {                                                    \
        ACCESS(n, 1);                                                                              \
    }                                                                                              \
    ENTRY void __tsan_volatile_read##n(void *address) {                                            \
        ACCESS(n, 0);                                                                              \
    }                                                                                              \
    ENTRY void __tsan_volatile_write##n(void *address) {                                           \
        ACCESS(n, 1);                                                                              \
    }                                                                                              \
    ENTRY void __tsan_read_write##n(void *address) {                                               \
        ACCESS(n, 0);                                                                              \
        ACCESS(n, 1);                                                                              \
    }
#define UNALIGNED(n)                                                                               \
    ENTRY void __tsan_unaligned_read##n(void *address) {                                           \
        ACCESS(n, 0);                                                                              \
    }                                                                                              \
    ENTRY void __tsan_unaligned_write##n(void *address) {                                          \
        ACCESS(n, 1);                                                                              \
    }                                                                                              \
    ENTRY void __tsan_unaligned_volatile_read##n(void *address) {                                  \
        ACCESS(n, 0);                                                                              \
    }                                                                                              \
    ENTRY void __tsan_unaligned_volatile_write##n(void *address) {                                 \
        ACCESS(n, 1);                                                                              \
    }                                                                                              \
    ENTRY void __tsan_unaligned_read_write##n(void *address) {                                     \
        ACCESS(n, 0);                                                                              \
        ACCESS(n, 1);                                                                              \
    }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)

void __tsan_read_range(void *address, unsigned long size) {
    if (size)
        ACCESS(size, 0);
}
void __tsan_write_range(void *address, unsigned long size) {
    if (size)
        ACCESS(size, 1);
}
void __tsan_vptr_read(void *address) {
    ACCESS(8, 0);
}
void __tsan_vptr_update(void **address, void *value) {
    if (*address != value)
        ACCESS(8, 1);
}

void *__tsan_memcpy(void *to, const void *from, unsigned long size) {
    if (size) {
        uns_c_accessed(UNS_C_SITE(), from, size, 0);
        uns_c_accessed(UNS_C_SITE(), to, size, 1);
    }
    return memcpy(to, from, size);
}
void *__tsan_memmove(void *to, const void *from, unsigned long size) {
    if (size) {
        uns_c_accessed(UNS_C_SITE(), from, size, 0);
        uns_c_accessed(UNS_C_SITE(), to, size, 1);
    }
    return memmove(to, from, size);
}
void *__tsan_memset(void *to, int value, unsigned long size) {
    if (size)
        uns_c_accessed(UNS_C_SITE(), to, size, 1);
    return memset(to, value, size);
}

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) {
    (void)caller;
}
void __tsan_func_exit(void) {}
void __tsan_ignore_thread_begin(void) {}
void __tsan_ignore_thread_end(void) {}
