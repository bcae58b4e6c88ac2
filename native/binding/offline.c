/* SPDX-License-Identifier: Apache-2.0
 *
 * The tracker over a stream of events: the same code as online, for conformance and for traces.
 */
#include "binding/binding.h"
#include "runtime/array.h"
#include "tracker/shadow.h"
#include <sys/mman.h>

struct event {
    uint32_t thread, point;
    uint64_t cell;
    uint32_t kind, reserved;
};
enum { EVENT_READ, EVENT_WRITE, EVENT_FORCED, EVENT_FORGET, EVENT_INIT };

static uint64_t event_time;

static uint64_t offline_now(void) {
    return event_time;
}

static void feed(struct uns_tracker *tracker, struct uns_tracked *threads, const struct event *e) {
    struct uns_tracked *t = &threads[e->thread];
    uint64_t key = uns_mix(e->cell); /* neighbouring cells must not share a bucket */
    switch (e->kind) {
    case EVENT_READ:
        uns_read(tracker, t, e->point, key);
        break;
    case EVENT_INIT:
        uns_write_new(tracker, t, e->point, key);
        break;
    case EVENT_WRITE:
        uns_write(tracker, t, e->point, key);
        break;
    case EVENT_FORCED:
        uns_write_forced(tracker, t, e->point, key);
        break;
    case EVENT_FORGET:
        uns_forget(tracker, t, key);
        break;
    }
}

/* The same, with the cells in shadow memory: what probe_c does in free runs. */
static void feed_shadow(struct uns_tracker *tracker, struct uns_shadow *shadow,
                        struct uns_tracked *t, const struct event *e) {
    uns_view_shadow(tracker, shadow, t);
    switch (e->kind) {
    case EVENT_READ:
        if (!uns_sees_read(e->cell) && !(uns_view.mask && uns_repeats_read(e->cell, e->point)))
            uns_shadow_read(tracker, shadow, t, e->point, e->cell);
        break;
    case EVENT_WRITE:
        if (!uns_sees_write(e->cell) && !(uns_view.mask && uns_repeats_write(e->cell, e->point)))
            uns_shadow_write(tracker, shadow, t, e->point, e->cell);
        break;
    case EVENT_FORCED:
        uns_shadow_forced(tracker, shadow, t, e->point, e->cell);
        break;
    case EVENT_INIT:
        uns_shadow_forget(shadow, e->cell, UNS_SHADOW_WORD);
        uns_shadow_forced(tracker, shadow, t, e->point, e->cell);
        break;
    case EVENT_FORGET:
        uns_shadow_forget(shadow, e->cell, UNS_SHADOW_WORD);
        break;
    }
}

/* uns_mix backwards. */
static uint64_t unmix(uint64_t key) {
    return (key ^ key >> 32) * 0xF1DE83E19937733Dull;
}

static int shadowed;

static void append_rows(const struct uns_table *all, struct uns_array *rows) {
    for (uint32_t i = 0; i < all->used; i++) {
        if (uns_array_append(rows, all->rows + (size_t)i * all->row_size, all->row_size) < 0)
            continue;
        struct uns_edge_record *copy = /* patterns begin alike */
            (struct uns_edge_record *)((char *)rows->data + rows->used - all->row_size);
        copy->cell = shadowed ? copy->cell * UNS_SHADOW_WORD : unmix(copy->cell);
    }
}

enum { EDGES, PATTERNS, GAPS, TABLES };

static PyObject *results(struct uns_tracked *threads) {
    struct uns_table all[TABLES] = {0};
    struct uns_array edges = {0}, patterns = {0};
    for (uint32_t i = 0; i + 1 < UNS_LIVE_IDS; i++) {
        struct uns_table *own[TABLES] = {&threads[i].edges, &threads[i].patterns, &threads[i].gaps};
        for (int kind = 0; kind < TABLES; kind++) {
            uns_table_merge(&all[kind], own[kind]);
            uns_table_free(own[kind]);
        }
    }
    append_rows(&all[EDGES], &edges);
    append_rows(&all[PATTERNS], &patterns);
    append_rows(&all[GAPS], &patterns);
    PyObject *both = Py_BuildValue("y#y#", edges.data ? edges.data : "", (Py_ssize_t)edges.used,
                                   patterns.data ? patterns.data : "", (Py_ssize_t)patterns.used);
    for (int kind = 0; kind < TABLES; kind++)
        uns_table_free(&all[kind]);
    uns_array_free(&edges);
    uns_array_free(&patterns);
    return both;
}

static PyObject *run(const struct event *events, Py_ssize_t count,
                     const struct uns_tracker_options *options) {
    struct uns_tracker tracker;
    struct uns_shadow shadow = {0};
    struct uns_tracked *threads = uns_pages(UNS_LIVE_IDS * sizeof *threads);
    if (!threads || uns_tracker_init(&tracker, options, offline_now) < 0 ||
        (shadowed && uns_shadow_init(&shadow) < 0))
        return PyErr_NoMemory();
    for (uint32_t i = 0; i + 1 < UNS_LIVE_IDS; i++)
        uns_tracked_init(&tracker, &threads[i], i + 1, i);
    for (event_time = 0; (Py_ssize_t)event_time < count; event_time++)
        if (shadowed)
            feed_shadow(&tracker, &shadow, &threads[events[event_time].thread],
                        &events[event_time]);
        else
            feed(&tracker, threads, &events[event_time]);
    uns_windows_end(&tracker, &threads[0]);
    PyObject *both = results(threads);
    uns_tracker_free(&tracker);
    uns_shadow_free(&shadow);
    uns_view_nothing();
    munmap(threads, UNS_LIVE_IDS * sizeof *threads);
    return both;
}

PyObject *uns_track(PyObject *module, PyObject *args) {
    Py_buffer events;
    unsigned context_size, window_size = 0;
    int first_read, anti_edges = 0, own_reads = 0, racy_lookup = 1;
    const char *rule;
    shadowed = 0;
    if (!PyArg_ParseTuple(args, "y*Ips|pppIp:track", &events, &context_size, &first_read, &rule,
                          &anti_edges, &own_reads, &racy_lookup, &window_size, &shadowed))
        return NULL;
    const struct event *rows = events.buf;
    Py_ssize_t count = events.len / (Py_ssize_t)sizeof *rows;
    PyObject *result = NULL;
    int good = context_size <= UNS_CONTEXT_MAX && window_size <= UNS_WINDOW_MAX && window_size != 1;
    for (Py_ssize_t i = 0; good && i < count; i++)
        good = rows[i].thread + 1 < UNS_LIVE_IDS && rows[i].kind <= EVENT_INIT;
    if (good) {
        const struct uns_tracker_options options = {
            .context_size = context_size,
            .first_read = first_read,
            .racy_lookup = racy_lookup,
            .anti_edges = anti_edges,
            .own_reads = own_reads,
            .window_size = window_size,
            .first_write = !strcmp(rule, "off")     ? UNS_FIRST_WRITE_OFF
                           : !strcmp(rule, "paper") ? UNS_FIRST_WRITE_PAPER
                                                    : UNS_FIRST_WRITE_SHARED};
        result = run(rows, count, &options);
    } else {
        PyErr_SetString(PyExc_ValueError, "a thread, an event kind or a size is out of range");
    }
    PyBuffer_Release(&events);
    return result;
}
