/* SPDX-License-Identifier: Apache-2.0
 *
 * The tracker over a trace: the same code as online, for conformance and for recorded events. A
 * trace may be longer than memory, so it comes in parts.
 */
#include "binding/binding.h"
#include "runtime/array.h"
#include "tracker/shadow.h"
#include <sys/mman.h>

#define NO_CELL   64 /* `bits` of an address that are no part of a cell: the trace's own cells */
#define THREADS   (UNS_NO_THREAD + 1u)
#define FIRST_IDS (UNS_LIVE_IDS - 1)

typedef struct {
    PyObject_HEAD struct uns_tracker tracker;
    struct uns_shadow shadow;
    struct uns_tracked **threads; /* by index */
    unsigned bits;
    int shadowed;
} Tracker;

static __thread uint64_t event_time;

static uint64_t offline_now(void) {
    return event_time;
}

/* A thread whose beginning the trace does not have gets the next id, as it would have online. */
static struct uns_tracked *thread_of(Tracker *self, uint32_t index, uint32_t id) {
    if (index == UNS_NO_THREAD)
        return NULL;
    if (!self->threads[index]) {
        struct uns_tracked *t = uns_pages(sizeof *t);
        if (!t)
            return NULL;
        uns_tracked_init(&self->tracker, t, id ? id : index % FIRST_IDS + 1, index);
        self->threads[index] = t;
    }
    return self->threads[index];
}

/* A line of a cache is never made anew, and has no first write. */
static enum uns_event_kind kind_of(const Tracker *self, const struct uns_event_record *e) {
    if (self->bits == NO_CELL || e->kind != UNS_EVENT_NEW)
        return (enum uns_event_kind)e->kind;
    return UNS_EVENT_WRITE;
}

static void feed(Tracker *self, struct uns_tracked *t, const struct uns_event_record *e) {
    struct uns_tracker *tracker = &self->tracker;
    uint64_t line = e->address >> (self->bits % NO_CELL);
    uint64_t key = self->bits == NO_CELL ? e->cell : uns_cell_key(uns_mix(line), line);
    switch (kind_of(self, e)) {
    case UNS_EVENT_READ:
        uns_read(tracker, t, e->point, key);
        break;
    case UNS_EVENT_NEW:
        uns_write_new(tracker, t, e->point, key);
        break;
    case UNS_EVENT_WRITE:
        uns_write(tracker, t, e->point, key);
        break;
    case UNS_EVENT_FORCED:
        uns_write_forced(tracker, t, e->point, key);
        break;
    case UNS_EVENT_FORGET:
        if (self->bits == NO_CELL)
            uns_forget(tracker, t, key);
        break;
    case UNS_EVENT_WAIT:
        uns_wait_forever(tracker, t, e->point, key);
        break;
    case UNS_EVENT_THREAD:
        break;
    }
}

/* The same, with the cells in shadow memory: what probe_c does in free runs. */
static void feed_shadow(Tracker *self, struct uns_tracked *t, const struct uns_event_record *e) {
    struct uns_tracker *tracker = &self->tracker;
    struct uns_shadow *shadow = &self->shadow;
    uintptr_t at = e->address;
    uns_view_shadow(tracker, shadow, t);
    switch (e->kind) {
    case UNS_EVENT_READ:
        if (!uns_sees_read(at) && !(uns_view.mask && uns_repeats_read(at, e->point)))
            uns_shadow_read(tracker, shadow, t, e->point, at);
        break;
    case UNS_EVENT_WRITE:
        if (!uns_sees_write(at) && !(uns_view.mask && uns_repeats_write(at, e->point)))
            uns_shadow_write(tracker, shadow, t, e->point, at);
        break;
    case UNS_EVENT_NEW:
        uns_shadow_forget(shadow, at, UNS_SHADOW_WORD);
        uns_shadow_forced(tracker, shadow, t, e->point, at);
        break;
    case UNS_EVENT_FORCED:
        uns_shadow_forced(tracker, shadow, t, e->point, at);
        break;
    case UNS_EVENT_FORGET:
        uns_shadow_forget(shadow, at, UNS_SHADOW_WORD);
        break;
    }
}

int uns_is_event(const struct uns_event_record *e) {
    int nobody = e->thread == UNS_NO_THREAD;
    return e->kind >= UNS_EVENT_READ && e->kind <= UNS_EVENT_THREAD &&
           (!nobody || e->kind == UNS_EVENT_FORGET) && e->cell &&
           (e->kind != UNS_EVENT_THREAD || e->cell < UNS_LIVE_IDS);
}

int uns_are_events(const Py_buffer *rows) {
    const struct uns_event_record *events = rows->buf;
    int good = rows->len % (Py_ssize_t)sizeof *events == 0;
    for (Py_ssize_t i = 0; good && i < rows->len / (Py_ssize_t)sizeof *events; i++)
        good = uns_is_event(&events[i]);
    if (!good)
        PyErr_SetString(PyExc_ValueError, "these are no events of a trace");
    return good;
}

static PyObject *tracker_feed(PyObject *object, PyObject *given) {
    Tracker *self = (Tracker *)object;
    Py_buffer rows;
    if (PyObject_GetBuffer(given, &rows, PyBUF_SIMPLE) < 0)
        return NULL;
    const struct uns_event_record *events = rows.buf;
    int good = uns_are_events(&rows);
    for (Py_ssize_t i = 0; good && i < rows.len / (Py_ssize_t)sizeof *events; i++) {
        const struct uns_event_record *e = &events[i];
        event_time = e->time;
        uint32_t id = e->kind == UNS_EVENT_THREAD ? (uint32_t)e->cell : 0;
        struct uns_tracked *t = thread_of(self, e->thread, id);
        if (self->shadowed)
            feed_shadow(self, t, e);
        else
            feed(self, t, e);
    }
    uns_view_nothing();
    PyBuffer_Release(&rows);
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}

static void append_rows(const Tracker *self, const struct uns_table *all, struct uns_array *rows) {
    for (uint32_t i = 0; i < all->used; i++) {
        if (uns_array_append(rows, all->rows + (size_t)i * all->row_size, all->row_size) < 0)
            continue;
        struct uns_edge_record *copy = /* patterns begin alike */
            (struct uns_edge_record *)((char *)rows->data + rows->used - all->row_size);
        copy->cell = self->shadowed ? copy->cell * UNS_SHADOW_WORD : copy->cell;
    }
}

enum { EDGES, PATTERNS, GAPS, TABLES };

/* The newest thread first, as the recorder has them. */
static PyObject *tracker_result(PyObject *object, PyObject *unused) {
    Tracker *self = (Tracker *)object;
    struct uns_table all[TABLES] = {0};
    struct uns_array edges = {0}, patterns = {0};
    for (uint32_t i = 0; i < THREADS; i++)
        if (self->threads[i]) {
            uns_windows_end(&self->tracker, self->threads[i]);
            break;
        }
    for (uint32_t i = THREADS; i-- > 0;) {
        const struct uns_tracked *t = self->threads[i];
        const struct uns_table *own[TABLES] = {t ? &t->edges : NULL, t ? &t->patterns : NULL,
                                               t ? &t->gaps : NULL};
        for (int kind = 0; t && kind < TABLES; kind++)
            uns_table_merge(&all[kind], own[kind]);
    }
    append_rows(self, &all[EDGES], &edges);
    append_rows(self, &all[PATTERNS], &patterns);
    append_rows(self, &all[GAPS], &patterns);
    PyObject *both = Py_BuildValue("y#y#", edges.data ? edges.data : "", (Py_ssize_t)edges.used,
                                   patterns.data ? patterns.data : "", (Py_ssize_t)patterns.used);
    for (int kind = 0; kind < TABLES; kind++)
        uns_table_free(&all[kind]);
    uns_array_free(&edges);
    uns_array_free(&patterns);
    return both;
}

static void tracker_dealloc(PyObject *object) {
    Tracker *self = (Tracker *)object;
    for (uint32_t i = 0; self->threads && i < THREADS; i++)
        if (self->threads[i]) {
            uns_table_free(&self->threads[i]->edges);
            uns_table_free(&self->threads[i]->patterns);
            uns_table_free(&self->threads[i]->gaps);
            uns_table_free(&self->threads[i]->pairs);
            munmap(self->threads[i], sizeof *self->threads[i]);
        }
    PyMem_Free(self->threads);
    uns_tracker_free(&self->tracker);
    uns_shadow_free(&self->shadow);
    Py_TYPE(object)->tp_free(object);
}

static enum uns_first_write rule_of(const char *rule) {
    return !strcmp(rule, "off")     ? UNS_FIRST_WRITE_OFF
           : !strcmp(rule, "paper") ? UNS_FIRST_WRITE_PAPER
                                    : UNS_FIRST_WRITE_SHARED;
}

static PyObject *tracker_new(PyTypeObject *type, PyObject *args, PyObject *named) {
    static char *names[] = {"context_size", "first_read",  "first_write", "anti_edges", "own_reads",
                            "racy_lookup",  "window_size", "shadow",      "bits",       NULL};
    unsigned context_size = UNS_CONTEXT_MAX, window_size = 0, bits = NO_CELL;
    int first_read = 1, anti_edges = 0, own_reads = 0, racy_lookup = 1, shadowed = 0;
    const char *rule = "shared";
    if (!PyArg_ParseTupleAndKeywords(args, named, "|IpspppIpI:Tracker", names, &context_size,
                                     &first_read, &rule, &anti_edges, &own_reads, &racy_lookup,
                                     &window_size, &shadowed, &bits))
        return NULL;
    if (context_size > UNS_CONTEXT_MAX || window_size > UNS_WINDOW_MAX || window_size == 1 ||
        bits > NO_CELL) {
        PyErr_SetString(PyExc_ValueError, "a size is out of range");
        return NULL;
    }
    const struct uns_tracker_options options = {.context_size = context_size,
                                                .first_read = first_read,
                                                .racy_lookup = racy_lookup,
                                                .anti_edges = anti_edges,
                                                .own_reads = own_reads,
                                                .window_size = window_size,
                                                .first_write = rule_of(rule)};
    Tracker *self = (Tracker *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->bits = bits;
    self->shadowed = shadowed;
    self->threads = PyMem_Calloc(THREADS, sizeof *self->threads);
    if (!self->threads || uns_tracker_init(&self->tracker, &options, offline_now) < 0 ||
        (shadowed && uns_shadow_init(&self->shadow) < 0)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static PyMethodDef tracker_methods[] = {
    {"feed", tracker_feed, METH_O, "feed(events): the next ones of the trace"},
    {"result", tracker_result, METH_NOARGS, "result() -> (edges, patterns), once, at the end"},
    {NULL, NULL, 0, NULL},
};

PyTypeObject TrackerType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "unsnarl._core.Tracker",
    .tp_basicsize = sizeof(Tracker),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "The tracker, over a trace.",
    .tp_new = tracker_new,
    .tp_dealloc = tracker_dealloc,
    .tp_methods = tracker_methods,
};
