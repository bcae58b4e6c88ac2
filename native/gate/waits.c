/* SPDX-License-Identifier: Apache-2.0
 *
 * Who waits for whom: at a deadlock, at the end of a run, and at every standstill. A standstill is
 * where nobody could go on until a time limit ran out: what the limit makes an error of was a
 * deadlock until then (docs/adr/0032).
 */
#include "gate/state.h"
#include <string.h>

/* An acquire that is still pending is a wait; a join stays one. */
static uint32_t waiting_point(const struct uns_thread *t) {
    uint32_t site = UNS_POINT_SITE(t->pending.point), op = UNS_POINT_OP(t->pending.point);
    return UNS_POINT(site, op == UNS_JOIN ? UNS_JOIN : UNS_WAIT);
}

static int waits(const struct uns_thread *t) {
    return __atomic_load_n(&t->state, __ATOMIC_ACQUIRE) == UNS_READY && t->pending.lock &&
           t->pending.lock->word;
}

/* ... or for what another thread of the run would have to send: nobody is known to owe it. Only
 * where the time of a join is over: what polls a queue next to a socket does so all the time. */
static int waits_for_word(const struct uns_thread *t, const struct uns_thread *ran_out) {
    return t->state == UNS_READY && t->pending.ready && t->pending.own && !t->pending.lock &&
           UNS_POINT_OP(ran_out->pending.point) == UNS_JOIN;
}

static struct uns_wait_record wait_of(const struct uns_thread *t) {
    const struct uns_lock *lock = t->pending.lock;
    if (!lock)
        return (struct uns_wait_record){
            .thread = t->index, .point = waiting_point(t), .owner = UNS_NO_OWNER};
    /* A Condition's wait takes a new lock twice, on one line: only a notify releases it. */
    int own =
        lock->owner == t->index && UNS_POINT_SITE(lock->taken) == UNS_POINT_SITE(t->pending.point);
    return (struct uns_wait_record){.thread = t->index,
                                    .point = waiting_point(t),
                                    .owner = own ? UNS_NO_OWNER : lock->owner,
                                    .taken = lock->taken,
                                    .object = t->pending.cell,
                                    .taken_time = lock->taken_time};
}

/* What threads were about to do: the run ends before they come to it. */
uint32_t uns_gate_pending(struct uns_pending_record *out, uint32_t room) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < uns_gate.live_count && count < room; i++) {
        const struct uns_thread *t = uns_gate.live[i];
        if (t->state == UNS_READY)
            out[count++] = (struct uns_pending_record){t->index, t->pending.point, t->pending.cell};
    }
    return count;
}

/* Who waits for so long for a signal that nobody owes goes on without it: it polls. */
static int goes_on_by_itself(const struct uns_thread *t) {
    return t->pending.deadline != UNS_FOREVER && wait_of(t).owner == UNS_NO_OWNER;
}

/* In a recorded run nobody is in the gate: those that wait say so themselves (lock.c). */
uint32_t uns_gate_waits(struct uns_wait_record *out, uint32_t room) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < uns_gate.live_count && count < room; i++)
        if (waits(uns_gate.live[i]) && !goes_on_by_itself(uns_gate.live[i]))
            out[count++] = wait_of(uns_gate.live[i]);
    for (const struct uns_thread *t = uns_rt.recording ? uns_threads() : NULL; t && count < room;
         t = t->next)
        if (waits(t))
            out[count++] = wait_of(t);
    return count;
}

uint32_t uns_all_wait(void) {
    uint32_t count = 0;
    for (const struct uns_thread *t = uns_threads(); t; t = t->next) {
        if (__atomic_load_n(&t->state, __ATOMIC_ACQUIRE) == UNS_ENDED)
            continue;
        if (!waits(t))
            return 0;
        count++;
    }
    return count;
}

/* The acquires that never came back become nodes of the graph. */
void uns_gate_deadlock_edges(void) {
    for (uint32_t i = 0; i < uns_gate.live_count; i++) {
        struct uns_thread *t = uns_gate.live[i];
        if (t->state == UNS_READY && t->pending.lock)
            uns_wait_forever(&uns_rt.tracker, &t->tracked, waiting_point(t), t->pending.cell);
    }
}

/* Rows of all standstills that are kept, the latest ones: a loop that polls has many, but most of
 * them alike. */
#define STANDSTILL_ROWS 4096u
static struct uns_standstill_record rows[STANDSTILL_ROWS];
static uint32_t rows_used, standstills;

void uns_waits_begin(void) {
    rows_used = standstills = 0;
}

static int anybody_failed(void) {
    for (const struct uns_thread *t = uns_threads(); t; t = t->next)
        if (t->failed)
            return 1;
    return 0;
}

/* Does every thread wait for what another one has to do? Who sleeps goes on by itself. */
static int all_wait(const struct uns_thread *ran_out) {
    for (uint32_t i = 0; i < uns_gate.live_count; i++)
        if (!waits(uns_gate.live[i]) && !waits_for_word(uns_gate.live[i], ran_out))
            return 0;
    return !uns_gate_time_is_real();
}

static int is_same_row(const struct uns_standstill_record *one,
                       const struct uns_standstill_record *other) {
    return one->wait.thread == other->wait.thread && one->wait.point == other->wait.point &&
           one->wait.owner == other->wait.owner && one->flags == other->flags;
}

/* How many rows from `at` on are of one standstill. */
static uint32_t length_at(uint32_t at) {
    uint32_t length = 1;
    while (at + length < rows_used && rows[at + length].number == rows[at].number)
        length++;
    return length;
}

static void drop(uint32_t at, uint32_t length) {
    rows_used -= length;
    memmove(&rows[at], &rows[at + length], (rows_used - at) * sizeof *rows);
}

/* Of standstills that are alike the latest is kept. */
static void drop_like(const struct uns_standstill_record *newest, uint32_t count) {
    for (uint32_t at = 0, length; at < rows_used; at += length) {
        uint32_t same = 0;
        length = length_at(at);
        while (length == count && same < count && is_same_row(&rows[at + same], &newest[same]))
            same++;
        if (same == count) {
            drop(at, length);
            return;
        }
    }
}

static uint32_t describe(struct uns_standstill_record *out, const struct uns_thread *ran_out) {
    uint32_t count = 0, number = ++standstills,
             alone = all_wait(ran_out) ? UNS_STANDSTILL_ALONE : 0;
    for (uint32_t i = 0; i < uns_gate.live_count; i++) {
        const struct uns_thread *t = uns_gate.live[i];
        if (!waits(t) && !waits_for_word(t, ran_out))
            continue;
        out[count++] = (struct uns_standstill_record){
            .wait = wait_of(t),
            .time = uns_rt.tracker.now(),
            .limit = t->pending.deadline == UNS_FOREVER ? 0 : (uint64_t)t->pending.limit,
            .number = number,
            .flags = alone | (t == ran_out ? UNS_STANDSTILL_RAN_OUT : 0)};
    }
    return count;
}

/* Mutex held: the time limit of a thread is about to run out, since nobody can go on. */
void uns_gate_note_standstill(const struct uns_thread *ran_out) {
    static struct uns_standstill_record newest[UNS_GATE_THREADS];
    if (!waits(ran_out) || anybody_failed())
        return;
    uint32_t count = describe(newest, ran_out);
    drop_like(newest, count);
    while (rows_used + count > STANDSTILL_ROWS)
        drop(0, length_at(0));
    memcpy(&rows[rows_used], newest, count * sizeof *newest);
    rows_used += count;
}

const struct uns_standstill_record *uns_gate_standstills(uint32_t *count) {
    *count = rows_used;
    return rows;
}
