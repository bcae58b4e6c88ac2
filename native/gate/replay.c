/* SPDX-License-Identifier: Apache-2.0
 *
 * Follow a recorded schedule. Where that is impossible, note the divergence once, go on, and take
 * the schedule up again as soon as the thread that it names can run.
 *
 * A segment ends in one of two ways. In the process that recorded it, with the thread's event
 * counter. Anywhere else events may be counted differently: there a segment is anchored, and ends
 * when the thread is at the gate with the operation that its next segment begins with. Anchors are
 * absolute (the n-th time at a point), so a segment that must be left out loses nothing: the thread
 * does its work in its next one.
 */
#include "gate/state.h"
#include <string.h>

static struct {
    const struct uns_path_segment *segments;
    uint32_t length, at;
    struct uns_thread *thread; /* of segments[at], NULL: not looked up */
    int begun;                 /* it was chosen for segments[at] */
} replay;

static void replay_begin(const struct uns_plan *plan) {
    memset(&replay, 0, sizeof replay);
    replay.segments = plan->segments;
    replay.length = plan->segments_length;
}

static void replay_enter(struct uns_thread *t) {
    (void)t;
}
static void replay_did(struct uns_thread *t) {
    replay.begun |= t == replay.thread;
}

static void diverged(void) {
    if (!uns_rt.counters[UNS_COUNT_DIVERGED]++) {
        uns_rt.counters[UNS_COUNT_DIVERGED_AT] = uns_gate.arrivals + 1;
        uns_rt.counters[UNS_COUNT_DIVERGED_SEGMENT] = replay.at + 1;
    }
}

static struct uns_thread *named(const char *path) {
    for (struct uns_thread *t = uns_threads(); t; t = t->next)
        if (!strcmp(t->path, path))
            return t;
    return NULL;
}

enum progress { BEFORE, THERE, PAST };

/* Where a thread at the gate stands with regard to the anchor that ends a segment. */
static enum progress progress_of(const struct uns_path_segment *segment,
                                 const struct uns_thread *t) {
    uint32_t been = 0, pending = uns_first_point(t->pending.point), wanted = segment->occurrence;
    for (uint32_t i = 0; i < segment->length; i++) {
        uint32_t here = uns_occurrence(t, segment->points[i]);
        if (pending == uns_first_point(segment->points[i]) &&
            (!wanted || uns_gate_occurrence(t) == wanted))
            return THERE;
        been = here > been ? here : been;
    }
    if (wanted & UNS_WITHIN) /* inside of a call: past it once the next one has begun */
        wanted = ((wanted & ~UNS_WITHIN) >> UNS_WITHIN_BITS) + 1;
    return wanted && been >= wanted ? PAST : BEFORE;
}

/* Has the thread done what the segment is for? Says so if it did it differently. */
static int is_done(const struct uns_path_segment *segment, const struct uns_thread *t) {
    if (!segment->anchored)
        return t->state == UNS_ENDED || uns_events_of(t) >= segment->until;
    if (t->state == UNS_ENDED) {
        if (segment->length)
            diverged();
        return 1;
    }
    if (t->state != UNS_READY) /* blocked where the gate cannot see: as it was, if it ran at all */
        return replay.begun;
    enum progress progress = progress_of(segment, t);
    if (progress == PAST)
        diverged();
    return progress != BEFORE;
}

/* The segment whose turn it is, past those that are done; NULL: the schedule is at its end. */
static const struct uns_path_segment *turn(void) {
    for (; replay.at < replay.length; replay.at++, replay.thread = NULL, replay.begun = 0) {
        const struct uns_path_segment *segment = &replay.segments[replay.at];
        if (!replay.thread)
            replay.thread = named(segment->path);
        if (replay.thread ? !is_done(segment, replay.thread) : segment->anchored)
            return segment;
        if (!replay.thread)
            diverged();
    }
    return NULL;
}

/* The thread that the schedule wants to run now; NULL: none, or one that is not there yet. */
struct uns_thread *uns_replay_wanted(void) {
    return turn() ? replay.thread : NULL;
}

int uns_replay_is_over(void) {
    return uns_rt.counters[UNS_COUNT_DIVERGED] || !turn();
}

/* Whether the schedule goes on with t, which is running. Where it does not, the recorded run left t
 * here, at the gate or because it was blocked. An anchored segment does not say. */
int uns_replay_goes_on(const struct uns_thread *t) {
    const struct uns_path_segment *segment = &replay.segments[replay.at];
    if (replay.at >= replay.length)
        return 0;
    return segment->anchored || (!strcmp(segment->path, t->path) && !is_done(segment, t));
}

int uns_replay_stops(const struct uns_thread *t, uint32_t point) {
    const struct uns_path_segment *segment = &replay.segments[replay.at];
    if (replay.at >= replay.length || strcmp(segment->path, t->path))
        return 0;
    for (uint32_t i = 0; i < segment->length; i++)
        if (uns_first_point(point) == uns_first_point(segment->points[i]) &&
            uns_gate_within(t, point, t->within) == segment->occurrence)
            return 1;
    return !segment->anchored && uns_events_of(t) >= segment->until;
}

/* The next thread of the schedule that can run, if the one whose turn it is cannot. */
static struct uns_thread *next_of(struct uns_thread **enabled, uint32_t count) {
    for (uint32_t at = replay.at; at < replay.length && replay.segments[at].anchored; at++)
        for (uint32_t i = 0; i < count; i++)
            if (!strcmp(enabled[i]->path, replay.segments[at].path) &&
                progress_of(&replay.segments[at], enabled[i]) == BEFORE)
                return enabled[i];
    return NULL;
}

/* One that only the passing of time lets go on: nobody's turn, where the schedule says nothing. */
static int is_ahead_of_time(const struct uns_thread *t) {
    return t->pending.deadline != UNS_FOREVER && t->pending.deadline > uns_gate_now();
}

static struct uns_thread *replay_pick(struct uns_thread **enabled, uint32_t count,
                                      struct uns_thread *current) {
    const struct uns_path_segment *segment = turn();
    struct uns_thread *wanted = segment ? replay.thread : NULL, *fallback = enabled[0];
    for (uint32_t i = 0; i < count; i++) {
        if (enabled[i] == wanted)
            return wanted;
        if (enabled[i] == current && !is_ahead_of_time(current))
            fallback = current;
    }
    if (!segment)
        return fallback;
    diverged();
    struct uns_thread *next = next_of(enabled, count);
    return next ? next : fallback;
}
const struct uns_strategy uns_strategy_replay = {"replay", replay_begin, replay_enter, replay_pick,
                                                 replay_did};
