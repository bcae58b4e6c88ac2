/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions, basic blocks and loops, as events of a sketch: in programs that were built with
 * `unsnarl cc --functions`, `--blocks` or `--loops`. The site is where the call returns to, as of
 * any other.
 *
 * A loop goes back where a block follows, in one and the same call of a function, that is not
 * behind the block before: every way round has such a block, whatever the compiler made of it, and
 * has only one if blocks are as in the source (what --loops is for). Which call of a function a
 * block is of shows in the stack pointer: what lies below it is over, also if nobody said so
 * (longjmp, exceptions).
 */
#include "probe_c/probe.h"

#define ENTRY __attribute__((aligned(64)))
#if defined(__clang__)
#define CALLERS_STACK ((uintptr_t)__builtin_frame_address(0))
#else
#define CALLERS_STACK ((uintptr_t)__builtin_dwarf_cfa())
#endif

/* Of very deep calls the outermost are forgotten: the ring of each thread is small. */
#define DEEPEST 1024u
struct uns_frame {
    uintptr_t low;
    const void *block; /* the latest one, NULL: none yet */
};
struct uns_frames {
    uint32_t top, count;
    struct uns_frame ring[DEEPEST];
};

static struct uns_frame *top_of(struct uns_frames *frames) {
    return &frames->ring[frames->top % DEEPEST];
}

static void drop_below(struct uns_frames *frames, uintptr_t low) {
    while (frames->count && top_of(frames)->low < low) {
        frames->top--;
        frames->count--;
    }
}

static struct uns_frame *push(struct uns_frames *frames, uintptr_t low) {
    frames->top++;
    frames->count += frames->count < DEEPEST;
    *top_of(frames) = (struct uns_frame){.low = low};
    return top_of(frames);
}

static inline struct uns_frames *frames_of(struct uns_thread *t) {
    if (UNS_UNLIKELY(!t->frames))
        t->frames = uns_pages(sizeof *t->frames);
    return t->frames;
}

/* A frame with the same stack pointer is that of an earlier call: its memory is in use again. */
static void enter(struct uns_thread *t, uintptr_t low) {
    struct uns_frames *frames = frames_of(t);
    if (!frames)
        return;
    drop_below(frames, low + 1);
    push(frames, low);
}

static int goes_back(struct uns_thread *t, uintptr_t low, const void *block) {
    struct uns_frames *frames = frames_of(t);
    if (!frames)
        return 0;
    drop_below(frames, low);
    struct uns_frame *frame = frames->count ? top_of(frames) : push(frames, low);
    int back = frame->block >= block;
    frame->block = block;
    return back;
}

static inline void report(enum uns_op op, const void *pc) {
    uint32_t site = uns_c_site(pc);
    if (!site)
        return;
    if (UNS_UNLIKELY(uns_rt.sketch.values))
        uns_c_settle_value(uns_current());
    uns_sketch_event(uns_current(), UNS_POINT(site, op));
}

static inline int wants(uint32_t kinds) {
    return UNS_UNLIKELY(uns_rt.reports & kinds) && uns_c_on();
}

ENTRY void __tsan_func_entry(void *caller) {
    (void)caller;
    if (!wants(UNS_REPORTS_FUNCTIONS | UNS_REPORTS_LOOPS))
        return;
    if (UNS_UNLIKELY(uns_rt.reports & UNS_REPORTS_LOOPS))
        enter(uns_current(), CALLERS_STACK);
    if (UNS_LIKELY(uns_rt.reports & UNS_REPORTS_FUNCTIONS))
        report(UNS_ENTER, UNS_C_HERE);
}
ENTRY void __tsan_func_exit(void) {
    if (wants(UNS_REPORTS_FUNCTIONS))
        report(UNS_EXIT, UNS_C_HERE);
}
/* A program may have its own: then that hears of its blocks, and we do not. */
ENTRY UNS_C_INTERCEPTOR void __sanitizer_cov_trace_pc(void) {
    if (!wants(UNS_REPORTS_BLOCKS | UNS_REPORTS_LOOPS))
        return;
    if ((uns_rt.reports & UNS_REPORTS_BLOCKS) ||
        goes_back(uns_current(), CALLERS_STACK, UNS_C_HERE))
        report(UNS_BLOCK, UNS_C_HERE);
}
