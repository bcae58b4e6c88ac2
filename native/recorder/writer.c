/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the run file. Only system calls and memory of our own: it must work in a signal handler
 * and in the watch thread of a process that is beyond help. A kill in the middle leaves the
 * temporary name behind, never a half file under the final one.
 */
#include "gate/gate.h"
#include "recorder/log.h"
#include "recorder/recorder.h"
#include "runtime/array.h"
#include "runtime/busy.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct uns_array notes, orders; /* added to by any thread, under the lock */
static uint32_t array_lock;
static struct uns_array schedule, trace;

static char final_name[4096], temporary_name[4104];

#define TRACE_MOST (64u << 20)

void uns_recorder_begin(const char *file) {
    uns_array_free(&schedule);
    uns_array_free(&trace);
    uns_array_free(&orders);
    snprintf(final_name, sizeof final_name, "%s", file ? file : "");
    snprintf(temporary_name, sizeof temporary_name, "%s.tmp", final_name);
    uns_logs_begin(file);
}

void uns_note(const char *text, uint32_t bytes) {
    uns_spin_lock(&array_lock);
    if (uns_array_append(&notes, text, bytes) == 0)
        uns_array_append(&notes, "\n", 1);
    uns_spin_unlock(&array_lock);
}

void uns_order(uint32_t thread, uint32_t other) {
    uint64_t now = uns_rt.tracker.now();
    struct uns_order_record record = {thread, other, now, now};
    uns_spin_lock(&array_lock);
    uns_array_append(&orders, &record, sizeof record);
    uns_spin_unlock(&array_lock);
}

void uns_record_event(const struct uns_thread *t, uint32_t point, uint64_t cell, int follows) {
    struct uns_trace_record event = {
        .time = uns_rt.tracker.now(),
        .cell = cell,
        .point = point,
        .thread = (uint16_t)t->index,
        .context = (uint16_t)(t->tracked.context | (follows ? UNS_TRACE_FOLLOWS : 0))};
    if (trace.used >= TRACE_MOST || uns_array_append(&trace, &event, sizeof event) < 0)
        uns_rt.counters[UNS_COUNT_TRACE_DROPPED]++;
}

void uns_record_segment(const struct uns_segment_record *segment) {
    if (uns_array_append(&schedule, segment, sizeof *segment) < 0)
        uns_rt.counters[UNS_COUNT_SCHEDULE_DROPPED]++;
}

static void add_section(struct uns_array *out, uint32_t kind, uint32_t record_size,
                        const void *data, uint64_t bytes) {
    static const char zeros[8];
    struct uns_section_header header = {kind, record_size, bytes};
    uns_array_append(out, &header, sizeof header);
    uns_array_append(out, data, bytes);
    uns_array_append(out, zeros, -bytes & 7);
    ((struct uns_file_header *)out->data)->sections++;
}

static void add_array(struct uns_array *out, uint32_t kind, uint32_t record_size,
                      struct uns_array *rows) {
    add_section(out, kind, record_size, rows->data, rows->used);
    uns_array_free(rows);
}

static void add_threads(struct uns_array *out) {
    struct uns_array rows = {0};
    for (uint32_t index = 0; index < uns_rt.thread_count; index++) {
        const struct uns_thread *t = uns_thread_by_index(index);
        struct uns_thread_record record = {.index = index};
        if (t) {
            record.parent = t->parent;
            record.flags = t->flags;
            record.kind = t->kind;
            record.events = uns_events_of(t);
            memcpy(record.path, t->path, sizeof record.path);
            memcpy(record.name, t->name, sizeof record.name);
        }
        uns_array_append(&rows, &record, sizeof record);
    }
    add_array(out, UNS_SECTION_THREADS, sizeof(struct uns_thread_record), &rows);
}

static void append_rows(struct uns_array *rows, const struct uns_table *all) {
    if (all->used)
        uns_array_append(rows, all->rows, (uint64_t)all->used * all->row_size);
}

static void add_edges(struct uns_array *out) {
    struct uns_table all = {0};
    struct uns_array rows = {0};
    for (struct uns_thread *t = uns_rt.threads; t; t = t->next)
        uns_table_merge(&all, &t->tracked.edges);
    append_rows(&rows, &all);
    add_array(out, UNS_SECTION_EDGES, sizeof(struct uns_edge_record), &rows);
    uns_rt.counters[UNS_COUNT_EDGES_DROPPED] = all.dropped;
    uns_table_free(&all);
}

static void add_patterns(struct uns_array *out) {
    struct uns_table patterns = {0}, gaps = {0};
    struct uns_array rows = {0}, pairs = {0};
    uns_windows_end(&uns_rt.tracker, &uns_rt.threads->tracked);
    for (struct uns_thread *t = uns_rt.threads; t; t = t->next) {
        uns_table_merge(&patterns, &t->tracked.patterns);
        uns_table_merge(&gaps, &t->tracked.gaps);
        append_rows(&pairs, &t->tracked.pairs);
    }
    append_rows(&rows, &patterns);
    append_rows(&rows, &gaps);
    add_array(out, UNS_SECTION_PATTERNS, sizeof(struct uns_pattern_record), &rows);
    add_array(out, UNS_SECTION_PAIRS, sizeof(struct uns_pattern_record), &pairs);
    uns_rt.counters[UNS_COUNT_PATTERNS_DROPPED] = patterns.dropped + gaps.dropped;
    uns_table_free(&patterns);
    uns_table_free(&gaps);
}

static void append_counts(struct uns_array *rows, const struct uns_thread *t, uint32_t site,
                          uint32_t end) {
    for (; site < end; site++)
        if (t->counts[site].count) {
            const struct uns_site_count *here = &t->counts[site];
            struct uns_count_record record = {t->index,   site,         here->count,
                                              here->head, here->remote, 0};
            uns_array_append(rows, &record, sizeof record);
        }
}

/* Most sites of a large program were not met: to look at them all would bring in pages of zeros. */
static void add_counts(struct uns_array *out) {
    struct uns_array rows = {0};
    uint32_t limit = uns_rt.site_limit;
    for (const struct uns_thread *t = uns_rt.threads; t; t = t->next)
        for (uint32_t site = 0; t->counts && site < limit; site += UNS_COUNTED_SITES)
            if (t->counted[site / UNS_COUNTED_SITES])
                append_counts(&rows, t, site,
                              limit - site < UNS_COUNTED_SITES ? limit : site + UNS_COUNTED_SITES);
    add_array(out, UNS_SECTION_COUNTS, sizeof(struct uns_count_record), &rows);
}

static void add_shared(struct uns_array *out) {
    struct uns_array rows = {0};
    for (uint32_t site = 0; uns_rt.shared_sites && site < uns_rt.site_limit; site++)
        if (uns_rt.shared_sites[site])
            uns_array_append(&rows, &site, sizeof site);
    add_array(out, UNS_SECTION_SHARED, sizeof(uint32_t), &rows);
}

static void add_waits(struct uns_array *out) {
    static struct uns_wait_record waits[UNS_GATE_THREADS];
    uint32_t count = uns_rt.gated || uns_rt.recording ? uns_gate_waits(waits, UNS_GATE_THREADS) : 0;
    add_section(out, UNS_SECTION_WAITS, sizeof *waits, waits, count * sizeof *waits);
}

static void add_standstills(struct uns_array *out) {
    uint32_t count;
    const struct uns_standstill_record *rows = uns_gate_standstills(&count);
    if (count)
        add_section(out, UNS_SECTION_STANDSTILLS, sizeof *rows, rows, count * sizeof *rows);
}

#define LATEST_MOST (1u << 14)

/* What came too late to happen is evidence too (docs/adr/0029): what threads were about to do, and
 * whose accesses it would have followed. */
static void add_pending(struct uns_array *out) {
    static struct uns_pending_record pending[UNS_GATE_THREADS];
    static struct uns_trace_record latest[LATEST_MOST];
    uint32_t count = uns_rt.gated ? uns_gate_pending(pending, UNS_GATE_THREADS) : 0;
    if (!count)
        return;
    add_section(out, UNS_SECTION_PENDING, sizeof *pending, pending, count * sizeof *pending);
    count = uns_windows_latest(&uns_rt.tracker, latest, LATEST_MOST);
    add_section(out, UNS_SECTION_LATEST, sizeof *latest, latest, count * sizeof *latest);
}

static void add_rules(struct uns_array *out) {
    uint32_t count;
    const struct uns_rule_record *results = uns_gate_rule_results(&count);
    if (count)
        add_section(out, UNS_SECTION_RULES, sizeof *results, results, count * sizeof *results);
}

static void add_counters(struct uns_array *out) {
    uns_rt.counters[UNS_COUNT_STEPS] = uns_gate_arrivals();
    uns_rt.counters[UNS_COUNT_CELLS_EVICTED] = uns_rt.tracker.evicted;
    uns_rt.counters[UNS_COUNT_TRACE_DROPPED] += uns_events_dropped();
    for (const struct uns_thread *t = uns_rt.threads; t; t = t->next) {
        uns_rt.counters[UNS_COUNT_EVENTS] += uns_events_of(t);
        uns_rt.counters[UNS_COUNT_LOG_DROPPED] +=
            t->log.dropped + t->values.dropped + t->branches.dropped;
    }
    add_section(out, UNS_SECTION_COUNTERS, 8, uns_rt.counters, sizeof uns_rt.counters);
}

static int store(const struct uns_array *out) {
    int fd = open(temporary_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return -1;
    const char *at = out->data;
    uint64_t left = out->used;
    while (left) {
        ssize_t n = write(fd, at, left);
        if (n <= 0)
            break;
        at += n;
        left -= (uint64_t)n;
    }
    if (close(fd) != 0 || left) {
        unlink(temporary_name);
        return -1;
    }
    return rename(temporary_name, final_name);
}

int uns_write_run_file(void) {
    if (!final_name[0])
        return 0;
    struct uns_array out = {0};
    struct uns_file_header header = {.magic = UNS_MAGIC, .version = UNS_FORMAT_VERSION};
    if (uns_array_append(&out, &header, sizeof header) < 0)
        return -1;
    if (uns_rt.gated)
        uns_gate_close_schedule();
    add_section(&out, UNS_SECTION_NOTES, 1, notes.data, notes.used);
    add_threads(&out);
    add_edges(&out);
    add_pending(&out); /* before windows end */
    add_patterns(&out);
    add_section(&out, UNS_SECTION_ORDERS, sizeof(struct uns_order_record), orders.data,
                orders.used);
    add_section(&out, UNS_SECTION_SCHEDULE, sizeof(struct uns_segment_record), schedule.data,
                schedule.used);
    add_counts(&out);
    add_shared(&out);
    add_waits(&out);
    add_standstills(&out);
    if (trace.used)
        add_section(&out, UNS_SECTION_TRACE, sizeof(struct uns_trace_record), trace.data,
                    trace.used);
    add_rules(&out);
    add_counters(&out);
    ((struct uns_file_header *)out.data)->size = out.used;
    int outcome = store(&out);
    uns_array_free(&out);
    return outcome;
}
