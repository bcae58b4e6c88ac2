/* SPDX-License-Identifier: Apache-2.0
 *
 * The solver of order problems, for Python: columns in, an order out.
 */
#include "binding/binding.h"
#include "solver/solver.h"

enum column {
    FIRST,
    ACCESS,
    CELL,
    VALUE,
    BEGUN,
    INITIAL,
    SECTION_FIRST,
    ACQUIRE,
    RELEASE,
    SOURCE,
    SINK,
    GUESS,
    COLUMNS
};
static const Py_ssize_t item_sizes[COLUMNS] = {4, 1, 4, 8, 1, 8, 4, 4, 4, 4, 4, 8};

static int all_within(const int32_t *at, Py_ssize_t count, int32_t least, int32_t end) {
    for (Py_ssize_t i = 0; i < count; i++)
        if (at[i] < least || at[i] >= end)
            return 0;
    return 1;
}

static int ascends(const int32_t *at, Py_ssize_t count, int32_t end) {
    for (Py_ssize_t i = 1; i < count; i++)
        if (at[i] < at[i - 1])
            return 0;
    return count > 0 && at[0] == 0 && at[count - 1] == end;
}

/* A number that is out of range must not become a read out of bounds. */
static int is_sound(const struct uns_order_problem *p, const Py_ssize_t *counts) {
    int32_t events = p->events;
    if (counts[CELL] != events || counts[VALUE] != events || counts[GUESS] != events ||
        counts[INITIAL] != p->cells || counts[RELEASE] != p->sections || counts[SINK] != p->edges)
        return 0;
    for (int32_t i = 0; i < events; i++)
        if (p->access[i] > UNS_WRITES ||
            (p->access[i] && (p->cell[i] < 0 || p->cell[i] >= p->cells)))
            return 0;
    return ascends(p->first, counts[FIRST], events) &&
           ascends(p->section_first, counts[SECTION_FIRST], p->sections) &&
           all_within(p->acquire, p->sections, 0, events) &&
           all_within(p->release, p->sections, -1, events) &&
           all_within(p->source, p->edges, 0, events) && all_within(p->sink, p->edges, 0, events);
}

static int fill(struct uns_order_problem *p, const Py_buffer *columns, Py_ssize_t *counts) {
    for (int i = 0; i < COLUMNS; i++) {
        counts[i] = columns[i].len / item_sizes[i];
        if (counts[i] > INT32_MAX / 2)
            return 0;
    }
    if (!counts[FIRST] || !counts[SECTION_FIRST])
        return 0;
    *p = (struct uns_order_problem){
        .threads = (int32_t)counts[FIRST] - 1,
        .events = (int32_t)counts[ACCESS],
        .cells = (int32_t)counts[BEGUN],
        .locks = (int32_t)counts[SECTION_FIRST] - 1,
        .sections = (int32_t)counts[ACQUIRE],
        .edges = (int32_t)counts[SOURCE],
        .first = columns[FIRST].buf,
        .access = columns[ACCESS].buf,
        .cell = columns[CELL].buf,
        .value = columns[VALUE].buf,
        .begun = columns[BEGUN].buf,
        .initial = columns[INITIAL].buf,
        .section_first = columns[SECTION_FIRST].buf,
        .acquire = columns[ACQUIRE].buf,
        .release = columns[RELEASE].buf,
        .source = columns[SOURCE].buf,
        .sink = columns[SINK].buf,
        .guess = columns[GUESS].buf,
    };
    return is_sound(p, counts);
}

/* Ctrl-C must not wait for the solver's deadline: Python's handlers run here, and may raise. */
static int is_interrupted(void *state) {
    PyEval_RestoreThread(*(PyThreadState **)state);
    int raised = PyErr_CheckSignals() < 0;
    *(PyThreadState **)state = PyEval_SaveThread();
    return raised;
}

static PyObject *solve(struct uns_order_problem *p) {
    struct uns_order_answer a;
    PyObject *order = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)p->events * 4);
    if (!order)
        return NULL;
    int32_t *at = (int32_t *)PyBytes_AS_STRING(order);
    PyThreadState *state = PyEval_SaveThread();
    p->stop = is_interrupted;
    p->asker = &state;
    uns_order_solve(p, at, &a);
    PyEval_RestoreThread(state);
    if (a.status == UNS_NO_MEMORY || a.status == UNS_STOPPED) {
        Py_DECREF(order);
        return a.status == UNS_STOPPED ? NULL : PyErr_NoMemory();
    }
    return Py_BuildValue("iiiN(LLLL)", a.status, a.phase, a.event, order, (long long)a.variables,
                         (long long)a.clauses, (long long)a.conflicts, (long long)a.rounds);
}

PyObject *uns_solve_order(PyObject *module, PyObject *args) {
    Py_buffer b[COLUMNS];
    double seconds;
    long long steps;
    unsigned long long bytes;
    int lag;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*y*y*y*y*y*dLiK:solve_order", &b[0], &b[1], &b[2],
                          &b[3], &b[4], &b[5], &b[6], &b[7], &b[8], &b[9], &b[10], &b[11], &seconds,
                          &steps, &lag, &bytes))
        return NULL;
    struct uns_order_problem problem;
    Py_ssize_t counts[COLUMNS];
    PyObject *result = NULL;
    if (fill(&problem, b, counts)) {
        problem.seconds = seconds;
        problem.steps = steps;
        problem.lag = lag < 1 ? 1 : lag < INT32_MAX / 4 ? lag : INT32_MAX / 4;
        problem.bytes = bytes;
        result = solve(&problem);
    } else {
        PyErr_SetString(PyExc_ValueError, "the columns of the order problem do not fit together");
    }
    for (int i = 0; i < COLUMNS; i++)
        PyBuffer_Release(&b[i]);
    return result;
}
