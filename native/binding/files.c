/* SPDX-License-Identifier: Apache-2.0
 *
 * Files: what is under a path is a cell, and so are the entries of a folder. Who opens, renames or
 * removes what is heard by an audit hook, wherever in a library it happens; asking for the state of
 * a file raises no audit event, so the functions that ask are wrapped (docs/adr/0052). Paths are
 * numbered as they are met: temporary names differ from run to run, numbers do not.
 */
#include "binding/binding.h"
#include <fcntl.h>
#include <limits.h>
#include <structmember.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_SALT   0xF11E000000000000ull
#define FOLDER_SALT 0xF01DE40000000000ull
#define NO_FD       (-1)

static PyObject *numbers; /* {real path: (number, real path)} */
static PyObject *names;   /* {site id: "file NAME"}, of the first that was met there */
UNS_GUARD(numbering);

static PyObject *made(PyObject **dict) {
    UNS_ENTER(numbering);
    if (!*dict)
        UNS_SHOW(dict, PyDict_New());
    UNS_LEAVE(numbering);
    return *dict;
}

/* A path, as far as it is resolved. */
struct path {
    char text[PATH_MAX];
    PyObject *key; /* its text in `numbers`, borrowed; NULL: not known yet, or not to be seen */
};

static int is_special(const char *text) {
    return strncmp(text, "/dev/", 5) == 0 || strncmp(text, "/proc/", 6) == 0 ||
           strncmp(text, "/sys/", 5) == 0;
}

/* A name that does not exist is that of its folder, with its last part. */
static int real_path(const char *given, char *found) {
    if (realpath(given, found))
        return 1;
    char folder[PATH_MAX];
    size_t length = strlen(given);
    while (length > 1 && given[length - 1] == '/')
        length--;
    size_t end = length;
    while (end && given[end - 1] != '/')
        end--;
    if (length >= sizeof folder)
        return 0;
    memcpy(folder, end ? given : ".", end ? end : 1);
    folder[end ? end : 1] = '\0';
    if (!realpath(folder, found)) /* not even its folder exists */
        return snprintf(found, PATH_MAX, "%s", given) < PATH_MAX;
    size_t used = strlen(found);
    return snprintf(found + used, PATH_MAX - used, "/%.*s", (int)(length - end), given + end) <
           (int)(PATH_MAX - used);
}

static int under_descriptor(int fd, const char *name, char *found) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, found, PATH_MAX - 1);
    if (length <= 0 || found[0] != '/')
        return 0;
    found[length] = '\0';
    return !name ||
           snprintf(found + length, PATH_MAX - (size_t)length, "/%s", name) < PATH_MAX - length;
}

/* The text that a path stands for: str, bytes, a path object, an open descriptor, None for the
 * working folder. */
static int text_of(PyObject *given, int folder_fd, char *found) {
    if (given == Py_None)
        return real_path(".", found);
    if (PyLong_Check(given))
        return under_descriptor((int)PyLong_AsLong(given), NULL, found);
    PyObject *path = PyOS_FSPath(given), *bytes = NULL;
    int done = 0;
    if (path && PyUnicode_FSConverter(path, &bytes)) {
        const char *text = PyBytes_AS_STRING(bytes);
        int is_relative = folder_fd != NO_FD && folder_fd != AT_FDCWD && text[0] != '/';
        done = is_relative ? under_descriptor(folder_fd, text, found) : real_path(text, found);
    }
    Py_XDECREF(bytes);
    Py_XDECREF(path);
    PyErr_Clear();
    return done;
}

/* The number of a path, from 1 on; `key` becomes the one text that stands for it. */
static uint64_t number_of(struct path *path) {
    if (!UNS_SEE(&numbers) && !made(&numbers))
        return 0;
    PyObject *text = PyUnicode_DecodeFSDefault(path->text);
    UNS_ENTER(numbering);
    PyObject *next = text ? Py_BuildValue("nO", PyDict_GET_SIZE(numbers) + 1, text) : NULL;
    PyObject *entry = next ? PyDict_SetDefault(numbers, text, next) : NULL; /* borrowed */
    UNS_LEAVE(numbering);
    uint64_t number = 0;
    if (entry) {
        number = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(entry, 0));
        path->key = PyTuple_GET_ITEM(entry, 1);
    }
    Py_XDECREF(next);
    Py_XDECREF(text);
    PyErr_Clear();
    return number;
}

static uint64_t cell_of(uint64_t number, uint64_t salt) {
    uint64_t hash = uns_mix(number ^ salt);
    return uns_cell_key(hash, hash >> 24);
}

/* ---- events */

/* The name that reports use where no value was captured. */
static void note_name(uint32_t site, PyObject *key, int is_folder) {
    if (!UNS_SEE(&names) && !made(&names))
        return;
    PyObject *id = PyLong_FromUnsignedLong(site);
    if (id && !PyDict_Contains(names, id)) {
        Py_ssize_t length = PyUnicode_GET_LENGTH(key);
        Py_ssize_t slash = PyUnicode_FindChar(key, '/', 0, length, -1);
        PyObject *last = PyUnicode_Substring(key, slash + 1, length);
        PyObject *name =
            last ? PyUnicode_FromFormat("%s %U", is_folder ? "folder" : "file", last) : NULL;
        if (name)
            PyDict_SetItem(names, id, name);
        Py_XDECREF(name);
        Py_XDECREF(last);
    }
    Py_XDECREF(id);
}

int uns_add_file_names(PyObject *variables) {
    return names ? PyDict_Merge(variables, names, 0) : 0;
}

/* One access of the thread that is at `site`, on its way into a system call: where the interpreter
 * lets others run. */
static void deliver_at(uint32_t site, PyObject *object, PyObject *key, uint64_t cell, int write,
                       int follows) {
    struct uns_thread *t = uns_current();
    uint32_t point = UNS_POINT(site, write ? UNS_WRITE : UNS_READ);
    if (uns_rt.held) {
        t->may_switch = 0;
        t->last_site = site;
        uns_gate_access(t, point, cell, write, follows ? UNS_FOLLOWS : 1);
        if (uns_break_hook)
            uns_break(point);
        if (uns_capture_hook)
            uns_capture(NULL, t, point, object, key, write);
    }
    uns_track_access(t, point, cell, write);
    if (uns_rt.held)
        uns_count_remote(t, site);
}

static void deliver_file(uint32_t site, PyObject *key, uint64_t cell, int is_folder, int write,
                         int follows) {
    note_name(site, key, is_folder);
    deliver_at(site, key, is_folder ? Py_True : Py_None, cell, write, follows);
}

/* ---- the working folder: a relative path is looked up there */

int uns_folder_changes;

static int is_relative(PyObject *given, int folder_fd) {
    if (given == Py_None || PyLong_Check(given) || (folder_fd != NO_FD && folder_fd != AT_FDCWD))
        return given == Py_None;
    PyObject *path = PyOS_FSPath(given), *bytes = NULL;
    int relative = path && PyUnicode_FSConverter(path, &bytes) && *PyBytes_AS_STRING(bytes) != '/';
    Py_XDECREF(bytes);
    Py_XDECREF(path);
    PyErr_Clear();
    return relative;
}

/* Whether it was read. */
static int touch_working_folder(uint32_t site, PyObject *given, int folder_fd) {
    if (!UNS_LOAD(&uns_folder_changes) || !is_relative(given, folder_fd))
        return 0;
    PyObject *module = PyUnicode_InternFromString("os"), *name = PyUnicode_InternFromString("cwd");
    PyObject *os = module ? PyImport_GetModule(module) : NULL;
    if (os && name) {
        uint64_t cell = uns_attribute_cell(PyModule_GetDict(os), uns_salt_of(name));
        deliver_at(site, os, name, cell, 0, 0);
    }
    Py_XDECREF(os);
    Py_XDECREF(name);
    Py_XDECREF(module);
    PyErr_Clear();
    return 1;
}

static int touch(uint32_t site, struct path *path, int write, int follows) {
    uint64_t number = is_special(path->text) ? 0 : number_of(path);
    if (number && path->key)
        deliver_file(site, path->key, cell_of(number, FILE_SALT), 0, write, follows);
    return number != 0;
}

static int touch_entries(uint32_t site, struct path *folder, int write, int follows) {
    uint64_t number = is_special(folder->text) ? 0 : number_of(folder);
    if (number && folder->key)
        deliver_file(site, folder->key, cell_of(number, FOLDER_SALT), 1, write, follows);
    return number != 0;
}

/* A file comes or goes: the entries of its folder change with it. */
static void touch_with_folder(uint32_t site, struct path *path, int follows) {
    follows |= touch(site, path, 1, follows);
    char *slash = strrchr(path->text, '/');
    if (!slash)
        return;
    slash[slash == path->text] = '\0';
    path->key = NULL;
    touch_entries(site, path, 1, follows);
}

/* Where the target's code leads to a file; 0 if it does not, or by way of an import. */
static uint32_t site_of_file(void) {
    if (!uns_rt.active || uns_rt.recording || uns_rt.by_object || uns_current()->muted)
        return 0;
    return uns_file_site();
}

/* ---- what audit events say */

enum { READS, WRITES, MAKES, MOVES, LINKS, LISTS, OPENS };

static const struct heard {
    const char *event;
    int what;
    int folder_fd; /* index of the argument that a relative path is relative to, or 0 */
} table[] = {
    {"open", OPENS, 0},         {"os.rename", MOVES, 2}, {"os.remove", MAKES, 1},
    {"os.mkdir", MAKES, 2},     {"os.rmdir", MAKES, 1},  {"os.listdir", LISTS, 0},
    {"os.scandir", LISTS, 0},   {"os.link", LINKS, 0},   {"os.symlink", LINKS, 0},
    {"os.truncate", WRITES, 0}, {"os.utime", WRITES, 0},
};

static int argument_fd(PyObject *args, int at) {
    PyObject *given = at && at < PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, at) : NULL;
    return given && PyLong_Check(given) ? (int)PyLong_AsLong(given) : NO_FD;
}

static void heard_open(uint32_t site, struct path *path, PyObject *args, int follows) {
    PyObject *given = PyTuple_GET_SIZE(args) > 2 ? PyTuple_GET_ITEM(args, 2) : NULL;
    int flags = given && PyLong_Check(given) ? (int)PyLong_AsLong(given) : 0;
    if ((flags & O_ACCMODE) == O_RDONLY && !(flags & O_CREAT))
        touch(site, path, 0, follows);
    else if ((flags & O_CREAT) && access(path->text, F_OK) != 0)
        touch_with_folder(site, path, follows);
    else
        touch(site, path, 1, follows);
}

static void heard_two(uint32_t site, struct path *path, PyObject *args, const struct heard *how,
                      int follows) {
    if (how->what == MOVES)
        touch_with_folder(site, path, follows);
    else
        touch(site, path, 0, follows);
    int fd = how->folder_fd ? argument_fd(args, how->folder_fd + 1) : NO_FD;
    path->key = NULL;
    if (PyTuple_GET_SIZE(args) > 1 && text_of(PyTuple_GET_ITEM(args, 1), fd, path->text))
        touch_with_folder(site, path, 1);
}

static void heard_file(const struct heard *how, PyObject *args) {
    PyObject *first = PyTuple_GET_ITEM(args, 0);
    uint32_t site = how->what == OPENS && PyLong_Check(first) ? 0 : site_of_file();
    struct path path = {.key = NULL};
    int folder_fd = argument_fd(args, how->folder_fd);
    if (!site)
        return;
    int follows = touch_working_folder(site, first, folder_fd);
    if (!text_of(first, folder_fd, path.text)) /* only now: others may have changed the folder */
        return;
    if (how->what == OPENS)
        heard_open(site, &path, args, follows);
    else if (how->what == LISTS)
        touch_entries(site, &path, 0, follows);
    else if (how->what == MAKES)
        touch_with_folder(site, &path, follows);
    else if (how->what == WRITES)
        touch(site, &path, 1, follows);
    else
        heard_two(site, &path, args, how, follows);
}

static int hear_of_files(const char *event, PyObject *args, void *unused) {
    if (event[0] != 'o' || !uns_rt.active || !PyTuple_Check(args) || !PyTuple_GET_SIZE(args))
        return 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(event, table[i].event) == 0) {
            PyObject *type, *value, *traceback;
            PyErr_Fetch(&type, &value, &traceback);
            heard_file(&table[i], args);
            PyErr_Restore(type, value, traceback);
            break;
        }
    return 0;
}

PyObject *uns_watch_files(PyObject *module, PyObject *unused) {
    static int watching;
    if (!watching && PySys_AddAuditHook(hear_of_files, NULL) < 0)
        return NULL;
    watching = 1;
    Py_RETURN_NONE;
}

/* The cell of a database is that of its file. */
uint64_t uns_path_cell(PyObject *given, PyObject **text) {
    struct path path = {.key = NULL};
    uint64_t number = text_of(given, NO_FD, path.text) ? number_of(&path) : 0;
    *text = path.key;
    return number ? cell_of(number, FILE_SALT) : 0;
}

/* ---- functions that ask for the state of a file, and open() */

typedef struct {
    PyObject_HEAD PyObject *wrapped, *dict;
    vectorcallfunc call;
    int opens;
} WatchedObject;

static PyObject *first_argument(PyObject *const *args, size_t count, PyObject *keywords) {
    if (PyVectorcall_NARGS(count))
        return args[0];
    for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); i++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, i);
        if (uns_is_called(name, "path") || uns_is_called(name, "file"))
            return args[i];
    }
    return NULL;
}

static void ask(PyObject *given) {
    uint32_t site = given && !PyLong_Check(given) ? site_of_file() : 0;
    struct path path = {.key = NULL};
    int follows = site ? touch_working_folder(site, given, NO_FD) : 0;
    if (site && text_of(given, NO_FD, path.text))
        touch(site, &path, 0, follows);
}

static int is_for_writing(PyObject *file) {
    PyObject *answer = PyObject_CallMethod(file, "writable", NULL);
    int yes = answer == Py_True;
    Py_XDECREF(answer);
    PyErr_Clear();
    return yes;
}

/* A library has opened a file to write it, and what it writes is not seen: here others may find
 * the file empty. */
static void opened(PyObject *given, PyObject *file) {
    uint32_t site = given && !PyLong_Check(given) && is_for_writing(file) ? site_of_file() : 0;
    struct path path = {.key = NULL};
    if (site && uns_is_in_library() && text_of(given, NO_FD, path.text))
        touch(site, &path, 1, 0);
}

static PyObject *watched_call(PyObject *self, PyObject *const *args, size_t count,
                              PyObject *keywords) {
    WatchedObject *function = (WatchedObject *)self;
    PyObject *given = uns_rt.active ? first_argument(args, count, keywords) : NULL;
    if (given && !function->opens)
        ask(given);
    PyObject *result = PyObject_Vectorcall(function->wrapped, args, count, keywords);
    if (given && function->opens && result)
        opened(given, result);
    return result;
}

static PyObject *watched_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *wrapped;
    int opens;
    if (!PyArg_ParseTuple(args, "Op:Watched", &wrapped, &opens))
        return NULL;
    WatchedObject *self = (WatchedObject *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->wrapped = Py_NewRef(wrapped);
    self->call = watched_call;
    self->opens = opens;
    return (PyObject *)self;
}

static PyObject *watched_getattr(PyObject *self, PyObject *name) {
    return PyObject_GetAttr(((WatchedObject *)self)->wrapped, name);
}

static PyObject *watched_repr(PyObject *self) {
    return PyObject_Repr(((WatchedObject *)self)->wrapped);
}

PyTypeObject WatchedType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "builtin_function_or_method",
    .tp_basicsize = sizeof(WatchedObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(WatchedObject, call),
    .tp_call = PyVectorcall_Call,
    .tp_new = watched_new,
    .tp_getattro = watched_getattr,
    .tp_repr = watched_repr,
};

/* ---- files that are open: reading one reads what is under its path, writing writes it */

#define OPEN_FILES 256
static UNS_PER_THREAD struct open_file {
    const PyObject *object; /* the slot is for this one, as long as its generation is the same */
    uint16_t generation;
    uint8_t writes;
    PyObject *key;
    uint64_t cell;
} open_files[OPEN_FILES];

/* Its name; of one that was made of a descriptor (`os.fdopen`) that is a number. */
static PyObject *path_of_file(PyObject *file) {
    PyObject *name = PyObject_GetAttrString(file, "name");
    PyErr_Clear();
    if (name && !PyUnicode_Check(name) && !PyBytes_Check(name) && !PyLong_Check(name) &&
        !PyObject_HasAttrString(name, "__fspath__"))
        Py_CLEAR(name);
    return name;
}

static int is_of_library(const PyTypeObject *type) {
    return strncmp(type->tp_name, "_io.", 4) == 0 && strcmp(type->tp_name, "_io.BytesIO") != 0 &&
           strcmp(type->tp_name, "_io.StringIO") != 0;
}

static void resolve_file(struct open_file *slot, PyObject *file) {
    struct path path = {.key = NULL};
    PyObject *name = path_of_file(file);
    uint64_t number =
        name && text_of(name, NO_FD, path.text) && !is_special(path.text) ? number_of(&path) : 0;
    *slot = (struct open_file){.object = file,
                               .generation = UNS_LOAD(uns_generation_of(file)),
                               .writes = (uint8_t)is_for_writing(file),
                               .key = path.key,
                               .cell = number ? cell_of(number, FILE_SALT) : 0};
    Py_XDECREF(name);
}

/* Moving the position of a reader, or closing it, is nothing to the file. */
static int moves_only(PyObject *method) {
    return uns_is_called(method, "seek") || uns_is_called(method, "close") ||
           uns_is_called(method, "__exit__");
}

/* `site` has delivered what it does to the object itself: with `moves`, more than to look at it. */
void uns_touch_open_file(Site *site, PyObject *file, int moves) {
    if (!moves || uns_rt.by_object || !is_of_library(Py_TYPE(file)))
        return;
    struct open_file *slot = &open_files[uns_mix((uintptr_t)file >> 4) & (OPEN_FILES - 1)];
    if (slot->object != file || slot->generation != UNS_LOAD(uns_generation_of(file))) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        resolve_file(slot, file);
        PyErr_Restore(type, value, traceback);
    }
    if (!slot->cell || !slot->key || (!slot->writes && moves_only(site->name)))
        return;
    note_name(site->id, slot->key, 0);
    uns_deliver(site, slot->key, Py_None, slot->cell, slot->writes ? UNS_WRITE : UNS_READ, 1);
}
