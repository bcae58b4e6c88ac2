/* SPDX-License-Identifier: Apache-2.0
 *
 * From the plan in the protocol's `run` message to struct uns_plan. What is parsed here stays
 * allocated for the run: the process ends with it.
 */
#define _GNU_SOURCE
#include "binding/binding.h"
#include "binding/plan.h"
#include <sched.h>

/* Threads can be switched anywhere, whatever a plan of another build says. */
#ifdef Py_GIL_DISABLED
#define HAS_NO_LOCK 1
#else
#define HAS_NO_LOCK 0
#endif

const char *const uns_key_texts[UNS_KEYS] = {
#define UNS_PLAN_KEY(name, text)  [PLAN_##name] = text,
#define UNS_RULE_KEY(name, text)  [RULE_##name] = text,
#define UNS_MATCH_KEY(name, text) [MATCH_##name] = text,
#include "binding/plan_keys.def"
};

PyObject *uns_get(PyObject *dict, enum uns_key key) {
    PyObject *value = PyDict_GetItemString(dict, uns_key_texts[key]);
    return value == Py_None ? NULL : value;
}

/* -1: it is there, and something else, which would be read as what it is not. */
static int is_as(PyObject *dict, enum uns_key key, PyTypeObject *type) {
    PyObject *value = uns_get(dict, key);
    if (!value || PyObject_TypeCheck(value, type))
        return 0;
    PyErr_Format(PyExc_ValueError, "\"%s\" of a plan must be a %s, not %R", uns_key_texts[key],
                 type->tp_name, value);
    return -1;
}

static int check_types(PyObject *run) {
    static const enum uns_key lists[] = {PLAN_SITES, PLAN_INTEREST, PLAN_SCHEDULE, PLAN_ANCHORS,
                                         PLAN_CAPTURE};
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
        if (is_as(run, lists[i], &PyList_Type) < 0)
            return -1;
    return is_as(run, PLAN_COUNTS, &PyDict_Type) < 0 ? -1 : is_as(run, PLAN_DEBUG, &PyDict_Type);
}

static double number(PyObject *plan, enum uns_key key, double otherwise) {
    PyObject *value = uns_get(plan, key);
    return value ? PyFloat_AsDouble(value) : otherwise;
}

static const char *text(PyObject *plan, enum uns_key key, const char *otherwise) {
    PyObject *value = uns_get(plan, key);
    return value ? PyUnicode_AsUTF8(value) : otherwise;
}

static const uint8_t *site_map(PyObject *plan, enum uns_key key, uint32_t limit, uint32_t beyond) {
    PyObject *list = uns_get(plan, key);
    uint8_t *map = list && PyList_Check(list) ? uns_pages(limit + 1) : NULL;
    if (!map)
        return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        unsigned long site = PyLong_AsUnsignedLong(PyList_GET_ITEM(list, i));
        if (site < limit)
            map[site] = 1;
    }
    /* Code loaded after the profile was taken is not in it: it may switch. */
    for (uint32_t site = beyond; site < limit; site++)
        map[site] = 1;
    return map;
}

static void copy_path(char *to, PyObject *path) {
    const char *from = PyUnicode_AsUTF8(path);
    snprintf(to, UNS_PATH_BYTES, "%s", from ? from : "");
}

static int parse_counts(PyObject *dict, struct uns_plan *plan) {
    if (!dict)
        return 0;
    struct uns_path_count *counts = uns_pages((size_t)(PyDict_Size(dict) + 1) * sizeof *counts);
    PyObject *path, *count;
    Py_ssize_t at = 0;
    while (counts && PyDict_Next(dict, &at, &path, &count)) {
        copy_path(counts[plan->counts_length].path, path);
        counts[plan->counts_length++].count = PyLong_AsUnsignedLongLong(count);
    }
    plan->counts = counts;
    return counts ? 0 : -1;
}

typedef int segment_parser(PyObject *row, struct uns_path_segment *segment);

/* [path, until, point, occurrence]: model/schedule.py. Counts alone lead a replay in the process
 * that made the schedule; the occurrence is for anchors. */
static int parse_counted(PyObject *row, struct uns_path_segment *segment) {
    PyObject *path;
    unsigned long long until, occurrence;
    unsigned point;
    if (!PyArg_ParseTuple(row, "UKI|K", &path, &until, &point, &occurrence))
        return -1;
    copy_path(segment->path, path);
    segment->until = until;
    segment->point = point;
    return 0;
}

static int parse_points(PyObject *list, const uint32_t **found, uint32_t *length) {
    if (!list)
        return 0;
    *length = (uint32_t)PyList_GET_SIZE(list);
    uint32_t *points = PyMem_RawCalloc(*length + 1, sizeof *points);
    if (!points)
        return PyErr_NoMemory(), -1;
    for (uint32_t i = 0; i < *length; i++)
        points[i] = (uint32_t)PyLong_AsUnsignedLong(PyList_GET_ITEM(list, i));
    *found = points;
    return PyErr_Occurred() ? -1 : 0;
}

/* [path, [raw points], occurrence]: see struct uns_path_segment. */
static int parse_anchored(PyObject *row, struct uns_path_segment *segment) {
    PyObject *path, *list;
    if (!PyArg_ParseTuple(row, "UO!I", &path, &PyList_Type, &list, &segment->occurrence))
        return -1;
    copy_path(segment->path, path);
    segment->anchored = 1;
    return parse_points(list, &segment->points, &segment->length);
}

/* {"path": "0.1", "points": [raw points], "occurrence": 2, ...}: replay/debugging.py. */
static int parse_stop(PyObject *debug, struct uns_plan *plan) {
    PyObject *path = debug ? uns_get(debug, MATCH_PATH) : NULL;
    plan->debugged = debug != NULL;
    if (!path)
        return 0;
    copy_path(plan->stop.path, path);
    plan->stop.occurrence = (uint32_t)number(debug, MATCH_OCCURRENCE, 1);
    if (is_as(debug, MATCH_POINTS, &PyList_Type) < 0)
        return -1;
    return parse_points(uns_get(debug, MATCH_POINTS), &plan->stop.points, &plan->stop.length);
}

static int parse_segments(PyObject *list, segment_parser *parse, struct uns_plan *plan) {
    if (!list)
        return 0;
    Py_ssize_t length = PyList_Size(list);
    struct uns_path_segment *segments = uns_pages((size_t)(length + 1) * sizeof *segments);
    if (!segments)
        return -1;
    for (Py_ssize_t i = 0; i < length; i++) {
        PyObject *row = PySequence_Tuple(PyList_GET_ITEM(list, i));
        int good = row && parse(row, &segments[i]) == 0;
        Py_XDECREF(row);
        if (!good)
            return -1;
    }
    plan->segments = segments;
    plan->segments_length = (uint32_t)length;
    return 0;
}

/* Gated threads share one core: a hand-over costs 2 us there and 100 us across. */
static int core_for(long run_number) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return -1;
    int count = CPU_COUNT(&allowed), wanted = count ? (int)(run_number % count) : 0;
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &allowed) && wanted-- == 0)
            return core;
    return -1;
}

static enum uns_plan_kind kind_of(const char *strategy) {
    if (!strcmp(strategy, "free"))
        return UNS_PLAN_FREE;
    if (!strcmp(strategy, "noise"))
        return UNS_PLAN_NOISE;
    if (!strcmp(strategy, "record"))
        return UNS_PLAN_RECORD;
    return strcmp(strategy, "replay") ? UNS_PLAN_CONTROLLED : UNS_PLAN_REPLAY;
}

static enum uns_first_write first_write_of(const char *rule) {
    if (!strcmp(rule, "off"))
        return UNS_FIRST_WRITE_OFF;
    return strcmp(rule, "paper") ? UNS_FIRST_WRITE_SHARED : UNS_FIRST_WRITE_PAPER;
}

/* What is recorded; in a gated run, what else stops at the gate. */
static int parse_sketch(PyObject *run, struct uns_sketch *sketch) {
    static const char *const levels[] = {
#define UNS_LEVEL(name, text) [UNS_LEVEL_##name] = text,
#include "binding/plan_keys.def"
    };
    const char *level = text(run, PLAN_LEVEL, "none"), *order = text(run, PLAN_ORDER, "clocks");
    if (!level || !order)
        return -1;
    for (int i = UNS_LEVEL_NONE; i <= UNS_LEVEL_ACCESS; i++)
        if (!strcmp(level, levels[i]))
            sketch->level = (enum uns_level)i;
    sketch->global = !strcmp(order, "global");
    sketch->fenced = number(run, PLAN_FENCED, 0) != 0;
    sketch->values = number(run, PLAN_VALUES, 0) != 0;
    sketch->branches = number(run, PLAN_BRANCHES, 0) != 0;
    sketch->noise = number(run, PLAN_NOISE, 0) != 0;
    return 0;
}

int uns_parse_plan(PyObject *run, struct uns_plan *plan) {
    if (check_types(run) < 0)
        return -1;
    const char *strategy = text(run, PLAN_STRATEGY, "free"), *mode = text(run, PLAN_SWITCH, "gil"),
               *rule = text(run, PLAN_FIRST_WRITE, "shared"),
               *granularity = text(run, PLAN_GRANULARITY, "cell"), *file = text(run, PLAN_FILE, "");
    if (!strategy || !mode || !rule || !granularity || !file)
        return -1;
    *plan = (struct uns_plan){
        .kind = kind_of(strategy),
        .strategy = strcmp(strategy, "noise") ? strategy : "walk",
        /* The program may draw, too, and is to do so as it did. */
        .seed = (uint64_t)number(run, PLAN_DRAW, number(run, PLAN_SEED, 0)),
        .any_access = HAS_NO_LOCK || !strcmp(mode, "free"),
        .depth = (uint32_t)number(run, PLAN_DEPTH, 3),
        .length = (uint64_t)number(run, PLAN_LENGTH, 0),
        .time_limit = number(run, PLAN_TIMEOUT, 0),
        .core = core_for((long)number(run, PLAN_NUMBER, 0)),
        .trace = number(run, PLAN_TRACE, 0) != 0,
        .accesses = number(run, PLAN_ACCESSES, 0) != 0,
        .heap_errors = number(run, PLAN_HEAP_ERRORS, 0) != 0,
        .by_object = !strcmp(granularity, "object"),
        .tracker = {.context_size = (unsigned)number(run, PLAN_CONTEXT_SIZE, 5),
                    .first_read = number(run, PLAN_FIRST_READ, 1) != 0,
                    .racy_lookup = number(run, PLAN_RACY_LOOKUP, 1) != 0,
                    .anti_edges = number(run, PLAN_ANTI_EDGES, 1) != 0,
                    /* Free runs leave them out: they would cost the fast path. */
                    .own_reads = (kind_of(strategy) >= UNS_PLAN_CONTROLLED ||
                                  number(run, PLAN_ALL_READS, 0) != 0) &&
                                 number(run, PLAN_OWN_READS, 1) != 0,
                    .window_size = (unsigned)number(run, PLAN_WINDOW_SIZE, UNS_WINDOW_DEFAULT),
                    .first_write = first_write_of(rule)},
        .site_limit = (uint32_t)number(run, PLAN_SITE_LIMIT, uns_site_watermark() + UNS_LATE_SITES),
        .follows = text(run, PLAN_SKETCH, NULL),
        .file = *file ? file : NULL,
    };
    if (plan->tracker.context_size > UNS_CONTEXT_MAX ||
        plan->tracker.window_size > UNS_WINDOW_MAX || plan->tracker.window_size == 1) {
        PyErr_SetString(PyExc_ValueError,
                        "context_size must be at most 5, window_size 0 or from 2 to 64");
        return -1;
    }
    uint32_t profiled = uns_get(run, PLAN_SITE_LIMIT) ? plan->site_limit : uns_site_watermark();
    plan->switch_sites = site_map(run, PLAN_SITES, plan->site_limit, profiled);
    plan->interest_sites = site_map(run, PLAN_INTEREST, plan->site_limit, plan->site_limit);
    if (parse_counts(uns_get(run, PLAN_COUNTS), plan) < 0 ||
        parse_segments(uns_get(run, PLAN_SCHEDULE), parse_counted, plan) < 0 ||
        parse_segments(uns_get(run, PLAN_ANCHORS), parse_anchored, plan) < 0 ||
        parse_points(uns_get(run, PLAN_CAPTURE), &plan->capture, &plan->capture_length) < 0 ||
        parse_stop(uns_get(run, PLAN_DEBUG), plan) < 0 || parse_sketch(run, &plan->sketch) < 0 ||
        uns_parse_rules(uns_get(run, PLAN_RULES), plan) < 0)
        return -1;
    return PyErr_Occurred() ? -1 : 0;
}
