/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits for files: sockets, and what selectors watch. A thread that would block in the kernel waits
 * at the gate instead, until it would not, and does its call then: so a socket between two threads
 * of the run is controlled like a lock, and who goes on does not depend on how fast the machine is
 * (docs/adr/0055). probe_c/io/blocking.c does the same for C programs.
 */
#define _GNU_SOURCE
#include "binding/binding.h"
#include <netinet/in.h>
#include <poll.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

struct files {
    struct pollfd *polled;
    nfds_t count;
    int timer; /* an event loop waits for them no longer than until its next timer */
};

enum outcome { FAILED = -1, RAN_OUT, OPEN, NOT_CONTROLLED };

/* One that another thread has closed meanwhile stays as it is: the kernel does not wake who is
 * already waiting for it. */
static int any_open(void *about) {
    struct files *files = about;
    poll(files->polled, files->count, 0);
    for (nfds_t i = 0; i < files->count; i++)
        if (files->polled[i].revents & ~POLLNVAL)
            return 1;
    return 0;
}

/* Alone, a thread may as well block: nobody is to be controlled, and the kernel wakes it sooner. */
static struct uns_thread *controlled(void) {
    struct uns_thread *t = uns_rt.active ? uns_current() : NULL;
    return t && uns_waits_gated(t) && uns_rt.thread_count > 1 ? t : NULL;
}

/* Which waits only a thread of this process can end. A wrong guess lets virtual time pass where
 * real time should, nothing more. */

static int is_local(const struct sockaddr_storage *address) {
    if (address->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    return address->ss_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static int has_name(int fd, const struct sockaddr_storage *name, socklen_t size) {
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    return getsockname(fd, (struct sockaddr *)&own, &length) == 0 && length == size &&
           memcmp(&own, name, size) == 0;
}

#define MOST_FILES 256
static int is_ours(const struct sockaddr_storage *peer, socklen_t size) {
    for (int fd = 0; fd < MOST_FILES; fd++)
        if (has_name(fd, peer, size))
            return 1;
    return 0;
}

/* A pair of sockets says who made it; where a socket listens, or takes what comes, nobody else is
 * expected at an address of this machine alone. */
static int is_own(int fd) {
    struct sockaddr_storage name, peer;
    struct ucred maker = {0};
    socklen_t size = sizeof name, peer_size = sizeof peer, maker_size = sizeof maker;
    memset(&name, 0, sizeof name);
    memset(&peer, 0, sizeof peer);
    if (getsockname(fd, (struct sockaddr *)&name, &size) < 0)
        return 0;
    if (getpeername(fd, (struct sockaddr *)&peer, &peer_size) < 0)
        return is_local(&name);
    if (name.ss_family == AF_UNIX)
        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &maker, &maker_size) == 0 &&
               maker.pid == getpid();
    return is_local(&peer) && is_ours(&peer, peer_size);
}

static int all_own(const struct files *files) {
    for (nfds_t i = 0; i < files->count; i++)
        if (!is_own(files->polled[i].fd))
            return 0;
    return !uns_has_children();
}

static enum uns_grant await_once(struct uns_thread *t, uint32_t site, struct files *files,
                                 int64_t timeout_ns) {
    if (files->timer)
        return uns_gate_await_timer(t, site, any_open, files, all_own(files), timeout_ns);
    return all_own(files) ? uns_gate_await_own(t, site, any_open, files, timeout_ns)
                          : uns_gate_await(t, site, any_open, files, timeout_ns);
}

/* What need not wait is no switch point: the call itself was one, if it is the target's. */
static enum outcome await(struct files *files, int64_t timeout_ns) {
    struct uns_thread *t = controlled();
    if (!t)
        return NOT_CONTROLLED;
    int64_t deadline = timeout_ns == UNS_FOREVER ? UNS_FOREVER : uns_clock_ns() + timeout_ns;
    int inside;
    uint32_t site = uns_python_site(&inside);
    while (!any_open(files)) {
        if (timeout_ns <= 0)
            return RAN_OUT;
        enum uns_grant outcome = await_once(t, site, files, timeout_ns);
        if (outcome == UNS_DEADLOCKED)
            uns_report_deadlock();
        if (outcome == UNS_INTERRUPTED && uns_run_handlers() < 0)
            return FAILED;
        if (deadline != UNS_FOREVER)
            timeout_ns = deadline - uns_clock_ns();
    }
    return OPEN;
}

/* None is for ever, as in select.select; -1 with an exception. */
static int64_t nanoseconds(PyObject *seconds) {
    double value = seconds == Py_None ? 0 : PyFloat_AsDouble(seconds);
    if (value == -1 && PyErr_Occurred())
        return -1;
    return seconds == Py_None || value > 4e9 ? UNS_FOREVER : value > 0 ? (int64_t)(value * 1e9) : 0;
}

static int take_file(PyObject *pair, struct pollfd *file) {
    return PyArg_ParseTuple(pair, "ih:await_files", &file->fd, &file->events) ? 0 : -1;
}

static PyObject *await_files(PyObject *module, PyObject *args) {
    PyObject *pairs, *timeout;
    int timer = 0;
    if (!PyArg_ParseTuple(args, "O!O|p:await_files", &PyList_Type, &pairs, &timeout, &timer))
        return NULL;
    int64_t timeout_ns = nanoseconds(timeout);
    nfds_t count = (nfds_t)PyList_GET_SIZE(pairs);
    struct files files = {PyMem_Calloc(count + 1, sizeof *files.polled), count, timer};
    enum outcome outcome = files.polled && timeout_ns != -1 ? OPEN : FAILED;
    for (nfds_t i = 0; i < count && outcome == OPEN; i++)
        if (take_file(PyList_GET_ITEM(pairs, (Py_ssize_t)i), &files.polled[i]) < 0)
            outcome = FAILED;
    outcome = outcome == OPEN ? await(&files, timeout_ns) : FAILED;
    PyMem_Free(files.polled);
    if (outcome == FAILED)
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    return outcome == NOT_CONTROLLED ? Py_NewRef(Py_None) : PyBool_FromLong(outcome == OPEN);
}

/* The methods of sockets: called when they would not block, or such that after them another one may
 * not. By name, what to wait for, and which argument has the flags. */
#define METHODS(X)                                                                                 \
    X(recv, POLLIN, 1)                                                                             \
    X(recv_into, POLLIN, 2)                                                                        \
    X(recvfrom, POLLIN, 1)                                                                         \
    X(recvfrom_into, POLLIN, 2)                                                                    \
    X(recvmsg, POLLIN, 2)                                                                          \
    X(recvmsg_into, POLLIN, 2)                                                                     \
    X(_accept, POLLIN, NO_FLAGS)                                                                   \
    X(send, 0, NO_FLAGS)                                                                           \
    X(sendall, 0, NO_FLAGS)                                                                        \
    X(sendto, 0, NO_FLAGS)                                                                         \
    X(sendmsg, 0, NO_FLAGS)                                                                        \
    X(connect, 0, NO_FLAGS)                                                                        \
    X(connect_ex, 0, NO_FLAGS)                                                                     \
    X(shutdown, 0, NO_FLAGS)                                                                       \
    X(_real_close, 0, NO_FLAGS)
#define NO_FLAGS -1

enum method {
#define INDEX(name, events, flags) METHOD_##name,
    METHODS(INDEX) METHOD_COUNT
};
static PyObject *real[METHOD_COUNT], *fileno_of, *timeout_of, *socket_type;

/* The file of a socket and how long its calls may wait; 0 with an exception. */
static int describe(PyObject *socket, struct pollfd *file, int64_t *timeout_ns) {
    PyObject *number = PyObject_CallOneArg(fileno_of, socket);
    PyObject *timeout = number ? PyObject_CallOneArg(timeout_of, socket) : NULL;
    if (timeout) {
        file->fd = (int)PyLong_AsLong(number);
        *timeout_ns = nanoseconds(timeout);
    }
    Py_XDECREF(number);
    Py_XDECREF(timeout);
    return timeout && !PyErr_Occurred();
}

static int has_other_file(PyObject *socket, int fd) {
    PyObject *number = PyObject_CallOneArg(fileno_of, socket);
    int is_other = number && PyLong_AsLong(number) != fd;
    Py_XDECREF(number);
    PyErr_Clear();
    return is_other;
}

/* Who blocks in the kernel keeps the file, whoever closes its number meanwhile: shutdown() and
 * close() in a row still wake it. So does who waits at the gate, by a number of its own that is far
 * from those that the target is given. */
#define KEPT_FROM 400
struct kept {
    int fd, original; /* -1: it did not have to wait */
};

static void give_up(struct kept *kept) {
    if (kept->fd >= 0)
        close(kept->fd);
    kept->fd = -1;
}

static int await_socket(PyObject *socket, short events, struct kept *kept) {
    struct pollfd file = {.events = events};
    struct files files = {&file, 1, 0};
    int64_t timeout_ns;
    if (!controlled())
        return 0;
    if (!describe(socket, &file, &timeout_ns))
        return -1;
    if (file.fd < 0 || !timeout_ns) /* closed, or not blocking: the call says what is wrong */
        return 0;
    kept->original = file.fd;
    if (!any_open(&files) && (kept->fd = fcntl(file.fd, F_DUPFD_CLOEXEC, KEPT_FROM)) >= 0)
        file.fd = kept->fd;
    enum outcome outcome = await(&files, timeout_ns);
    if (outcome == RAN_OUT)
        PyErr_SetString(PyExc_TimeoutError, "timed out");
    if (outcome != RAN_OUT && outcome != FAILED)
        return 0;
    give_up(kept);
    return -1;
}

/* Who says for one call that it must not wait is not made to. */
static int never_waits(PyObject *args, PyObject *kwargs, Py_ssize_t at) {
    PyObject *flags = kwargs ? PyDict_GetItemString(kwargs, "flags") : NULL;
    if (!flags && at >= 0 && at < PyTuple_GET_SIZE(args))
        flags = PyTuple_GET_ITEM(args, at);
    return flags && PyLong_Check(flags) && PyLong_AsLong(flags) & MSG_DONTWAIT;
}

static PyObject *with_first(PyObject *first, PyObject *args) {
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    PyObject *all = PyTuple_New(count + 1);
    if (!all)
        return NULL;
    PyTuple_SET_ITEM(all, 0, Py_NewRef(first));
    for (Py_ssize_t i = 0; i < count; i++)
        PyTuple_SET_ITEM(all, i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
    return all;
}

/* What was sent over TCP may be held back (Nagle's algorithm waits for an acknowledgement, which
 * the other side delays by up to 40 ms): meanwhile nobody can run, and yet nobody's time may run
 * out. Who does not read is not waited for. */
#define FLIGHT_NS 250000000ll
static uint64_t sent_on[MOST_FILES / 64];
static int64_t sent_at;

static int is_unacknowledged(int fd) {
    int domain = 0, left = 0;
    socklen_t size = sizeof domain;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain != AF_UNIX &&
           ioctl(fd, SIOCOUTQ, &left) == 0 && left > 0;
}

int uns_data_in_flight(void) {
    if (!UNS_LOAD(&sent_at) || uns_real_ns() - UNS_LOAD(&sent_at) > FLIGHT_NS)
        return 0;
    for (int fd = 0; fd < MOST_FILES; fd++)
        if (UNS_LOAD(&sent_on[fd / 64]) >> fd % 64 & 1 && is_unacknowledged(fd))
            return 1;
    return 0;
}

static void note_sent(PyObject *socket) {
    PyObject *number = PyObject_CallOneArg(fileno_of, socket);
    long fd = number ? PyLong_AsLong(number) : -1;
    if (fd >= 0 && fd < MOST_FILES)
        UNS_SET_BITS(&sent_on[fd / 64], 1ull << fd % 64);
    UNS_STORE(&sent_at, uns_real_ns());
    Py_XDECREF(number);
    PyErr_Clear();
}

static PyObject *call(enum method which, PyObject *socket, PyObject *args, PyObject *kwargs) {
    PyObject *all = with_first(socket, args);
    PyObject *result = all ? PyObject_Call(real[which], all, kwargs) : NULL;
    Py_XDECREF(all);
    if (result && uns_rt.active && which >= METHOD_send && which <= METHOD_sendmsg)
        note_sent(socket);
    UNS_BUMP(&uns_rt.stirred); /* what another thread waits for may have come */
    return result;
}

/* The call of a thread whose socket was closed while it waited, with the file that it kept. */
static PyObject *call_kept(enum method which, PyObject *args, PyObject *kwargs,
                           const struct kept *kept) {
    PyObject *none = PyTuple_New(0), *given = Py_BuildValue("{s:i}", "fileno", kept->fd);
    PyObject *own = none && given ? PyObject_Call(socket_type, none, given) : NULL;
    PyObject *result = own ? call(which, own, args, kwargs) : NULL;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Py_XDECREF(own ? PyObject_CallMethod(own, "detach", NULL) : NULL); /* it is closed by us */
    PyErr_Restore(type, value, traceback);
    Py_XDECREF(own);
    Py_XDECREF(none);
    Py_XDECREF(given);
    return result;
}

static PyObject *call_when_open(enum method which, short events, PyObject *socket, PyObject *args,
                                PyObject *kwargs) {
    struct kept kept = {-1, -1};
    if (events && await_socket(socket, events, &kept) < 0)
        return NULL;
    int is_closed = kept.fd >= 0 && has_other_file(socket, kept.original);
    PyObject *result =
        is_closed ? call_kept(which, args, kwargs, &kept) : call(which, socket, args, kwargs);
    give_up(&kept);
    return result;
}

#define FUNCTION(name, events, flags)                                                              \
    static PyObject *name##_when_open(PyObject *self, PyObject *args, PyObject *kwargs) {          \
        short awaited = never_waits(args, kwargs, flags) ? 0 : (events);                           \
        return call_when_open(METHOD_##name, awaited, self, args, kwargs);                         \
    }
METHODS(FUNCTION)

static PyMethodDef definitions[] = {
#define DEFINITION(name, events, flags)                                                            \
    {#name, (PyCFunction)(void (*)(void))name##_when_open, METH_VARARGS | METH_KEYWORDS, NULL},
    METHODS(DEFINITION)};

static int control_method(PyTypeObject *type, enum method which) {
    real[which] = PyObject_GetAttrString((PyObject *)type, definitions[which].ml_name);
    PyObject *method = real[which] ? PyDescr_NewMethod(type, &definitions[which]) : NULL;
    int outcome =
        method ? PyObject_SetAttrString((PyObject *)type, definitions[which].ml_name, method) : -1;
    Py_XDECREF(method);
    return outcome;
}

static PyObject *control_sockets(PyObject *module, PyObject *type) {
    if (!PyType_Check(type))
        return PyErr_Format(PyExc_TypeError, "not a class: %R", type);
    socket_type = Py_NewRef(type);
    fileno_of = PyObject_GetAttrString(type, "fileno");
    timeout_of = fileno_of ? PyObject_GetAttrString(type, "gettimeout") : NULL;
    for (int i = 0; timeout_of && i < METHOD_COUNT; i++)
        if (control_method((PyTypeObject *)type, (enum method)i) < 0)
            return NULL;
    return timeout_of ? Py_NewRef(Py_None) : NULL;
}

PyMethodDef uns_socket_methods[] = {
    {"await_files", await_files, METH_VARARGS,
     "await_files([(fd, events)], seconds or None, timer=False): wait at the gate until one is "
     "open "
     "for these events: whether one is; None: the calling thread is not controlled, and has not "
     "waited; timer: an event loop waits, whose time limit is a sleep of what it runs"},
    {"control_sockets", control_sockets, METH_O,
     "control_sockets(socket.socket): methods that would block wait at the gate"},
    {NULL, NULL, 0, NULL},
};
