/* SPDX-License-Identifier: Apache-2.0
 *
 * The tracker over a stream of events: the same code as online, for conformance and for traces.
 */
#include "binding.h"

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
        uns_forget(tracker, key);
        break;
    }
}

/* uns_mix backwards. */
static uint64_t unmix(uint64_t key) {
    return (key ^ key >> 32) * 0xF1DE83E19937733Dull;
}

static PyObject *edges_as_bytes(const struct uns_edge_table *all) {
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(all->used * sizeof *all->rows));
    if (!bytes)
        return NULL;
    char *to = PyBytes_AS_STRING(bytes);
    for (uint32_t i = 0; i < all->capacity; i++)
        if (all->rows[i].count) {
            struct uns_edge_record edge = all->rows[i];
            edge.cell = unmix(edge.cell);
            memcpy(to, &edge, sizeof edge);
            to += sizeof *all->rows;
        }
    return bytes;
}

static PyObject *run(const struct event *events, Py_ssize_t count,
                     const struct uns_tracker_options *options) {
    struct uns_tracker tracker;
    struct uns_tracked *threads = uns_pages(UNS_LIVE_IDS * sizeof *threads);
    if (!threads || uns_tracker_init(&tracker, options, offline_now) < 0)
        return PyErr_NoMemory();
    for (uint32_t i = 0; i + 1 < UNS_LIVE_IDS; i++)
        uns_tracked_init(&tracker, &threads[i], i + 1, i);
    for (event_time = 0; (Py_ssize_t)event_time < count; event_time++)
        feed(&tracker, threads, &events[event_time]);
    struct uns_edge_table all = {0};
    for (uint32_t i = 0; i + 1 < UNS_LIVE_IDS; i++) {
        uns_edges_merge(&all, &threads[i].edges);
        uns_edges_free(&threads[i].edges);
    }
    PyObject *bytes = edges_as_bytes(&all);
    uns_edges_free(&all);
    uns_tracker_free(&tracker);
    return bytes;
}

PyObject *uns_track(PyObject *module, PyObject *args) {
    Py_buffer events;
    unsigned context_size;
    int first_read, anti_edges = 0, own_reads = 0, racy_lookup = 1;
    const char *rule;
    if (!PyArg_ParseTuple(args, "y*Ips|ppp:track", &events, &context_size, &first_read, &rule,
                          &anti_edges, &own_reads, &racy_lookup))
        return NULL;
    const struct event *rows = events.buf;
    Py_ssize_t count = events.len / (Py_ssize_t)sizeof *rows;
    PyObject *result = NULL;
    int good = context_size <= UNS_CONTEXT_MAX;
    for (Py_ssize_t i = 0; good && i < count; i++)
        good = rows[i].thread + 1 < UNS_LIVE_IDS && rows[i].kind <= EVENT_INIT;
    if (good) {
        const struct uns_tracker_options options = {
            .context_size = context_size,
            .first_read = first_read,
            .racy_lookup = racy_lookup,
            .anti_edges = anti_edges,
            .own_reads = own_reads,
            .first_write = !strcmp(rule, "off")     ? UNS_FIRST_WRITE_OFF
                           : !strcmp(rule, "paper") ? UNS_FIRST_WRITE_PAPER
                                                    : UNS_FIRST_WRITE_SHARED};
        result = run(rows, count, &options);
    } else {
        PyErr_SetString(PyExc_ValueError, "a thread, an event kind or the context size is too big");
    }
    PyBuffer_Release(&events);
    return result;
}
