/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells as shadow memory, for free runs of native programs: every 8-byte word has its own, found
 * by masking the address. The rules are tracker.c's; edges and contexts are the same. There are no
 * windows and no edges from reads to writes here: they need more than these 24 bytes.
 *
 *    63    56 55                        0   127   112 111     96 95       64
 *   +--------+---------------------------+   +-------+---------+-----------+
 *   | writer | who saw what it wrote     |   |thread | context |   point   |   struct uns_word
 *   +--------+---------------------------+   +-------+---------+-----------+
 *
 * and, apart, 8 bytes for the time of the write, which only communication asks for.
 *
 * Nothing locks (unless racy look-up is off): a writer stores who it is last; a
 * reader adds itself by one compare-and-swap, and comes again if that fails.
 */
#ifndef UNSNARL_SHADOW_H
#define UNSNARL_SHADOW_H
#include "tracker/tracker.h"
#include <stddef.h>

#define UNS_SHADOW_READERS 56 /* bits for those; ids above share them */
#define UNS_SHADOW_WORD    8u

struct uns_word {
    uint64_t seen;
    uint32_t point;
    uint16_t context, index;
};
_Static_assert(sizeof(struct uns_word) == 16, "word");

/* What the fast paths need, in the thread's own memory. Where no shadow is looked at, `words` is
 * one word and `mask` is 0: the same instructions then always go on, or always to the slow path. */
struct uns_view {
    const char *words;
    uint64_t mask, bit, exclusive;
    char *times;
    struct uns_tracked *thread;
};
UNS_API extern __thread struct uns_view uns_view __attribute__((tls_model("initial-exec")));
/* probe_c/inline.s reads it in the program's own code, and in that of its libraries. */
_Static_assert(offsetof(struct uns_view, mask) == 8 && offsetof(struct uns_view, bit) == 16 &&
                   offsetof(struct uns_view, exclusive) == 24,
               "inline.s");

struct uns_shadow {
    char *words, *times;
    uint64_t mask;
    char locks[UNS_LOCK_STRIPES];
};

/* -1: there is no room for one in this process. */
UNS_API int uns_shadow_init(struct uns_shadow *shadow);
UNS_API void uns_shadow_free(struct uns_shadow *shadow);
/* The calling thread is `t` from now on. */
UNS_API void uns_view_shadow(const struct uns_tracker *tracker, const struct uns_shadow *shadow,
                             struct uns_tracked *t);
UNS_API void uns_view_nothing(void);    /* no slow path any more */
UNS_API void uns_view_everything(void); /* no fast path */

UNS_API void uns_shadow_read(struct uns_tracker *tracker, struct uns_shadow *shadow,
                             struct uns_tracked *t, uint32_t point, uintptr_t address);
UNS_API void uns_shadow_write(struct uns_tracker *tracker, struct uns_shadow *shadow,
                              struct uns_tracked *t, uint32_t point, uintptr_t address);
/* Never skipped, and shows nothing of what threads share: operations on locks. */
UNS_API void uns_shadow_forced(struct uns_tracker *tracker, struct uns_shadow *shadow,
                               struct uns_tracked *t, uint32_t point, uintptr_t address);
/* The bytes were made anew. */
UNS_API void uns_shadow_forget(struct uns_shadow *shadow, uintptr_t address, uint64_t size);

static inline struct uns_word *uns_word_at(const char *words, uint64_t mask, uintptr_t address) {
    return (struct uns_word *)(words + 2 * (address & mask));
}
static inline struct uns_word *uns_viewed(uintptr_t address) {
    return uns_word_at(uns_view.words, uns_view.mask, address);
}
static inline int uns_sees_read(uintptr_t address) {
    return (uns_viewed(address)->seen & uns_view.bit) != 0;
}
static inline int uns_sees_write(uintptr_t address) {
    return uns_viewed(address)->seen == uns_view.exclusive;
}

/* A pair has one of two slots. */
static inline struct uns_often *uns_often_at(struct uns_tracked *t, uint64_t key) {
    return &t->often[key * 0x9E3779B97F4A7C15ull >> (64 - UNS_OFTEN_LOG)];
}
static inline struct uns_often *uns_often_other(struct uns_tracked *t, struct uns_often *one) {
    return &t->often[(one - t->often) ^ 1];
}

/* The second fast path: the same pair of points as very often before. Data that moves from thread
 * to thread all the time is looked at every so often only. Which pair it is, is known from the word
 * itself, so that a new pair is never missed. */
static inline int uns_repeats(const struct uns_word *word, uint32_t point) {
    uint64_t key = (uint64_t)word->point << 32 | point;
    struct uns_often *often = uns_often_at(uns_view.thread, key);
    if (UNS_UNLIKELY(often->key != key))
        often = uns_often_other(uns_view.thread, often);
    if (often->key != key || often->left <= 1)
        return 0;
    often->left--;
    return 1;
}
static inline int uns_repeats_read(uintptr_t address, uint32_t point) {
    struct uns_word *word = uns_viewed(address);
    uint64_t seen = __atomic_load_n(&word->seen, __ATOMIC_RELAXED);
    if (!uns_repeats(word, point))
        return 0;
    __atomic_store_n(&word->seen, seen | uns_view.bit, __ATOMIC_RELAXED);
    return 1;
}
static inline int uns_repeats_write(uintptr_t address, uint32_t point) {
    struct uns_word *word = uns_viewed(address);
    const struct uns_tracked *t = uns_view.thread;
    /* A thread's own write that others have read is overwritten: no edge, whatever the points. */
    if (word->seen >> UNS_SHADOW_READERS == t->id || !uns_repeats(word, point))
        return 0;
    *(uint64_t *)(uns_view.times + (address & uns_view.mask)) = t->time;
    *word = (struct uns_word){uns_view.exclusive, point, (uint16_t)t->context, (uint16_t)t->index};
    return 1;
}
#endif
