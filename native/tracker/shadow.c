/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/shadow.h"
#include "tracker/edges.h"
#include <string.h>
#include <sys/mman.h>

#define RELAXED __ATOMIC_RELAXED
#define SEEN    ((1ull << UNS_SHADOW_READERS) - 1)
#define BIG     44 /* bits of an address: what user space has, folded once */
#define SMALL   24 /* the least that is worth it */
#define PAGE    4096ull
#define LARGE   (64 * PAGE) /* from here on blocks are mapped anew each time by malloc, too */
/* A pair of points that a thread has seen so often is looked at every STEP-th time, and adds to the
 * contexts 2^PER_OCTAVE times while its count doubles. */
#define OFTEN      64
#define STEP       64
#define PER_OCTAVE 3

static const struct uns_word all_seen = {.seen = UINT64_MAX};
__thread struct uns_view uns_view = {.words = (const char *)&all_seen};
/* What instrumented code calls it: a library finds that of the program which loads it, if it has
 * one. */
extern __thread struct uns_view __tsan_view
    __attribute__((alias("uns_view"), visibility("default"), tls_model("initial-exec")));

void uns_view_nothing(void) {
    uns_view = (struct uns_view){
        .words = (const char *)&all_seen, .bit = UINT64_MAX, .exclusive = UINT64_MAX};
}

void uns_view_everything(void) {
    uns_view = (struct uns_view){.words = (const char *)&all_seen};
}

static uint64_t bit_of(uint32_t id) {
    return 1ull << (id - 1) % UNS_SHADOW_READERS;
}

static uint64_t exclusive_of(const struct uns_tracked *t) {
    return (uint64_t)t->id << UNS_SHADOW_READERS | bit_of(t->id);
}

void uns_view_shadow(const struct uns_tracker *tracker, const struct uns_shadow *shadow,
                     struct uns_tracked *t) {
    uns_view_everything();
    if (!tracker->racy_lookup)
        return;
    uns_view.words = shadow->words;
    uns_view.mask = shadow->mask;
    uns_view.times = shadow->times;
    uns_view.thread = t;
    uns_view.bit = tracker->first_read ? bit_of(t->id) : 0;
    /* The paper's rule asks for less than the whole word: it has no fast path of its own here. */
    uns_view.exclusive = tracker->first_write ? exclusive_of(t) : UINT64_MAX;
}

static char *reserve(uint64_t bytes) {
    char *pages = uns_pages(bytes);
    if (pages)
        madvise(pages, bytes, MADV_DONTDUMP);
    return pages;
}

/* Where address space is limited the shadow is folded: distant words share a cell (Recon 5.1). */
int uns_shadow_init(struct uns_shadow *shadow) {
    memset(shadow, 0, sizeof *shadow);
    for (int bits = BIG; bits >= SMALL; bits -= 4) {
        shadow->mask = (1ull << bits) - UNS_SHADOW_WORD;
        shadow->words = reserve(2ull << bits);
        shadow->times = reserve(1ull << bits);
        if (shadow->words && shadow->times)
            return 0;
        uns_shadow_free(shadow);
    }
    return -1;
}

void uns_shadow_free(struct uns_shadow *shadow) {
    uint64_t bytes = shadow->mask + UNS_SHADOW_WORD;
    if (shadow->words)
        munmap(shadow->words, 2 * bytes);
    if (shadow->times)
        munmap(shadow->times, bytes);
    shadow->words = shadow->times = NULL;
}

static struct uns_word *word_at(const struct uns_shadow *shadow, uintptr_t address) {
    return uns_word_at(shadow->words, shadow->mask, address);
}

static uint64_t *time_at(const struct uns_shadow *shadow, uintptr_t address) {
    return (uint64_t *)(shadow->times + (address & shadow->mask));
}

static struct uns_access_record last_write(const struct uns_shadow *shadow, uintptr_t address) {
    const struct uns_word *word = word_at(shadow, address);
    return (struct uns_access_record){*time_at(shadow, address), word->point, word->context,
                                      word->index};
}

static char *lock_word(struct uns_tracker *tracker, struct uns_shadow *shadow, uintptr_t address) {
    char *lock = &shadow->locks[(address / UNS_SHADOW_WORD) % UNS_LOCK_STRIPES];
    if (tracker->racy_lookup)
        return lock;
    while (__atomic_test_and_set(lock, __ATOMIC_ACQUIRE))
        ;
    return lock;
}

static void unlock_word(struct uns_tracker *tracker, char *lock) {
    if (tracker->racy_lookup)
        return;
    __atomic_clear(lock, __ATOMIC_RELEASE);
}

static uint64_t time_now(struct uns_tracker *tracker, struct uns_tracked *t, int news) {
    if (news || ++t->stale >= tracker->stale) {
        t->stale = 0;
        t->time = tracker->now();
    }
    return t->time;
}

static struct uns_often *count_pair(struct uns_tracked *t, uint32_t source, uint32_t sink) {
    uint64_t key = (uint64_t)source << 32 | sink;
    struct uns_often *often = uns_often_at(t, key), *other = uns_often_other(t, often);
    if (often->key != key && (other->key == key || other->count < often->count))
        often = other;
    if (often->key != key || !often->step)
        *often = (struct uns_often){.key = key, .step = 1};
    often->count += often->step;
    return often;
}

static int is_rare(const struct uns_often *often) {
    int log = 63 - __builtin_clzll(often->count);
    return often->count < OFTEN || often->count % (1ull << (log - PER_OCTAVE)) < often->step;
}

/* The latest edge of a pair once more, without its contexts. */
static int repeat_edge(struct uns_tracked *t, const struct uns_often *often, uint64_t cell,
                       uint64_t source_time) {
    struct uns_edge_record *row = (struct uns_edge_record *)t->edges.rows + often->row;
    if (often->row >= t->edges.used || row->source_point != often->key >> 32 ||
        row->sink_point != (uint32_t)often->key)
        return 0;
    row->source_time = source_time;
    row->sink_time = t->time;
    row->cell = cell;
    row->count += often->step;
    return 1;
}

/* An edge to an access of t; 0: it is no news, and contexts leave it out. */
static int communicate(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point,
                       uint64_t cell, const struct uns_access_record *source) {
    struct uns_often *often = count_pair(t, source->point, point);
    time_now(tracker, t, 1);
    int news = is_rare(often) || !repeat_edge(t, often, cell, source->time);
    if (news) {
        const struct uns_access_record sink = access_now(t, point, t->time);
        often->row = add_edges(t, cell, source, &sink, often->step);
    }
    often->left = often->step = often->count < OFTEN ? 1 : STEP;
    return news;
}

void uns_shadow_read(struct uns_tracker *tracker, struct uns_shadow *shadow, struct uns_tracked *t,
                     uint32_t point, uintptr_t address) {
    char *lock = lock_word(tracker, shadow, address);
    struct uns_word *word = word_at(shadow, address);
    uint64_t seen = __atomic_load_n(&word->seen, RELAXED), bit = bit_of(t->id);
    uint32_t writer = (uint32_t)(seen >> UNS_SHADOW_READERS);
    if (writer && writer != t->id && !(seen & bit && tracker->first_read)) {
        const struct uns_access_record source = last_write(shadow, address);
        if (communicate(tracker, t, point, address / UNS_SHADOW_WORD, &source)) {
            push(tracker, t, UNS_LC_RD);
            if (tracker->live[writer])
                push(tracker, tracker->live[writer], UNS_RM_RD);
        }
    }
    if (!(seen & bit))
        __atomic_compare_exchange_n(&word->seen, &seen, seen | bit, 0, RELAXED, RELAXED);
    unlock_word(tracker, lock);
}

static void inform_readers(struct uns_tracker *tracker, struct uns_tracked *t, uint64_t others,
                           uint32_t writer) {
    push(tracker, t, UNS_LC_WR);
    if (writer && writer != t->id)
        others |= bit_of(writer);
    for (; others; others &= others - 1) {
        struct uns_tracked *other = tracker->live[__builtin_ctzll(others) + 1];
        if (other)
            push(tracker, other, UNS_RM_WR);
    }
}

static void write_word(struct uns_tracker *tracker, struct uns_shadow *shadow,
                       struct uns_tracked *t, uint32_t point, uintptr_t address, int quiet) {
    struct uns_word *word = word_at(shadow, address);
    uint64_t seen = __atomic_load_n(&word->seen, RELAXED), others = seen & SEEN & ~bit_of(t->id);
    uint32_t writer = (uint32_t)(seen >> UNS_SHADOW_READERS);
    const struct uns_access_record source = last_write(shadow, address);
    const uint16_t context = (uint16_t)t->context;
    int news = others != 0;
    if (writer && writer != t->id)
        news = communicate(tracker, t, point, address / UNS_SHADOW_WORD, &source);
    else
        time_now(tracker, t, news);
    if (news && !quiet)
        inform_readers(tracker, t, others, writer);
    *time_at(shadow, address) = t->time;
    word->point = point;
    word->context = context;
    word->index = (uint16_t)t->index;
    __atomic_store_n(&word->seen, exclusive_of(t), __ATOMIC_RELEASE);
}

void uns_shadow_write(struct uns_tracker *tracker, struct uns_shadow *shadow, struct uns_tracked *t,
                      uint32_t point, uintptr_t address) {
    char *lock = lock_word(tracker, shadow, address);
    uint64_t seen = __atomic_load_n(&word_at(shadow, address)->seen, RELAXED);
    int mine = seen >> UNS_SHADOW_READERS == t->id;
    if (!(mine && (tracker->first_write == UNS_FIRST_WRITE_PAPER ||
                   (tracker->first_write && seen == exclusive_of(t)))))
        write_word(tracker, shadow, t, point, address, 0);
    unlock_word(tracker, lock);
}

void uns_shadow_forced(struct uns_tracker *tracker, struct uns_shadow *shadow,
                       struct uns_tracked *t, uint32_t point, uintptr_t address) {
    char *lock = lock_word(tracker, shadow, address);
    write_word(tracker, shadow, t, point, address, 1);
    unlock_word(tracker, lock);
}

/* Many bytes are given back to the system: they read as zero again. */
void uns_shadow_forget(struct uns_shadow *shadow, uintptr_t address, uint64_t size) {
    uint64_t words = ((address & (UNS_SHADOW_WORD - 1)) + size + UNS_SHADOW_WORD - 1) / 8;
    char *first = (char *)word_at(shadow, address);
    char *end = shadow->words + 2 * (shadow->mask + UNS_SHADOW_WORD);
    char *last = first + words * sizeof(struct uns_word);
    last = last < end ? last : end;
    char *from = (char *)(((uintptr_t)first + PAGE - 1) & ~(PAGE - 1));
    char *to = (char *)((uintptr_t)last & ~(PAGE - 1));
    if (to < from + LARGE) {
        memset(first, 0, (size_t)(last - first));
        return;
    }
    memset(first, 0, (size_t)(from - first));
    madvise(from, (size_t)(to - from), MADV_DONTNEED);
    memset(to, 0, (size_t)(last - to));
}
