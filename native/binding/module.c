/* SPDX-License-Identifier: Apache-2.0 */
#include "binding/binding.h"
#include "binding/splice.h"

static PyMethodDef methods[] = {
    {"register_code", uns_register_code, METH_VARARGS, "register_code(code, base, origin)"},
    {"splice", uns_splice, METH_VARARGS, uns_splice_doc},
    {"wrap_exec", uns_wrap_exec, METH_VARARGS, uns_wrap_exec_doc},
    {"set_capture_hook", uns_set_capture_hook, METH_O, "hook called at every gated access"},
    {"set_break_hook", uns_set_break_hook, METH_O, "hook called before every gated operation"},
    {"set_branch_hook", uns_set_branch_hook, METH_O, "hook called before every branch"},
    {"set_caught_hook", uns_set_caught_hook, METH_O, "hook called for every new kind of exception"},
    {"raised_time", uns_raised_time, METH_O,
     "when the calling thread entered the first handler of an exception, 0 if it entered none"},
    {"variables", uns_variables, METH_NOARGS, "variables() -> {site id: name}"},
    {"unseen", uns_unseen, METH_NOARGS, "unseen() -> [what no probe could see]"},
    {"set_own_modules", uns_set_own_modules, METH_O, "set_own_modules(names of the target's)"},
    {"set_assigned_names", uns_set_assigned_names, METH_O,
     "set_assigned_names(attributes that the target assigns)"},
    {"set_reading_hook", uns_set_reading_hook, METH_O,
     "hook(function, class) -> does a library's method only read?"},
    {"watch_databases", uns_watch_databases, METH_NOARGS, "from now on, who opens what"},
    {"watch_files", uns_watch_files, METH_NOARGS, "from now on, who does what to files"},
    {"lead_clock_readers", uns_lead_clock_readers, METH_NOARGS,
     "from now on, what reads a clock in C sees the time that waiting was spared"},
    {"lead_signals", uns_lead_signals, METH_NOARGS,
     "from now on, who waits at the gate comes back for signals"},
    {"find_shared_memory", uns_find_shared_memory, METH_NOARGS,
     "notes memory that this process will share with those it forks; how many regions"},
    {"unshare_memory", uns_unshare_memory, METH_NOARGS,
     "a copy of its own for this process of the memory that its parent has noted"},
    {"solve_order", uns_solve_order, METH_VARARGS, "solve_order(columns..., seconds)"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "unsnarl._core",
                                        "The native core, for Python.",
                                        -1,
                                        methods,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

PyMODINIT_FUNC PyInit__core(void) {
    PyObject *module = PyModule_Create(&definition);
    if (!module || PyType_Ready(&SiteType) < 0 || PyType_Ready(&WatchedType) < 0 ||
        PyType_Ready(&TrackerType) < 0 || PyType_Ready(&HardwareType) < 0 || uns_types_init() < 0 ||
        PyModule_AddFunctions(module, uns_control_methods) < 0 ||
        PyModule_AddFunctions(module, uns_thread_methods) < 0 ||
        PyModule_AddFunctions(module, uns_clock_methods) < 0 ||
        PyModule_AddFunctions(module, uns_socket_methods) < 0 ||
        PyModule_AddFunctions(module, uns_file_lock_methods) < 0 ||
        PyModule_AddFunctions(module, uns_burst_methods) < 0 ||
        PyModule_AddObjectRef(module, "Site", (PyObject *)&SiteType) < 0 ||
        PyModule_AddObjectRef(module, "Watched", (PyObject *)&WatchedType) < 0 ||
        PyModule_AddObjectRef(module, "Tracker", (PyObject *)&TrackerType) < 0 ||
        PyModule_AddObjectRef(module, "Hardware", (PyObject *)&HardwareType) < 0 ||
        uns_locks_init(module) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
    uns_use_gil_hooks(); /* threads may start before a run begins: at import, at collection */
#ifdef Py_GIL_DISABLED
    PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
    return module;
}
