/* SPDX-License-Identifier: Apache-2.0
 *
 * A run that does not end is called a hang. But strategies are unfair on purpose, and rules even
 * more so: they may keep two threads in step that try each other's lock, give up and begin anew,
 * which no machine does for long. So the second half of a run's time belongs to a fair scheduler:
 * it lets a drawn thread run for a drawn number of choices, from one to some thousands, as a
 * machine does whose time slices have nothing to do with the program. No rule holds anybody, who
 * polls is not left out for good, sleepers wake as inexactly as they do in reality, and every
 * access is a switch point. What still does not end then is a hang.
 *
 * A schedule that is followed says itself how the run went on, so it is left alone; but not where
 * the run has left it or has come to its end.
 */
#include "gate/fair.h"
#include "gate/rules.h"

#define SLICE_BITS 13u /* slices of up to 2^12 choices, each power of two as likely as another */

static uint64_t left; /* of the slice; guarded by the gate's mutex */

void uns_fair_call(void) {
    __atomic_store_n(&uns_gate.late, 1, __ATOMIC_RELAXED);
}

int uns_fair_look(void) {
    if (UNS_LIKELY(!uns_fair_is_called()))
        return 0;
    if (uns_gate.follows && !(uns_gate.replaying && uns_replay_is_over()))
        return 0;
    if (!uns_gate.fair && uns_gate.rules)
        uns_rules_give_up();
    uns_gate.fair = 1;
    return 1;
}

struct uns_thread *uns_fair_pick(struct uns_thread **enabled, uint32_t count,
                                 struct uns_thread *current) {
    for (uint32_t i = 0; left && i < count; i++)
        if (enabled[i] == current) {
            left--;
            return current;
        }
    left = 1ull << uns_gate_draw(SLICE_BITS);
    return enabled[uns_gate_draw(count)];
}

struct uns_thread *uns_fair_sleeper(struct uns_thread *first) {
    struct uns_thread *chosen = first;
    uint32_t count = 0;
    for (uint32_t i = 0; i < uns_gate.live_count; i++) {
        struct uns_thread *t = uns_gate.live[i];
        if (t->state == UNS_READY && !t->held && t->pending.deadline != UNS_FOREVER &&
            t->pending.deadline - first->pending.deadline <= UNS_SHORT_LIMIT_NS &&
            uns_gate_draw(++count) == 0)
            chosen = t;
    }
    return chosen;
}

int uns_fair_lets_poll(void) {
    return uns_gate.fair && uns_gate_draw(8) == 0;
}
