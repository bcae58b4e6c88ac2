/* SPDX-License-Identifier: Apache-2.0
 *
 * Follow a sketch: an event waits until those are over that were proved to be before it, whatever
 * strategy chooses among the others. The strategy of the same name runs the thread whose next event
 * was the earliest in time: the run as it probably was.
 *
 * A program may do other things than it did when it was recorded, from the first wrong guess on,
 * and libc's own locks may be taken more often under the gate. So an event of a thread is looked
 * for among its next few; what is not found there is passed over. Whatever could not be kept is
 * counted, and nobody waits for ever.
 */
#include "gate/sketch.h"
#include "recorder/recorder.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define AHEAD 32u /* events of its thread among which one is looked for */
#define NONE  UINT32_MAX
/* One that comes by so often without an event of the sketch waits for somebody, by looking. */
#define SPINS 3000u
#define LAST  UINT64_MAX

struct uns_track {
    const struct uns_sketch_thread *thread;
    uint32_t passed, excused; /* excused: one event more than the one it need not wait for */
    uint64_t tired;           /* others first, until so many events are over */
};

static struct {
    const struct uns_sketch_header *header;
    const struct uns_sketch_thread *threads;
    const struct uns_sketch_event *events;
    const struct uns_sketch_need *needs;
    struct uns_track *tracks;
    uint64_t passed;
} sketch;

static const struct uns_sketch_event *event_of(const struct uns_track *track, uint32_t at) {
    return &sketch.events[track->thread->first + at];
}

/* Once more at the site of what it has just done: a call into a library that does in several steps
 * what was recorded as one. */
static int goes_on(const struct uns_track *track, uint32_t point) {
    uint32_t at = track->passed, site = UNS_POINT_SITE(point);
    return at && site && UNS_POINT_SITE(event_of(track, at - 1)->point) == site &&
           (at == track->thread->length || event_of(track, at)->point != point);
}

/* Which of its events this is, or would be. */
static uint32_t match(const struct uns_track *track, uint32_t point) {
    uint32_t end = track->passed + AHEAD, length = track->thread->length;
    for (uint32_t at = track->passed; at < length && at < end; at++)
        if (event_of(track, at)->point == point)
            return goes_on(track, point) ? NONE : at;
    return NONE;
}

int uns_sketch_knows(const struct uns_thread *t, uint32_t point) {
    return t->track && match(t->track, point) != NONE;
}

static int is_early(const struct uns_track *track, uint32_t at) {
    const struct uns_sketch_event *event = event_of(track, at);
    for (uint32_t i = event->needs; at >= track->excused && i < event[1].needs; i++)
        if (sketch.tracks[sketch.needs[i].thread].passed < sketch.needs[i].count)
            return 1;
    return 0;
}

static int must_wait(const struct uns_thread *t) {
    if (!t->track || t->state != UNS_READY)
        return 0;
    uint32_t at = match(t->track, t->pending.point);
    return at != NONE && is_early(t->track, at);
}

void uns_sketch_look(void) {
    for (uint32_t i = 0; i < uns_gate.live_count; i++)
        if (must_wait(uns_gate.live[i]))
            uns_gate.live[i]->held |= UNS_HELD_BY_SKETCH;
}

static void diverged(void) {
    if (!uns_rt.counters[UNS_COUNT_DIVERGED]++)
        uns_rt.counters[UNS_COUNT_DIVERGED_AT] = uns_gate.arrivals + 1;
}

/* A lock of a library's own is in no record: it was taken when the thread came by, which is soon
 * after its last event. One of the program would be in the record if it had been taken. Accesses
 * that were not recorded may have been at any time. */
static int is_unseen_lock(const struct uns_thread *t) {
    uint32_t point = t->pending.point, op = UNS_POINT_OP(point);
    return !UNS_POINT_SITE(point) && (op == UNS_ACQUIRE || op == UNS_JOIN) && t->track->passed &&
           !uns_sketch_knows(t, point);
}

static uint64_t due(const struct uns_thread *t) {
    const struct uns_track *track = t->track;
    if (!track || track->tired > sketch.passed)
        return LAST;
    if (is_unseen_lock(t))
        return event_of(track, track->passed - 1)->due;
    uint32_t length = track->thread->length;
    return track->passed < length ? event_of(track, track->passed)->due : track->thread->last;
}

int uns_sketch_release(void) {
    struct uns_thread *first = NULL;
    if (!uns_gate_is_stuck())
        return 0;
    for (uint32_t i = 0; i < uns_gate.live_count; i++) {
        struct uns_thread *t = uns_gate.live[i];
        if (must_wait(t) && (!first || due(t) < due(first)))
            first = t;
    }
    if (!first)
        return 0;
    diverged();
    first->track->excused = match(first->track, first->pending.point) + 1;
    first->held = 0;
    return 1;
}

void uns_sketch_did(struct uns_thread *t, uint32_t point) {
    struct uns_track *track = t->track;
    if (!track || goes_on(track, point) || track->passed == track->thread->length)
        return;
    uint32_t at = match(track, point);
    uns_gate_lock();
    if (at != track->passed)
        diverged();
    if (at != NONE) {
        track->passed = at + 1;
        sketch.passed++;
        t->streak = 0;
        uns_rt.counters[UNS_COUNT_SKETCH_PASSED]++;
    }
    uns_gate_unlock();
    if (uns_rt.tracing) /* for whoever reads the trace: where the thread stands in the sketch */
        uns_record_event(t, UNS_POINT(0, UNS_BLOCK), track->passed, 0);
}

/* A file that is not as it should be would be read out of bounds. */
static int is_sound(const struct uns_sketch_header *header, uint64_t size) {
    if (size < sizeof *header || memcmp(header->magic, UNS_SKETCH_MAGIC, 8) ||
        header->version != UNS_SKETCH_VERSION)
        return 0;
    uint64_t bytes = sizeof *header + header->threads * sizeof(struct uns_sketch_thread) +
                     (header->events + 1ull) * sizeof(struct uns_sketch_event) +
                     header->needs * sizeof(struct uns_sketch_need);
    return size == bytes;
}

static int has_sound_indexes(void) {
    const struct uns_sketch_header *header = sketch.header;
    for (uint32_t i = 0; i < header->threads; i++)
        if ((uint64_t)sketch.threads[i].first + sketch.threads[i].length > header->events)
            return 0;
    for (uint32_t i = 0; i < header->events; i++)
        if (sketch.events[i].needs > sketch.events[i + 1].needs)
            return 0;
    for (uint32_t i = 0; i < header->needs; i++)
        if (sketch.needs[i].thread >= header->threads)
            return 0;
    return sketch.events[header->events].needs <= header->needs;
}

static const void *map_file(const char *path, uint64_t *size) {
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    void *data = MAP_FAILED;
    if (fstat(fd, &found) == 0 && found.st_size > 0)
        data = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    *size = data == MAP_FAILED ? 0 : (uint64_t)found.st_size;
    return data == MAP_FAILED ? NULL : data;
}

int uns_sketch_begin(const struct uns_plan *plan) {
    uint64_t size;
    memset(&sketch, 0, sizeof sketch);
    sketch.header = map_file(plan->follows, &size);
    if (!sketch.header || !is_sound(sketch.header, size))
        return -1;
    sketch.threads = (const struct uns_sketch_thread *)(sketch.header + 1);
    sketch.events = (const struct uns_sketch_event *)(sketch.threads + sketch.header->threads);
    sketch.needs = (const struct uns_sketch_need *)(sketch.events + sketch.header->events + 1);
    sketch.tracks = uns_pages((sketch.header->threads + 1) * sizeof *sketch.tracks);
    if (!sketch.tracks || !has_sound_indexes())
        return -1;
    for (uint32_t i = 0; i < sketch.header->threads; i++)
        sketch.tracks[i].thread = &sketch.threads[i];
    uns_gate.sketch = 1;
    return 0;
}

void uns_sketch_enter(struct uns_thread *t) {
    for (uint32_t i = 0; i < sketch.header->threads; i++)
        if (!strncmp(sketch.threads[i].path, t->path, UNS_PATH_BYTES))
            t->track = &sketch.tracks[i];
}

struct uns_thread *uns_sketch_pick(struct uns_thread **enabled, uint32_t count,
                                   struct uns_thread *current) {
    if (current && current->track && current->streak >= SPINS)
        current->track->tired = sketch.passed + 1;
    struct uns_thread *first = enabled[0];
    for (uint32_t i = 1; i < count; i++)
        if (due(enabled[i]) < due(first) ||
            (due(enabled[i]) == due(first) && enabled[i] == current))
            first = enabled[i];
    return first;
}
