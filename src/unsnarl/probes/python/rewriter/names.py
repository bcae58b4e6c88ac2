# SPDX-License-Identifier: Apache-2.0
"""What is known by name: methods and functions of the standard library, and what they touch."""


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


# Methods of list, dict, set, deque, bytearray, defaultdict, OrderedDict and Counter.
CONTAINER_METHODS = words(
    "append appendleft extend extendleft insert pop popleft popitem remove clear sort reverse"
    " update setdefault add discard rotate difference_update intersection_update"
    " symmetric_difference_update move_to_end subtract"
    " get keys values items index count copy union intersection difference issubset issuperset"
    " isdisjoint symmetric_difference most_common elements total"
)
# Their first argument is a key (or, for a list's pop, an index).
KEYED_METHODS = words(
    "get pop setdefault __getitem__ __setitem__ __delitem__ __contains__"
    # The first argument of these is a statement or the name of an attribute.
    " execute executemany executescript __setattr__ __delattr__ __getattribute__"
)
# Those that change the container; the others only read.
CHANGING_METHODS = words(
    "append appendleft extend extendleft insert pop popleft popitem remove clear sort reverse"
    " update setdefault add discard rotate difference_update intersection_update"
    " symmetric_difference_update move_to_end subtract __setitem__ __delitem__ __iadd__ __ior__"
)
# Methods of files, cursors, generators and other objects of C code or of the standard library.
# They are watched even where a class of the module has a method of the same name.
OBJECT_METHODS = words(
    "read readline readlines readinto write writelines truncate seek flush close getvalue"
    " send throw __next__ execute executemany executescript fetchone fetchmany fetchall commit"
    " rollback cursor run random randint randrange choice seed getstate setstate cache_clear"
    " cache_info cache_parameters addHandler removeHandler setLevel put put_nowait get_nowait"
)
# The same of threads and events.
THREAD_METHODS = words("start join is_alive set clear is_set isSet")
ATTRIBUTE_METHODS = {"__setattr__": True, "__delattr__": True, "__getattribute__": False}
# Builtin functions whose second argument names an attribute of the first: do they write it?
ATTRIBUTE_FUNCTIONS = {"getattr": False, "hasattr": False, "setattr": True, "delattr": True}
# They read the containers given as arguments.
ARGUMENT_READERS = words(
    "extend extendleft update join union intersection difference symmetric_difference issubset"
    " issuperset isdisjoint difference_update intersection_update symmetric_difference_update"
    " writelines fromkeys subtract"
)

# Builtin functions that read the structure of their arguments.
READING_BUILTINS = words(
    "len sorted sum min max any all list tuple set frozenset dict iter next enumerate zip map"
    " filter reversed str repr bytearray bytes"
)
# Only their first argument can be a container, or only a single one is looked into.
FIRST_ONLY = frozenset({"sum", "iter", "next", "enumerate", "reversed", "sorted"})
SINGLE_ONLY = frozenset({"min", "max"})
SKIP_FIRST = frozenset({"map", "filter"})
# Mostly called with numbers: only worth a probe if something else shows a container.
RENDERERS = frozenset({"str", "repr"})
# Their results are new and known to nobody else.
FRESH_BUILTINS = frozenset({"sorted", "list", "tuple", "set", "frozenset", "dict", "bytearray"})
SCALAR_BUILTINS = words(
    "len sum any all str repr int float bool isinstance issubclass hash id ord chr abs round"
    " callable hasattr type super divmod pow bin hex oct format input ascii bytes object"
)

CREATED_BUILTINS = frozenset({"list", "dict", "set", "bytearray", "sorted"})
# Methods, as far as nobody else has what they give.
CREATING_METHODS = words("copy split rsplit splitlines fromkeys findall most_common tolist")
CREATED_COLLECTIONS = frozenset({"deque", "defaultdict", "OrderedDict", "Counter"})

BUILTIN_CLASSES = words(
    "list dict set tuple frozenset type int str float bytes bytearray object bool"
)

# Library functions that change their first argument.
MUTATORS = words(
    "heapq.heappush heapq.heappop heapq.heapify heapq.heapreplace heapq.heappushpop"
    " bisect.insort bisect.insort_left bisect.insort_right random.shuffle"
)
# Library functions and modules that only read what they are given.
READER_FUNCTIONS = words(
    "json.dumps json.dump pickle.dumps pickle.dump marshal.dumps marshal.dump"
    " functools.reduce dataclasses.asdict dataclasses.astuple"
    " heapq.nlargest heapq.nsmallest heapq.merge bisect.bisect"
    " bisect.bisect_left bisect.bisect_right random.choice random.choices random.sample"
)
READER_MODULES = words("copy itertools math statistics operator pprint collections")

# State that belongs to a module: where it is, functions that change it, functions that read it.
_STATE = (
    (
        "random._inst",
        "random",
        "random randint randrange choice choices sample shuffle uniform gauss seed setstate"
        " triangular betavariate expovariate gammavariate lognormvariate normalvariate"
        " paretovariate vonmisesvariate weibullvariate getrandbits randbytes",
        "getstate",
    ),
    (
        "warnings",
        "warnings",
        "simplefilter filterwarnings resetwarnings catch_warnings",
        "warn warn_explicit",
    ),
    (
        "logging.root",
        "logging",
        "basicConfig disable addLevelName captureWarnings setLoggerClass shutdown",
        "debug info warning error critical exception log",
    ),
    ("os.environ", "os", "putenv unsetenv", "getenv getenvb"),
    # Behind a colon: an attribute of the module, or what only its functions show.
    ("os:cwd", "os", "chdir fchdir", "getcwd getcwdb"),
    ("os:umask", "os", "umask", ""),
    ("signal:handlers", "signal", "signal set_wakeup_fd", "getsignal"),
    ("socket:defaulttimeout", "socket", "setdefaulttimeout", "getdefaulttimeout"),
    ("locale:locale", "locale", "setlocale", "localeconv getlocale"),
    ("time:timezone", "time", "tzset", "localtime mktime"),
)
# What `print` writes to.
PRINTED = "sys:stdout"
# Dotted name of a function -> path of the state, and whether it is changed.
STATE_FUNCTIONS = {
    f"{module}.{name}": (path, changed)
    for path, module, *both in _STATE
    for changed, names in zip((True, False), both, strict=True)
    for name in names.split()
}
# Calls into these are seen by the sync patches, or touch nothing of the caller's.
QUIET_MODULES = words(
    "threading _thread time os sys logging typing typing_extensions functools dataclasses abc enum"
    " contextlib warnings types inspect re string unittest pytest _pytest builtins __future__"
    " datetime"
)
