/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects of C types: nothing inside them is visible, so all of an object is one cell. A cursor
 * also touches what is in its database.
 */
#include "binding/binding.h"

#define OBJECT_SALT 0x0B7EC7C0FFEE0001ull

uint64_t uns_object_cell(const PyObject *object) {
    uint64_t salt = OBJECT_SALT ^ (uint64_t)UNS_LOAD(uns_generation_of(object)) << 40;
    return uns_cell_key((uintptr_t)object ^ salt, uns_home(object));
}

/* ---- an address may be used again: the cell of a dead object must have no future */

#define MOST_TYPES 256
static struct {
    PyTypeObject *type;
    destructor original;
} watched[MOST_TYPES];
static unsigned watched_types;
static destructor of_plain_classes;
UNS_GUARD(watching_types);

/* The destructor that stood in the slot of a type, or of the first of its bases that is watched. */
static destructor original_of(PyTypeObject *type, PyTypeObject **found) {
    unsigned count = UNS_SEE(&watched_types);
    for (; type; type = type->tp_base)
        for (unsigned i = 0; i < count; i++)
            if (watched[i].type == type) {
                *found = type;
                return watched[i].original;
            }
    *found = NULL;
    return PyBaseObject_Type.tp_dealloc;
}

/* The object that is being destroyed, and whose destructor is at it. */
struct dying {
    PyObject *object;
    PyTypeObject *type;
};
static __thread struct dying dying;

/* A type's destructor may call that of its base, which is watched as well: for it the object's own
 * type would lead back to where it was called from. */
static void forget_and_dealloc(PyObject *object) {
    struct dying outer = dying;
    int is_base = outer.object == object && outer.type;
    PyTypeObject *from = is_base ? outer.type->tp_base : Py_TYPE(object);
    dying.object = object;
    destructor original = original_of(from, &dying.type);
    uns_created(object);
    original(object);
    dying = outer;
}

int uns_is_plain_class(PyTypeObject *type) {
    if (!UNS_LOAD(&of_plain_classes)) {
        PyObject *sample = PyObject_CallFunction((PyObject *)&PyType_Type, "s(){}", "Sample");
        if (!sample) {
            PyErr_Clear();
            return 0;
        }
        UNS_STORE(&of_plain_classes, ((PyTypeObject *)sample)->tp_dealloc);
        Py_DECREF(sample);
    }
    return UNS_LOAD(&type->tp_dealloc) == UNS_LOAD(&of_plain_classes);
}

/* Classes of Python find their base's destructor by comparing theirs, and those of containers and
 * of trees look at their own before they go deep: these stay as they are. */
void uns_forget_when_dead(PyTypeObject *type) {
    while (type && uns_is_plain_class(type))
        type = type->tp_base;
    if (!type || !type->tp_dealloc || type == &PyBaseObject_Type || uns_is_container(type) ||
        strstr(type->tp_name, "Element"))
        return;
    UNS_ENTER(watching_types);
    if (UNS_LOAD(&type->tp_dealloc) != forget_and_dealloc && watched_types < MOST_TYPES) {
        watched[watched_types].type = (PyTypeObject *)Py_NewRef(type);
        watched[watched_types].original = type->tp_dealloc;
        UNS_SHOW(&watched_types, watched_types + 1);
        UNS_SHOW(&type->tp_dealloc, forget_and_dealloc);
    }
    UNS_LEAVE(watching_types);
}

/* ---- databases: connections to one file share what is in it */

#define DATABASES 1024
static struct {
    const PyObject *connection;
    uint64_t cell;  /* of its file, 0: in memory */
    PyObject *file; /* the text that stands for it, borrowed: it is kept for good */
} databases[DATABASES];
UNS_GUARD(opening_databases);
static __thread uint64_t opening;
static __thread PyObject *opening_file;

static unsigned database_slot(const PyObject *connection) {
    return (unsigned)(uns_mix((uintptr_t)connection) & (DATABASES - 1));
}

static uint64_t cell_of_file(PyObject *path) {
    PyObject *text = PyOS_FSPath(path);
    int is_file = text && PyUnicode_Check(text) && PyUnicode_GET_LENGTH(text) &&
                  PyUnicode_CompareWithASCIIString(text, ":memory:") != 0;
    uint64_t cell = is_file ? uns_path_cell(text, &opening_file) : 0;
    Py_XDECREF(text);
    PyErr_Clear();
    return cell;
}

static int hear_of_connections(const char *event, PyObject *args, void *unused) {
    if (event[0] != 's' || strncmp(event, "sqlite3.connect", 15) != 0 || !PyTuple_Check(args) ||
        !PyTuple_GET_SIZE(args))
        return 0;
    PyObject *subject = PyTuple_GET_ITEM(args, 0);
    if (event[15] == '\0') {
        opening = cell_of_file(subject);
    } else {
        UNS_ENTER(opening_databases);
        databases[database_slot(subject)].connection = subject;
        databases[database_slot(subject)].cell = opening;
        databases[database_slot(subject)].file = opening_file;
        UNS_LEAVE(opening_databases);
    }
    return 0;
}

/* Called when sqlite3 is imported: who opens what is heard by an audit hook. */
PyObject *uns_watch_databases(PyObject *module, PyObject *unused) {
    static int watching;
    if (!watching && PySys_AddAuditHook(hear_of_connections, NULL) < 0)
        return NULL;
    watching = 1;
    Py_RETURN_NONE;
}

/* The file that a connection is to; NULL for one in memory, whose object is its database. */
static PyObject *file_of(const PyObject *connection, uint64_t *cell) {
    unsigned slot = database_slot(connection);
    UNS_ENTER(opening_databases);
    PyObject *file = databases[slot].connection == connection && databases[slot].cell
                         ? databases[slot].file
                         : NULL;
    *cell = databases[slot].cell;
    UNS_LEAVE(opening_databases);
    return file;
}

static int first_connection(PyObject *referent, void *found) {
    if (!uns_named(Py_TYPE(referent), "sqlite3.Connection"))
        return 0;
    *(PyObject **)found = referent;
    return 1;
}

static PyObject *connection_of(PyObject *cursor) {
    PyObject *found = NULL;
    traverseproc traverse = Py_TYPE(cursor)->tp_traverse;
    if (traverse) {
        UNS_HOLD(cursor);
        traverse(cursor, first_connection, &found);
        UNS_LET_GO();
    }
    return found;
}

static int only_reads(PyObject *statement) {
    static const char *const readers[] = {"select", "explain", "values", NULL};
    Py_ssize_t length;
    const char *text =
        PyUnicode_Check(statement) ? PyUnicode_AsUTF8AndSize(statement, &length) : NULL;
    if (!text) {
        PyErr_Clear();
        return 0;
    }
    while (Py_ISSPACE(*text) || *text == '(')
        text++;
    for (const char *const *word = readers; *word; word++)
        if (PyOS_strnicmp(text, *word, (Py_ssize_t)strlen(*word)) == 0)
            return 1;
    return 0;
}

/* Closing a connection ends its own use, and is nothing to what is in the database. */
static void touch_connection(Site *site, PyObject *connection, uint32_t op, uint32_t to_database,
                             int follows) {
    uint64_t cell;
    PyObject *file = file_of(connection, &cell);
    int closes = uns_is_called(site->name, "close");
    if (!file) {
        uns_deliver(site, connection, Py_None, uns_object_cell(connection), to_database, follows);
        return;
    }
    if (!follows)
        uns_deliver(site, connection, Py_None, uns_object_cell(connection), closes ? op : UNS_READ,
                    0);
    if (!closes)
        uns_deliver(site, file, Py_None, cell, to_database == UNS_READ ? UNS_READ : UNS_WRITE, 1);
}

static void touch_database(Site *site, PyObject *object, PyObject *argument, uint32_t op,
                           int is_cursor) {
    PyObject *connection = is_cursor ? connection_of(object) : object;
    int reads = argument ? only_reads(argument) : is_cursor || op == UNS_READ;
    if (is_cursor)
        uns_deliver(site, object, Py_None, uns_object_cell(object), op, 0);
    if (connection)
        touch_connection(site, connection, op, reads ? UNS_READ : op, is_cursor);
}

/* `argument`: the first one of the call, if it is known. */
void uns_touch_object(Site *site, PyObject *object, int write, uint32_t op, PyObject *argument) {
    int is_cursor = uns_named(Py_TYPE(object), "sqlite3.Cursor");
    if (is_cursor || uns_named(Py_TYPE(object), "sqlite3.Connection"))
        touch_database(site, object, argument, write ? op : UNS_READ, is_cursor);
    else {
        uns_deliver(site, object, Py_None, uns_object_cell(object), write ? op : UNS_READ, 0);
        uns_touch_open_file(site, object, write);
    }
}

/* ---- what belongs to a module, and its functions read or change */

static PyObject *resolve(PyObject *path) {
    PyObject *dot = PyUnicode_FromString(".");
    PyObject *parts = dot ? PyUnicode_Split(path, dot, -1) : NULL;
    PyObject *found = parts ? PyImport_GetModule(PyList_GET_ITEM(parts, 0)) : NULL;
    for (Py_ssize_t i = 1; found && i < PyList_GET_SIZE(parts); i++)
        Py_SETREF(found, PyObject_GetAttr(found, PyList_GET_ITEM(parts, i)));
    Py_XDECREF(parts);
    Py_XDECREF(dot);
    return found;
}

/* `sys:stdout` is an attribute of a module, `os:cwd` what no attribute shows: the first part is
 * where the cell is, the second is its name. */
static PyObject *state_of(PyObject *path, PyObject **name) {
    Py_ssize_t length = PyUnicode_GET_LENGTH(path);
    Py_ssize_t colon = PyUnicode_FindChar(path, ':', 0, length, 1);
    *name = colon < 0 ? NULL : PyUnicode_Substring(path, colon + 1, length);
    if (*name)
        PyUnicode_InternInPlace(name);
    PyObject *first = colon < 0 ? Py_NewRef(path) : PyUnicode_Substring(path, 0, colon);
    PyObject *found = first ? resolve(first) : NULL;
    Py_XDECREF(first);
    return found;
}

static void find_state(Site *site) {
    PyObject *saved_type, *saved_value, *saved_traceback, *name;
    PyErr_Fetch(&saved_type, &saved_value, &saved_traceback);
    PyObject *found = state_of(site->name, &name);
    UNS_SHOW(&site->part, name);
    UNS_SHOW(&site->state, found); /* of two threads one is too many: for ever */
    PyErr_Clear();
    PyErr_Restore(saved_type, saved_value, saved_traceback);
}

void uns_touch_state(Site *site) {
    if (!UNS_SEE(&site->state))
        find_state(site);
    int write = site->kind == PROBE_STATE_WRITE;
    if (site->state && site->part)
        uns_touch_part(site, site->state, site->part, write, 0);
    else if (site->state)
        uns_deliver(site, site->state, Py_None, uns_object_cell(site->state),
                    write ? UNS_WRITE : UNS_READ, 0);
}
