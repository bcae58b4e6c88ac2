/* A Python extension with threads of C11, a pipe between them, and a sum that may get lost. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

static mtx_t guard;
static cnd_t changed;
static int ready, ends[2];
static char last[16];
static long total;

static int work(void *name) {
    mtx_lock(&guard);
    while (!ready)
        cnd_wait(&changed, &guard);
    mtx_unlock(&guard);
    char token;
    if (read(ends[0], &token, 1) != 1)
        return 1;
    memcpy(last, name, 8);
    long seen = total;
    total = seen + 1; /* add */
    return 0;
}

static void relay(void) {
    thrd_t team[2];
    for (int i = 0; i < 2; i++)
        thrd_create(&team[i], work, i ? "seconds" : "firsts ");
    mtx_lock(&guard);
    ready = 1;
    cnd_broadcast(&changed);
    mtx_unlock(&guard);
    for (int i = 0; i < 2; i++)
        while (write(ends[1], "x", 1) != 1)
            ;
    for (int i = 0; i < 2; i++)
        thrd_join(team[i], NULL);
}

static PyObject *run(PyObject *self, PyObject *unused) {
    mtx_init(&guard, mtx_plain);
    cnd_init(&changed);
    if (pipe(ends) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    Py_BEGIN_ALLOW_THREADS relay();
    Py_END_ALLOW_THREADS return PyLong_FromLong(total);
}

static PyMethodDef methods[] = {{"run", run, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "relay", "", -1, methods};
PyMODINIT_FUNC PyInit_relay(void) {
    return PyModule_Create(&module);
}
