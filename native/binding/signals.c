/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals of the target. The interpreter runs handlers in the main thread, between two
 * instructions; it breaks a wait off for them. A thread that waits at the gate has to be called
 * back for the same reason, or a service that waits for its handler to set an event would be taken
 * for a deadlock.
 */
#include "binding/binding.h"
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#define SECOND 1e9

static PyCFunction signal_original, kill_original, pthread_kill_original, alarm_original,
    setitimer_original;
static void (*handler_of[NSIG])(int); /* the interpreter's own */
static uint32_t arrived;              /* atomic: how many have */

static int is_led(void) {
    return uns_rt.active && uns_rt.gated;
}

/* May interrupt any thread anywhere. */
static void arrive(int number) {
    struct uns_thread *main_thread = is_led() ? uns_thread_by_index(0) : NULL;
    if (main_thread)
        __atomic_store_n(&main_thread->signalled, 1, __ATOMIC_RELEASE);
    if (main_thread && number == SIGALRM)
        uns_alarm_rang();
    handler_of[number](number);
    __atomic_fetch_add(&arrived, 1, __ATOMIC_RELEASE);
}

static void hear(int number) {
    struct sigaction now;
    if (number <= 0 || number >= NSIG || sigaction(number, NULL, &now) < 0 ||
        now.sa_flags & SA_SIGINFO || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN ||
        now.sa_handler == arrive)
        return;
    handler_of[number] = now.sa_handler;
    now.sa_handler = arrive;
    sigaction(number, &now, NULL);
}

/* The main thread is out of the gate: its handlers may run. */
int uns_run_handlers(void) {
    if (uns_self)
        __atomic_store_n(&uns_self->signalled, 0, __ATOMIC_RELAXED);
    return PyErr_CheckSignals();
}

static PyObject *ask(PyCFunction function, PyObject *module, PyObject *const *args,
                     Py_ssize_t count) {
    return ((_PyCFunctionFast)(void (*)(void))function)(module, args, count);
}

static int number_at(PyObject *const *args, Py_ssize_t count, Py_ssize_t at) {
    long number = at < count && PyLong_Check(args[at]) ? PyLong_AsLong(args[at]) : -1;
    PyErr_Clear();
    return number > 0 && number < NSIG ? (int)number : -1;
}

static PyObject *signal_led(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    PyObject *result = ask(signal_original, module, args, count);
    if (result)
        hear(number_at(args, count, 0));
    return result;
}

/* When the kernel delivers it is its own affair, but as a rule at once: so that one seed gives one
 * run, whoever sends a signal to the process sees it arrive. */
#define PATIENCE_NS 50000000ll

static PyObject *send(PyCFunction original, PyObject *module, PyObject *const *args,
                      Py_ssize_t count) {
    int number = number_at(args, count, 1);
    if (!is_led() || number < 0 || !handler_of[number])
        return ask(original, module, args, count);
    uint32_t before = __atomic_load_n(&arrived, __ATOMIC_ACQUIRE);
    uns_gate_expect(0);
    PyObject *result = ask(original, module, args, count);
    int64_t until = uns_real_ns() + PATIENCE_NS;
    while (result && __atomic_load_n(&arrived, __ATOMIC_ACQUIRE) == before && uns_real_ns() < until)
        sched_yield();
    struct uns_thread *main_thread = uns_thread_by_index(0);
    if (main_thread && main_thread != uns_self &&
        __atomic_load_n(&main_thread->signalled, __ATOMIC_ACQUIRE))
        uns_gate_call_waiting(main_thread);
    return result;
}

static PyObject *kill_led(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    long pid = count && PyLong_Check(args[0]) ? PyLong_AsLong(args[0]) : 0;
    PyErr_Clear();
    return pid == getpid() ? send(kill_original, module, args, count)
                           : ask(kill_original, module, args, count);
}

static PyObject *pthread_kill_led(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    return send(pthread_kill_original, module, args, count);
}

static int64_t ns_of(PyObject *seconds) {
    double value = seconds ? PyFloat_AsDouble(seconds) : 0;
    PyErr_Clear(); /* the original would have complained */
    return value > 0 && value < SECOND ? (int64_t)(value * SECOND) : 0;
}

static PyObject *alarm_led(PyObject *module, PyObject *seconds) {
    PyObject *result = alarm_original(module, seconds);
    if (result && is_led())
        uns_alarm_set(ns_of(seconds), 0);
    return result;
}

static PyObject *setitimer_led(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    PyObject *result = ask(setitimer_original, module, args, count);
    int is_real = count > 1 && PyLong_Check(args[0]) && PyLong_AsLong(args[0]) == 0;
    if (result && is_real && is_led())
        uns_alarm_set(ns_of(args[1]), ns_of(count > 2 ? args[2] : NULL));
    return result;
}

#define FAST(function) (PyCFunction)(void (*)(void))(function)

PyObject *uns_lead_signals(PyObject *module, PyObject *unused) {
    PyObject *signals = PyImport_ImportModule("_signal"), *posix = PyImport_ImportModule("posix");
    int failed =
        !signals || !posix ||
        uns_lead(signals, "signal", FAST(signal_led), METH_FASTCALL, &signal_original) < 0 ||
        uns_lead(signals, "pthread_kill", FAST(pthread_kill_led), METH_FASTCALL,
                 &pthread_kill_original) < 0 ||
        uns_lead(signals, "alarm", alarm_led, METH_O, &alarm_original) < 0 ||
        uns_lead(signals, "setitimer", FAST(setitimer_led), METH_FASTCALL, &setitimer_original) <
            0 ||
        uns_lead(posix, "kill", FAST(kill_led), METH_FASTCALL, &kill_original) < 0;
    if (!failed)
        hear(SIGINT); /* the interpreter has set it at its start */
    Py_XDECREF(signals);
    Py_XDECREF(posix);
    return failed ? NULL : Py_NewRef(Py_None);
}
