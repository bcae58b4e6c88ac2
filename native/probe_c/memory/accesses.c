/* SPDX-License-Identifier: Apache-2.0
 *
 * Plain accesses, as gcc and clang report them.
 */
#include "probe_c/probe.h"
#include <string.h>

#define GRANULE    4u
#define LINE       64u
#define MOST_CELLS 128u /* of a range, under the gate: what lies behind is not looked at */
#define MOST_FRESH 65536u
#define ENTRY      __attribute__((aligned(64)))
#define WORD_OF(a) ((uintptr_t)(a) / GRANULE)

struct uns_shadow uns_c_shadow;

/* Where whole objects are to be one cell, it is what a cache would take for one (Bugaboo 6.2). */
static uint64_t cell_at(uintptr_t word) {
    if (UNS_UNLIKELY(uns_rt.by_object))
        word = word * GRANULE / LINE;
    return uns_cell_key(uns_mix(word), word);
}

/* Whoever writes the events down wants to know where the cell is. */
static void set_address(struct uns_thread *t, uintptr_t word) {
    if (UNS_UNLIKELY(uns_rt.tracker.tap != NULL))
        t->tracked.address = word * GRANULE;
}

/* A thread's first access of a free run. With noise, or without racy look-up, there is no fast
 * path: it has no view. */
static void look(struct uns_thread *t) {
    if (!uns_view.mask && uns_rt.tracker.racy_lookup && !uns_rt.held)
        uns_view_shadow(&uns_rt.tracker, &uns_c_shadow, &t->tracked);
}

static inline int repeats(uintptr_t address, uint32_t point, int write) {
    return uns_view.mask &&
           (write ? uns_repeats_write(address, point) : uns_repeats_read(address, point));
}

static void access_shadow(struct uns_thread *t, uint32_t point, uintptr_t address, uint64_t size,
                          int write) {
    uintptr_t last = (address + size - 1) & ~(uintptr_t)(UNS_SHADOW_WORD - 1);
    look(t);
    if (UNS_UNLIKELY(uns_rt.held))
        uns_gate_access(t, point, 0, write, 1);
    uns_busy(); /* a signal's handler must not come in between */
    for (uintptr_t at = address & ~(uintptr_t)(UNS_SHADOW_WORD - 1); at <= last;
         at += UNS_SHADOW_WORD)
        if (write && !uns_sees_write(at) && !repeats(at, point, write))
            uns_shadow_write(&uns_rt.tracker, &uns_c_shadow, &t->tracked, point, at);
        else if (!write && !uns_sees_read(at) && !repeats(at, point, write))
            uns_shadow_read(&uns_rt.tracker, &uns_c_shadow, &t->tracked, point, at);
    uns_idle();
}

/* Of what is copied, cleared or freed nobody knows the objects: every second int of an array, or
 * the second of a struct, begins between two words of 8 bytes. */
static void track_words(struct uns_thread *t, uint32_t point, const volatile void *address,
                        uint64_t size, uint64_t from, int write) {
    uint64_t cells = size <= 8 ? 1 : (size + GRANULE - 1) / GRANULE;
    for (uint64_t i = from; i < cells && i < MOST_CELLS; i++) {
        uint64_t cell = cell_at(WORD_OF(address) + i);
        uns_gate_touch(t, UNS_POINT_SITE(point), cell);
        set_address(t, WORD_OF(address) + i);
        uns_track_access(t, point, cell, write);
    }
}

/* An object of 8 bytes is one cell, at its beginning; smaller ones that share 4 bytes are one. */
static __thread int freeing; /* the write under way is a free */
static void access_cells(struct uns_thread *t, uint32_t site, const volatile void *address,
                         uint64_t size, int write) {
    if (uns_rt.gated)
        uns_c_remember(site, address, size);
    t->last_site = site;
    int may_switch = uns_c_may_switch();
    set_address(t, WORD_OF(address));
    uns_access_inline(site, cell_at(WORD_OF(address)), write, may_switch);
    t->may_switch |= (uint32_t)may_switch; /* ... and what the language does next */
    /* Not before: while it waited for its turn, another may have freed it. */
    if (freeing)
        uns_c_check_freed(address, site, "double free", "a block is freed a second time");
    uns_c_check_freed(address, site, "use after free",
                      write ? "write to a freed block" : "read of a freed block");
    track_words(t, UNS_POINT(site, write ? UNS_WRITE : UNS_READ), address, size, 1, write);
}

uint64_t uns_c_cell(uintptr_t address) {
    return cell_at(WORD_OF(address));
}

/* A recorded run: its site names the signal that an access may raise. */
static void log_access(struct uns_thread *t, uint32_t point, const volatile void *address,
                       uint64_t size) {
    t->last_site = UNS_POINT_SITE(point);
    if (uns_rt.sketch.noise)
        uns_gate_noise(t);
    if (uns_rt.sketch.values)
        uns_c_take_value(t, point, address, size);
    if (uns_rt.sketch.level == UNS_LEVEL_ACCESS)
        uns_sketch_event(t, point);
}

void uns_c_accessed(uint32_t site, const volatile void *address, uint64_t size, int write) {
    if (!uns_c_on() || !site)
        return;
    struct uns_thread *t = uns_current();
    if (!uns_rt.recording || uns_rt.sketch.values || uns_rt.sketch.level == UNS_LEVEL_ACCESS)
        site = uns_c_outside(site);
    if (UNS_UNLIKELY(uns_rt.recording)) {
        uint32_t point = UNS_POINT(site, write ? UNS_WRITE : UNS_READ);
        log_access(t, point, address, size);
        if (uns_rt.tracks)
            track_words(t, point, address, size, 0, write);
        return;
    }
    if (uns_c_shadow.words)
        access_shadow(t, UNS_POINT(site, write ? UNS_WRITE : UNS_READ), (uintptr_t)address, size,
                      write);
    else
        access_cells(t, site, address, size, write);
}

void uns_c_accessed_by_free(uint32_t site, const volatile void *address, uint64_t size) {
    freeing = 1;
    uns_c_accessed(site, address, size, 1);
    freeing = 0;
}

/* Memory made anew: what was known of it is void. Under the gate, the last bytes of a very large
 * block keep their past: voiding is for what a program asks for often. */
void uns_c_fresh(const void *address, uint64_t size) {
    if (!uns_c_on() || !uns_rt.tracks)
        return;
    if (uns_c_shadow.words) {
        uns_shadow_forget(&uns_c_shadow, (uintptr_t)address, size);
        return;
    }
    struct uns_thread *t = uns_current();
    uint64_t words = (size < MOST_FRESH ? size + GRANULE - 1 : MOST_FRESH) / GRANULE;
    for (uint64_t i = 0; i < words; i++)
        uns_forget(&uns_rt.tracker, &t->tracked, cell_at(WORD_OF(address) + i));
}

static void slow(const volatile void *address, uint64_t size, int write, const void *pc) {
    int wanted = uns_rt.active && !uns_rt.blind;
    uint32_t site = wanted ? uns_c_site(pc) : 0;
    if (site)
        uns_c_accessed(site, address, size, write);
    else if (wanted)
        uns_c_missed(pc);
    else
        uns_view_nothing();
}

void uns_c_slow_read(const volatile void *address, uint64_t size, const void *pc) {
    if (!repeats((uintptr_t)address, UNS_POINT(uns_c_site(pc), UNS_READ), 0))
        slow(address, size, 0, pc);
}
void uns_c_slow_write(const volatile void *address, uint64_t size, const void *pc) {
    if (!repeats((uintptr_t)address, UNS_POINT(uns_c_site(pc), UNS_WRITE), 1))
        slow(address, size, 1, pc);
}

/* More than one word, perhaps. */
static inline void access_range(void *address, uint64_t size, int write, const void *pc) {
    if (uns_view.bit != UINT64_MAX && size)
        slow(address, size, write, pc);
}

/* Two or three words, as vector code has them: no part of it is reported if all was seen. clang
 * makes such code before it puts the calls in. */
static inline void access_words(void *address, uint64_t size, int write, const void *pc) {
    uintptr_t first = (uintptr_t)address, middle = first + size / 2, last = first + size - 1;
    int seen = write ? uns_sees_write(first) && uns_sees_write(middle) && uns_sees_write(last)
                     : uns_sees_read(first) && uns_sees_read(middle) && uns_sees_read(last);
    if (UNS_UNLIKELY(!seen))
        slow(address, size, write, pc);
}

#define PLAIN(n)                                                                                   \
    ENTRY void __tsan_read##n(void *address) {                                                     \
        uns_c_read(address, n, UNS_C_HERE);                                                        \
    }                                                                                              \
    ENTRY void __tsan_write##n(void *address) {                                                    \
        uns_c_write(address, n, UNS_C_HERE);                                                       \
    }                                                                                              \
    ENTRY void __tsan_volatile_read##n(void *address) {                                            \
        uns_c_read(address, n, UNS_C_HERE);                                                        \
    }                                                                                              \
    ENTRY void __tsan_volatile_write##n(void *address) {                                           \
        uns_c_write(address, n, UNS_C_HERE);                                                       \
    }                                                                                              \
    ENTRY void __tsan_read_write##n(void *address) {                                               \
        uns_c_read(address, n, UNS_C_HERE);                                                        \
        uns_c_write(address, n, UNS_C_HERE);                                                       \
    }
#define WIDE(n, name)                                                                              \
    ENTRY void __tsan_##name##read##n(void *address) {                                             \
        access_words(address, n, 0, UNS_C_HERE);                                                   \
    }                                                                                              \
    ENTRY void __tsan_##name##write##n(void *address) {                                            \
        access_words(address, n, 1, UNS_C_HERE);                                                   \
    }
#define WIDE_BOTH(n, name)                                                                         \
    ENTRY void __tsan_##name##read_write##n(void *address) {                                       \
        access_words(address, n, 0, UNS_C_HERE);                                                   \
        access_words(address, n, 1, UNS_C_HERE);                                                   \
    }
#define UNALIGNED(n) WIDE(n, unaligned_) WIDE(n, unaligned_volatile_) WIDE_BOTH(n, unaligned_)
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
WIDE(16, )
WIDE(16, volatile_)
WIDE_BOTH(16, )
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)

void __tsan_read_range(void *address, unsigned long size) {
    access_range(address, size, 0, UNS_C_HERE);
}
void __tsan_write_range(void *address, unsigned long size) {
    access_range(address, size, 1, UNS_C_HERE);
}
void __tsan_vptr_read(void *address) {
    uns_c_read(address, 8, UNS_C_HERE);
}
void __tsan_vptr_update(void **address, void *value) {
    if (*address != value)
        uns_c_write(address, 8, UNS_C_HERE);
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
void __tsan_ignore_thread_begin(void) {}
void __tsan_ignore_thread_end(void) {}
