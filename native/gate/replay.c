/* SPDX-License-Identifier: Apache-2.0
 *
 * Follow a recorded schedule. Where it cannot be followed, say so once, keep going, and take it up
 * again as soon as the thread it names can run.
 */
#include "gate/gate.h"
#include <string.h>

static struct {
    const struct uns_path_segment *segments;
    uint32_t length, at;
    struct uns_thread *thread; /* of segments[at], NULL: not looked up */
} replay;

static void replay_begin(const struct uns_plan *plan) {
    replay.segments = plan->segments;
    replay.length = plan->segments_length;
    replay.at = 0;
    replay.thread = NULL;
}

static void replay_enter(struct uns_thread *t) {
    (void)t;
}
static void replay_did(struct uns_thread *t) {
    (void)t;
}

static void diverged(void) {
    if (!uns_rt.counters[UNS_COUNT_DIVERGED]++)
        uns_rt.counters[UNS_COUNT_DIVERGED_AT] = uns_gate.steps + 1;
}

static struct uns_thread *named(const char *path) {
    for (struct uns_thread *t = uns_rt.threads; t; t = t->next)
        if (!strcmp(t->path, path))
            return t;
    return NULL;
}

/* The thread that the schedule wants to run now, past the segments that are done. */
struct uns_thread *uns_replay_wanted(void) {
    for (; replay.at < replay.length; replay.at++, replay.thread = NULL) {
        const struct uns_path_segment *segment = &replay.segments[replay.at];
        if (!replay.thread)
            replay.thread = named(segment->path);
        if (!replay.thread)
            diverged();
        else if (replay.thread->state != UNS_ENDED && replay.thread->events < segment->until)
            return replay.thread;
    }
    return NULL;
}

static struct uns_thread *replay_pick(struct uns_thread **enabled, uint32_t count,
                                      struct uns_thread *current) {
    struct uns_thread *wanted = uns_replay_wanted(), *fallback = enabled[0];
    for (uint32_t i = 0; i < count; i++) {
        if (enabled[i] == wanted)
            return wanted;
        if (enabled[i] == current)
            fallback = current;
    }
    if (wanted)
        diverged();
    return fallback;
}
const struct uns_strategy uns_strategy_replay = {"replay", replay_begin, replay_enter, replay_pick,
                                                 replay_did};
