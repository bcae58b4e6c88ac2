/* SPDX-License-Identifier: Apache-2.0
 *
 * Polling: `while (!flag) sched_yield();`. A strategy that prefers such a thread would let it look
 * some thousand times between any two steps of the thread that it waits for. So who has read the
 * same cells at the same sites some times, while nobody has written anything, yields until somebody
 * writes.
 *
 * A turn begins where the first read of the last one was. Turns are counted as long as they are
 * short and nothing was written anywhere: what exactly a thread waits for need not be known. A loop
 * that reads a setting looks alike. So that runs in which it ends first still happen, patience is
 * long in a quarter of all runs.
 */
#include "gate/polling.h"
#include <stdio.h>
#include <string.h>

#define READS_OF_A_TURN 64u

static uint64_t writes;
static uint32_t patience;

void uns_polling_begin(uint64_t seed) {
    writes = 1;
    patience = uns_mix(seed) % 4 ? UNS_POLLS_AFTER : UNS_POLLS_FOR_GOOD;
}

void uns_polling_wrote(void) {
    writes++;
}

void uns_polling_read(struct uns_thread *t, uint32_t point, uint64_t cell) {
    struct uns_poll *p = &t->poll;
    if (p->writes == writes && p->point == point && p->cell == cell) {
        p->turns++;
        p->reads = 0;
    } else if (p->writes != writes || ++p->reads > READS_OF_A_TURN) {
        *p = (struct uns_poll){.cell = cell, .writes = writes, .point = point};
    }
}

static int polls(const struct uns_thread *t, uint32_t turns) {
    return t->poll.turns >= turns && t->poll.writes == writes;
}

uint32_t uns_polling_leave_out(struct uns_thread **threads, uint32_t count) {
    uint32_t kept = 0, polling = 0;
    for (uint32_t i = 0; i < count; i++)
        polling += polls(threads[i], patience) != 0;
    if (!polling || polling == count)
        return count;
    for (uint32_t i = 0; i < count; i++)
        if (!polls(threads[i], patience))
            threads[kept++] = threads[i];
    return kept;
}

int uns_polling_all_do(struct uns_thread **threads, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!polls(threads[i], UNS_POLLS_FOR_GOOD))
            return 0;
    return count != 0;
}

void uns_polling_name(char *text, uint32_t size) {
    uint32_t used = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < uns_gate.live_count; i++) {
        const struct uns_thread *t = uns_gate.live[i];
        if (polls(t, UNS_POLLS_FOR_GOOD) && used + UNS_PATH_BYTES + 4 < size)
            used += (uint32_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", t->path);
    }
}
