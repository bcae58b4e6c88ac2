/* SPDX-License-Identifier: Apache-2.0
 *
 * Logs of recorded runs (ReCBuLC IV): each thread writes its events into a file of its own, which
 * is mapped into memory. No lock and no shared word on the way, unless one order of all events is
 * asked for (PRES); a system call only where a chunk ends. What is in the mapping is in the file,
 * however the process ends: the parent puts the pieces together (src/unsnarl/runfile/pieces.py).
 *
 *   +--------+----------+---------------------+-- - -
 *   | header | 16 KiB   | 32 KiB              |        up to 4 MiB at a time
 *   +--------+----------+---------------------+-- - -
 */
#define _GNU_SOURCE
#include "clock/clock.h"
#include "runtime/futex.h"
#include "gate/gate.h"
#include "recorder/log.h"
#include "recorder/recorder.h"
#include "runtime/busy.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST_CHUNK     (16ull << 10)
#define MOST_CHUNK      (4ull << 20)
#define MOST_BYTES      (1ull << 30) /* of one thread */
#define FULL            UINT64_MAX   /* size of a stream that takes no more */
#define UNS_CLOCK_CORES 0xFFFFu      /* that a record can distinguish */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static char run_file[4096];

/* The tracker's events, of all threads: their piece bears the name of the first. */
static struct uns_stream events;
static struct uns_thread everybody = {.path = "0"};

void uns_logs_begin(const char *file) {
    snprintf(run_file, sizeof run_file, "%s", file ? file : "");
    memset(&events, 0, sizeof events); /* a forked copy leaves what it has mapped alone */
}

uint64_t uns_events_dropped(void) {
    return events.dropped;
}

/* Not kept open: the program's descriptors must have the numbers that they always have. */
static int open_piece(const struct uns_thread *t, uint32_t section) {
    static const char *const names[] = {[UNS_SECTION_LOG] = "log",
                                        [UNS_SECTION_VALUES] = "values",
                                        [UNS_SECTION_BRANCHES] = "branches",
                                        [UNS_SECTION_EVENTS] = "events"};
    char path[sizeof run_file + 32];
    snprintf(path, sizeof path, "%s.%s.%u", run_file, names[section], t->index);
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
}

static int write_header(int fd, const struct uns_thread *t, uint32_t section, uint32_t size) {
    struct uns_piece_header header = {.magic = UNS_PIECE_MAGIC,
                                      .version = UNS_FORMAT_VERSION,
                                      .section = section,
                                      .record_size = size};
    header.thread.index = t->index;
    header.thread.parent = t->parent;
    header.thread.flags = t->flags;
    memcpy(header.thread.path, t->path, sizeof t->path);
    memcpy(header.thread.name, t->name, sizeof t->name);
    return pwrite(fd, &header, sizeof header, 0) == (ssize_t)sizeof header ? 0 : -1;
}

/* Room is reserved: a mapped page for which the disk has none would kill the program. */
static char *map_chunk(int fd, uint64_t from, uint64_t bytes) {
    if (fallocate(fd, 0, (off_t)from, (off_t)bytes) != 0 &&
        (errno != EOPNOTSUPP || ftruncate(fd, (off_t)(from + bytes)) != 0))
        return NULL;
    char *chunk = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)from);
    if (chunk == MAP_FAILED)
        return NULL;
    madvise(chunk, bytes, MADV_POPULATE_WRITE); /* else page by page: 4 times as long */
    return chunk;
}

static char *next_chunk(const struct uns_thread *t, const struct uns_stream *stream,
                        uint32_t section, uint32_t record_size, uint64_t bytes) {
    char *chunk = NULL;
    int fd = stream->size + bytes <= MOST_BYTES && run_file[0] ? open_piece(t, section) : -1;
    if (fd < 0)
        return NULL;
    if (stream->mapped || write_header(fd, t, section, record_size) == 0)
        chunk = map_chunk(fd, stream->size, bytes);
    close(fd);
    return chunk;
}

/* Returns where the next record goes, NULL if there is no more room. */
static __attribute__((noinline)) char *grow(struct uns_thread *t, struct uns_stream *stream,
                                            uint32_t section, uint32_t record_size) {
    int reason = errno;
    uint64_t bytes = !stream->mapped               ? FIRST_CHUNK
                     : stream->mapped < MOST_CHUNK ? 2 * stream->mapped
                                                   : MOST_CHUNK;
    if (!stream->mapped && stream->size != FULL)
        stream->size = UNS_PIECE_BYTES;
    char *chunk = stream->size != FULL ? next_chunk(t, stream, section, record_size, bytes) : NULL;
    errno = reason;
    if (!chunk) {
        stream->size = FULL;
        stream->dropped++;
        return NULL;
    }
    if (stream->chunk)
        munmap(stream->chunk, stream->mapped);
    stream->chunk = stream->at = chunk;
    stream->end = chunk + bytes;
    stream->mapped = bytes;
    stream->size += bytes;
    return chunk;
}

static inline void *room(struct uns_thread *t, struct uns_stream *stream, uint32_t section,
                         uint32_t record_size) {
    return UNS_LIKELY(stream->at != stream->end) ? stream->at
                                                 : grow(t, stream, section, record_size);
}

uint32_t uns_log_position(const struct uns_thread *t) {
    return (uint32_t)t->logged;
}

/* A record that the process dies in the middle of is none: what marks it as there comes last.
 * Of a thread that is killed all instructions up to some one are done, so the compiler's order is
 * enough. */
#define LAST() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* As uns_clock_read, with a locked instruction where figure 2(c) has MFENCE: it empties the write
 * buffer as well, and costs three quarters (42 ns for 56). None of 7 million stamps was early
 * (late.c of the benchmarks) on an EPYC. */
static inline uint64_t read_settled(uint32_t *core) {
#if defined(__x86_64__)
    __asm__ volatile("lock; orl $0, (%%rsp)" ::: "memory", "cc");
    return uns_clock_read_drained(core);
#else
    return uns_clock_read(core);
#endif
}

/* Taking a lock has emptied the write buffer; where threads begin and end a fence does. All other
 * stamps have no fence: they may be early, and the reader allows for it (`slack`). The
 * acquires of a lock order its sections, so giving it back needs none (30 ns each). */
static inline uint64_t stamp_of(uint32_t point, uint32_t *core) {
    switch (UNS_POINT_OP(point)) {
    case UNS_ACQUIRE:
    case UNS_BEGIN:
        return uns_clock_read_drained(core);
    case UNS_START:
    case UNS_JOIN: /* of a thread that is over: a mere load */
    case UNS_END:
        return read_settled(core);
    default:
        return UNS_UNLIKELY(uns_rt.sketch.fenced) ? read_settled(core) : uns_clock_read_bare(core);
    }
}

/* Records are written once and never read: without this a fence would wait for their cache lines.
 */
#define AHEAD 64 /* records */

static inline int put(struct uns_thread *t, uint64_t packed) {
    uint64_t *at = room(t, &t->log, UNS_SECTION_LOG, sizeof *at);
    if (UNS_UNLIKELY(!at))
        return 0;
    *at = packed;
    __builtin_prefetch(at + AHEAD, 1);
    t->log.at = (char *)(at + 1);
    return 1;
}

/* Another core, or a long time. */
static __attribute__((noinline)) void put_base(struct uns_thread *t, uint64_t stamp,
                                               uint32_t core) {
    put(t, stamp >> 32 << 32 | (uint64_t)core << 4 | UNS_PACKED_CORE);
    put(t, stamp << 32 | UNS_PACKED_LOW);
    t->log_core = core + 1;
    t->stamp = stamp;
}

static inline void put_event(struct uns_thread *t, uint32_t point, uint64_t stamp, uint32_t core) {
    if (UNS_UNLIKELY(core + 1 != t->log_core || stamp - t->stamp > UINT32_MAX))
        put_base(t, stamp, core);
    t->logged += (uint64_t)put(t, (stamp - t->stamp) << 32 | point);
    t->stamp = stamp;
}

/* One order of all events, as PRES has it: a number under a lock. */
static _Alignas(64) struct {
    uint32_t word;
    uint64_t last;
} order;
#define SPINS 200

static int take_order(void) {
    uint32_t free_word = 0;
    return __atomic_compare_exchange_n(&order.word, &free_word, 1, 0, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static void lock_order(void) {
    for (int i = 0; i < SPINS; i++) {
        if (!__atomic_load_n(&order.word, __ATOMIC_RELAXED) && take_order())
            return;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    while (__atomic_exchange_n(&order.word, 2, __ATOMIC_ACQUIRE))
        uns_futex_wait(&order.word, 2, NULL);
}

static void unlock_order(void) {
    if (__atomic_exchange_n(&order.word, 0, __ATOMIC_RELEASE) == 2)
        uns_futex_wake(&order.word, 1);
}

static __attribute__((noinline)) void number_event(struct uns_thread *t, uint32_t point) {
    lock_order();
    put_event(t, point, ++order.last, uns_clock_core() & UNS_CLOCK_CORES);
    unlock_order();
}

static inline void log_event(struct uns_thread *t, uint32_t point) {
    uns_busy(); /* a signal's handler must not come in between */
    if (UNS_UNLIKELY(uns_rt.sketch.global)) {
        number_event(t, point);
    } else {
        uint32_t core;
        uint64_t stamp = stamp_of(point, &core);
        put_event(t, point, stamp, core & UNS_CLOCK_CORES);
    }
    uns_idle();
}

void uns_sketch_event(struct uns_thread *t, uint32_t point) {
    if (UNS_LIKELY(uns_rt.recording))
        log_event(t, point);
    else if (uns_rt.gated)
        uns_gate_sketch(t, point);
}

void uns_log_value(struct uns_thread *t, const struct uns_value_record *value) {
    uns_busy();
    struct uns_value_record *record = room(t, &t->values, UNS_SECTION_VALUES, sizeof *record);
    if (record) {
        record->cell = value->cell;
        record->value = value->value;
        record->position = value->position;
        record->thread = (uint16_t)t->index;
        record->flags = value->flags;
        LAST();
        record->point = value->point;
        t->values.at += sizeof *record;
    }
    uns_idle();
}

void uns_log_branch(struct uns_thread *t, int taken) {
    uns_busy();
    struct uns_branch_record *record = room(t, &t->branches, UNS_SECTION_BRANCHES, sizeof *record);
    if (record) {
        if (!record->count) {
            record->position = uns_log_position(t);
            record->thread = (uint16_t)t->index;
        }
        record->bits |= (uint64_t)(taken != 0) << record->count;
        LAST();
        if (++record->count == UNS_BRANCHES_MOST)
            t->branches.at += sizeof *record;
    }
    uns_idle();
}

void uns_log_sync(struct uns_thread *t, uint32_t point, uint64_t cell) {
    if (UNS_UNLIKELY(uns_rt.sketch.values)) {
        const struct uns_value_record on = {
            .cell = cell, .point = point, .position = uns_log_position(t)};
        uns_log_value(t, &on);
    }
    uns_sketch_event(t, point);
}

/* What has no address has a line of its own: keys are far apart. */
static uint64_t address_of(struct uns_tracked *t, uint64_t key) {
    uint64_t address = t && t->address ? t->address : key | 1ull << 63;
    if (t)
        t->address = 0;
    return address;
}

/* The disk may take its time, and the gate's watch must not mind: who has the token would seem to
 * be blocked, and another would run as well. */
static struct uns_event_record *next_event(void) {
    int grows = events.at == events.end;
    if (UNS_UNLIKELY(grows))
        __atomic_fetch_add(&uns_rt.paused, 1, __ATOMIC_RELAXED);
    struct uns_event_record *record = room(&everybody, &events, UNS_SECTION_EVENTS, sizeof *record);
    if (UNS_UNLIKELY(grows))
        __atomic_fetch_sub(&uns_rt.paused, 1, __ATOMIC_RELAXED);
    return record;
}

static void hear(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point, uint64_t key,
                 enum uns_event_kind kind) {
    lock_order();
    tracker->event_time = tracker->now();
    uint64_t address = address_of(t, key);
    struct uns_event_record *record = next_event();
    if (UNS_UNLIKELY(!record))
        return;
    record->time = tracker->event_time;
    record->cell = key;
    record->address = address;
    record->point = point;
    record->thread = t ? (uint16_t)t->index : UNS_NO_THREAD;
    LAST();
    record->kind = (uint8_t)kind;
    events.at += sizeof *record;
}

const struct uns_tap uns_event_tap = {hear, unlock_order};
