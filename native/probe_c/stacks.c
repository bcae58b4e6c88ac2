/* SPDX-License-Identifier: Apache-2.0
 *
 * Where threads are, as last seen: what lies on the stack of one may be used by another.
 */
#include "probe_c/probe.h"
#include <unwind.h>

#define THREADS 4096u

static struct uns_c_stack *seen[THREADS];

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *data) {
    struct uns_c_stack *stack = data;
    /* It is the stack pointer of this frame: the unwinder speaks of the one that it called. */
    stack->frames[stack->count++] = (struct uns_c_frame){
        uns_c_code((uintptr_t)_Unwind_GetIP(context)), _Unwind_GetCFA(context)};
    return stack->count < UNS_C_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

const struct uns_c_stack *uns_c_look_at_stack(struct uns_thread *t) {
    static struct uns_c_stack nothing;
    if (t->index < THREADS && !seen[t->index])
        seen[t->index] = uns_pages(sizeof **seen);
    if (t->index >= THREADS || !seen[t->index])
        return &nothing;
    struct uns_c_stack *stack = seen[t->index];
    stack->thread = t;
    stack->count = 0;
    t->muted++; /* the unwinder has locks, and blocks of the heap */
    _Unwind_Backtrace(step, stack);
    t->muted--;
    return stack;
}

const struct uns_c_stack *uns_c_stack_with(uintptr_t address, uint32_t *frame) {
    for (uint32_t i = 0; i < THREADS && i < uns_rt.thread_count; i++) {
        const struct uns_c_stack *stack = seen[i];
        for (uint32_t at = 0; stack && at + 1 < stack->count; at++)
            if (stack->frames[at].low <= address && address < stack->frames[at + 1].low)
                return *frame = at, stack;
    }
    return NULL;
}
