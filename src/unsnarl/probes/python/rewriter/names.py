# SPDX-License-Identifier: Apache-2.0
"""What is known by name: methods and functions of the standard library, and what they touch."""

# Methods of list, dict, set, deque, bytearray, defaultdict, OrderedDict and Counter.
CONTAINER_METHODS = frozenset(
    "append appendleft extend extendleft insert pop popleft popitem remove clear sort reverse"
    " update setdefault add discard rotate difference_update intersection_update"
    " symmetric_difference_update move_to_end subtract"
    " get keys values items index count copy union intersection difference issubset issuperset"
    " isdisjoint symmetric_difference most_common elements total".split()
)
# Their first argument is a key (or, for a list's pop, an index).
KEYED_METHODS = frozenset({"get", "pop", "setdefault"})
# They read the containers given as arguments.
ARGUMENT_READERS = frozenset(
    "extend extendleft update join union intersection difference symmetric_difference issubset"
    " issuperset isdisjoint difference_update intersection_update symmetric_difference_update"
    " writelines fromkeys subtract".split()
)

# Builtin functions that read the structure of their arguments.
READING_BUILTINS = frozenset(
    "len sorted sum min max any all list tuple set frozenset dict iter next enumerate zip map"
    " filter reversed str repr bytearray".split()
)
# Only their first argument can be a container, or only a single one is looked into.
FIRST_ONLY = frozenset({"sum", "iter", "next", "enumerate", "reversed", "sorted"})
SINGLE_ONLY = frozenset({"min", "max"})
SKIP_FIRST = frozenset({"map", "filter"})
# Mostly called with numbers: only worth a probe if something else shows a container.
RENDERERS = frozenset({"str", "repr"})
# Their results are new and known to nobody else.
FRESH_BUILTINS = frozenset({"sorted", "list", "tuple", "set", "frozenset", "dict", "bytearray"})
SCALAR_BUILTINS = frozenset(
    "len sum any all str repr int float bool isinstance issubclass hash id ord chr abs round"
    " callable hasattr type super divmod pow bin hex oct format input ascii bytes object".split()
)

CREATED_BUILTINS = frozenset({"list", "dict", "set", "bytearray"})
CREATED_COLLECTIONS = frozenset({"deque", "defaultdict", "OrderedDict", "Counter"})

BUILTIN_CLASSES = frozenset(
    "list dict set tuple frozenset type int str float bytes bytearray object bool".split()
)

# Library functions that change their first argument.
MUTATORS = frozenset(
    "heapq.heappush heapq.heappop heapq.heapify heapq.heapreplace heapq.heappushpop"
    " bisect.insort bisect.insort_left bisect.insort_right random.shuffle".split()
)
# Library functions and modules that only read what they are given.
READER_FUNCTIONS = frozenset(
    "json.dumps json.dump heapq.nlargest heapq.nsmallest heapq.merge bisect.bisect"
    " bisect.bisect_left bisect.bisect_right random.choice random.choices random.sample".split()
)
READER_MODULES = frozenset("copy itertools math statistics operator pprint collections".split())
# Calls into these are seen by the sync patches, or touch nothing of the caller's.
QUIET_MODULES = frozenset(
    "threading _thread time os sys logging typing typing_extensions functools dataclasses abc enum"
    " contextlib warnings types inspect re string unittest pytest __future__ datetime".split()
)
