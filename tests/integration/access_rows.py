# SPDX-License-Identifier: Apache-2.0
"""Accesses that must be seen: what one thread does, then another, to one object.

Each row becomes a class of one program (`access_program.py`). Its constructor keeps what is shared
in `self.it`; the first thread runs `first`, the second `second`. There must be an edge from the one
to the other, with these operations, on the object of that name.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """What is done to `self.it`, and the edge that it must give."""

    title: str  # unique; docs/accesses.md has a line for the part before the colon
    made: str
    first: str
    second: str
    edge: str = "WR"
    name: str = "it"


SET = "{1, 2}"
LIST = "[1, 2]"
DICT = "{'a': 1, 'b': 2}"


def _reads(group: str, made: str, write: str, *reads: str) -> list[Row]:
    return [Row(f"{group}: {read}", made, write, read) for read in reads]


ITERTOOLS = [
    *_reads(
        "itertools",
        SET,
        "self.it.add(3)",
        "list(itertools.chain(self.it, ()))",
        "list(chain(self.it))",
        "list(chain.from_iterable([self.it]))",
        "set(itertools.islice(self.it, 1))",
        "next(itertools.cycle(self.it))",
        "itertools.tee(self.it)",
        "dict(itertools.groupby(self.it))",
        "list(itertools.zip_longest(self.it, self.it))",
        "list(itertools.accumulate(self.it))",
        "list(itertools.starmap(pow, zip(self.it, self.it)))",
        "list(itertools.takewhile(bool, self.it))",
        "list(itertools.product(self.it, self.it))",
        "list(alias_of_chain(self.it))",
        "import itertools as tools; list(tools.chain(self.it))",
        "from itertools import chain as linked; list(linked(self.it))",
        "functools.reduce(operator.add, self.it)",
    ),
    Row(
        "itertools: a loop over a chain",
        SET,
        "self.it.add(3)",
        "for _ in made_before(itertools.chain(self.it)): pass",
    ),
    Row(
        "itertools: a loop over a chain of islices",
        LIST,
        "self.it.append(3)",
        "for _ in made_before(itertools.chain(itertools.islice(self.it, 2), ())): pass",
    ),
    Row(
        "itertools: a chain that was made before",
        SET,
        "self.it.add(3)",
        "list(made_before(itertools.chain(self.it)))",
    ),
]
BUILTINS = [
    *_reads(
        "builtin functions",
        LIST,
        "self.it.append(3)",
        "list(map(str, self.it))",
        "list(filter(None, self.it))",
        "list(zip(self.it, self.it))",
        "list(enumerate(self.it))",
        "list(reversed(self.it))",
        "sorted(self.it)",
        "sorted(map(str, self.it), key=len)",
        "min(self.it)",
        "max(self.it, default=0)",
        "sum(self.it)",
        "any(self.it)",
        "all(self.it)",
        "tuple(self.it)",
        "set(self.it)",
        "frozenset(self.it)",
        "next(iter(self.it))",
        "len(self.it)",
        "bytes(self.it)",
        "','.join(map(str, self.it))",
        "a, *b = self.it",
        "print(*self.it, file=quiet)",
        "[*self.it]",
        "1 in self.it",
        "[].extend(self.it)",
        "[].extend(iter(self.it))",
        "str(self.it)",
        "f'{self.it}'",
        "self.it == [1]",
        "self.it + [1]",
        "self.it * 2",
        "f = list; f(self.it)",
        "f, a = sorted, (self.it,); f(*a)",
    ),
    *_reads(
        "dictionaries and their views",
        DICT,
        "self.it['c'] = 3",
        "dict(self.it)",
        "dict(self.it.items())",
        "list(self.it.values())",
        "for _ in made_before(self.it.items()): pass",
        "list(made_before(self.it.keys()))",
        "'a' in made_before(self.it.keys())",
        "len(made_before(self.it.values()))",
        "{}.update(self.it)",
        "{**self.it}",
        "self.it | {}",
        "f = dict; f(**self.it)",
    ),
    *_reads(
        "copies and texts of whole structures",
        "{'inner': [1]}",
        "self.it['inner'].append(2)",
        "json.dumps(self.it)",
        "json.dump(self.it, quiet)",
        "copy.deepcopy(self.it)",
        "pickle.dumps(self.it)",
        "pprint.pformat(self.it)",
        "repr(self.it)",
    ),
]
BUILTINS[-6:] = [row._replace(name="it['inner']") for row in BUILTINS[-6:]]

OF_DICT = "sum(self.it.values())|list(self.it.items())|dict(self.it)|self.it.copy()|self.it == {}"
OF_DICT += "|{**self.it}|json.dumps(self.it)|copy.deepcopy(self.it)|str(self.it)"
OF_LIST = "sum(self.it)|sorted(self.it)|max(self.it)|self.it[:]|[*self.it]"
BUILTINS += [
    Row(f"elements that are overwritten: {read}, {made}", made, write, read)
    for made, write, reads in (
        (DICT, "self.it['a'] = 5", OF_DICT),
        (LIST, "self.it[0] = 5", OF_LIST),
    )
    for read in reads.split("|")
]
ITERATORS = [
    Row(
        "iterators that threads share: next", "iter([1, 2])", "next(self.it)", "next(self.it)", "WW"
    ),
    Row(
        "iterators that threads share: count",
        "itertools.count()",
        "next(self.it)",
        "next(self.it)",
        "WW",
    ),
    Row(
        "iterators that threads share: for",
        "iter([1, 2])",
        "for _ in self.it: break",
        "for _ in self.it: break",
        "WW",
    ),
    Row(
        "iterators that threads share: list()",
        "iter([1, 2])",
        "next(self.it)",
        "list(self.it)",
        "WW",
    ),
    Row(
        "iterators that threads share: zip",
        "iter([1, 2])",
        "next(self.it)",
        "list(zip([1], self.it))",
        "WW",
    ),
    Row(
        "iterators that threads share: __next__",
        "iter([1, 2])",
        "self.it.__next__()",
        "next(self.it)",
        "WW",
    ),
    Row(
        "generators that threads share: next", "generator()", "next(self.it)", "next(self.it)", "WW"
    ),
    Row(
        "generators that threads share: send",
        "generator()",
        "self.it.send(None)",
        "self.it.close()",
        "WW",
    ),
    Row(
        "generators that threads share: for",
        "generator()",
        "for _ in self.it: break",
        "for _ in self.it: break",
        "WW",
    ),
    Row(
        "generators that threads share: list()",
        "generator()",
        "next(self.it)",
        "list(self.it)",
        "WW",
    ),
    Row(
        "generators that threads share: islice",
        "generator()",
        "next(self.it)",
        "list(itertools.islice(self.it, 1))",
        "WW",
    ),
]
ATTRIBUTES = [
    *[
        Row(f"attributes by another name: {write} {read}", "Plain()", write, read, edge, "Plain.n")
        for write, read, edge in [
            ("self.it.__dict__['n'] = 1", "self.it.n", "WR"),
            ("self.it.n = 1", "self.it.__dict__['n']", "WR"),
            ("self.it.n = 1", "self.it.__dict__.get('n')", "WR"),
            ("vars(self.it)['n'] = 1", "self.it.n", "WR"),
            ("d = vars(self.it); d['n'] = 1", "self.it.n", "WR"),
            ("setattr(self.it, 'n', 1)", "self.it.n", "WR"),
            ("object.__setattr__(self.it, 'n', 1)", "self.it.n", "WR"),
            ("self.it.__setattr__('n', 1)", "self.it.n", "WR"),
            ("self.it.n = 1", "getattr(self.it, 'n')", "WR"),
            ("self.it.n = 1", "getattr(self.it, 'n', None)", "WR"),
            ("self.it.n = 1", "hasattr(self.it, 'n')", "WR"),
            ("self.it.n = 1", "delattr(self.it, 'n')", "WW"),
            ("self.it.n = 1", "'n' in self.it.__dict__", "WR"),
            ("self.it.n = 1", "vars(self.it).pop('n')", "WW"),
            ("self.it.n = 1", "copy.copy(self.it)", "WR"),
            ("self.it.__dict__.update(n=1)", "self.it.n", "WR"),
        ]
    ],
    Row("attributes: slots", "Slotted()", "self.it.n = 1", "self.it.n", "WR", "Slotted.n"),
    Row(
        "attributes: slots by name",
        "Slotted()",
        "setattr(self.it, 'n', 1)",
        "self.it.n",
        "WR",
        "Slotted.n",
    ),
    Row("attributes: property", "Described()", "self.it.p = 1", "self.it.p", "WR", "Described._p"),
    Row(
        "attributes: of a class",
        "Plain",
        "Plain.shared = 1",
        "self.it.shared",
        "WR",
        "Plain.shared",
    ),
    Row(
        "attributes: of a class, by name",
        "Plain",
        "setattr(Plain, 'shared', 1)",
        "Plain().shared",
        "WR",
        "Plain.shared",
    ),
    *[
        Row(f"attributes: a default, {read}", "Plain()", read, write, "RW", "Plain.shared")
        for read, write in [
            ("self.it.shared", "self.it.shared = 1"),
            ("getattr(self.it, 'shared')", "self.it.shared = 1"),
        ]
    ],
    Row("attributes: of a module", "module", "module.flag = 1", "module.flag", "WR", "module.flag"),
    Row(
        "attributes: of a module, by name",
        "module",
        "setattr(module, 'flag', 1)",
        "vars(module)['flag']",
        "WR",
        "module.flag",
    ),
    Row(
        "attributes: globals()", "0", "globals()['counter'] = 1", "read_counter()", "WR", "counter"
    ),
    Row(
        "attributes: cached_property",
        "Described()",
        "self.it.slow",
        "self.it.slow",
        "WR",
        "Described.slow",
    ),
]
COLLECTIONS = [
    *(
        Row(
            f"collections: a key that a defaultdict adds: {key}",
            "collections.defaultdict(list)",
            f"self.it[{key}]",
            "list(self.it)",
            "WR",
        )
        for key in ("OwnThread", "OWN", "Color.RED")
    ),
    *(
        Row(
            f"collections: by a key that is itself alone: {key}",
            f"{{{key}: 1, 'a': 2}}",
            f"self.it[{key}] = 3",
            f"self.it[{key}]",
            "WR",
        )
        for key in ("OwnThread", "Color.RED")
    ),
    Row("collections: deque", "collections.deque([1, 2])", "self.it.rotate(1)", "self.it[0]"),
    Row(
        "collections: deque copy",
        "collections.deque([1, 2])",
        "self.it.append(1)",
        "self.it.copy()",
    ),
    Row(
        "collections: OrderedDict",
        "collections.OrderedDict(a=1, b=2)",
        "self.it.move_to_end('a')",
        "list(self.it)",
    ),
    Row(
        "collections: Counter",
        "collections.Counter()",
        "self.it['a'] += 1",
        "self.it.most_common()",
    ),
    Row(
        "collections: Counter update",
        "collections.Counter()",
        "self.it.update('ab')",
        "self.it['a']",
    ),
    Row(
        "collections: defaultdict", "collections.defaultdict(list)", "self.it['a']", "list(self.it)"
    ),
    Row(
        "collections: ChainMap",
        "collections.ChainMap({})",
        "self.it['a'] = 1",
        "self.it.get('a')",
        "WW",
    ),
    Row("collections: UserDict", "collections.UserDict()", "self.it['a'] = 1", "len(self.it)"),
    Row("collections: array", "array.array('i', [1])", "self.it.append(2)", "self.it[0]"),
    Row(
        "collections: array as a list",
        "array.array('i', [1])",
        "self.it.append(2)",
        "self.it.tolist()",
    ),
    Row("collections: bytearray", "bytearray(b'abc')", "self.it.extend(b'x')", "bytes(self.it)"),
    Row(
        "collections: bytearray find",
        "bytearray(b'abc')",
        "self.it.append(1)",
        "self.it.find(b'a')",
    ),
    Row("collections: memoryview", "bytearray(b'abc')", "memoryview(self.it)[0] = 1", "self.it[0]"),
    Row(
        "collections: memoryview read",
        "bytearray(b'abc')",
        "self.it.append(1)",
        "memoryview(self.it).tobytes()",
    ),
    Row("collections: heapq", LIST, "heapq.heappush(self.it, 0)", "self.it[0]"),
    Row("collections: heapq imported", LIST, "heappush(self.it, 0)", "heapq.nlargest(1, self.it)"),
    Row("collections: bisect", LIST, "bisect.insort(self.it, 0)", "bisect.bisect_left(self.it, 1)"),
    Row("functools: cache", "0", "cached(1)", "cached(1)", "WW", "cached"),
    Row("functools: cache_clear", "0", "cached(2)", "cached.cache_clear()", "WW", "cached"),
    Row("functools: cache_info", "0", "cached(3)", "cached.cache_info()", "WR", "cached"),
    Row(
        "functools: cached method",
        "Described()",
        "self.it.memo(1)",
        "self.it.memo(1)",
        "WW",
        "Described.memo",
    ),
]
METHODS = [
    Row(f"methods that are values: {write} {read}", made, write, read, edge)
    for made, write, read, edge in [
        (LIST, "push = self.it.append; push(3)", "len(self.it)", "WR"),
        (LIST, "x = 3; push = self.it.append; push(x)", "len(self.it)", "WR"),
        (LIST, "pop = self.it.pop; pop()", "len(self.it)", "WR"),
        (LIST, "called(self.it.append, 3)", "len(self.it)", "WR"),
        (LIST, "self.it.append(*(3,))", "len(self.it)", "WR"),
        (DICT, "self.it.setdefault('c', *(3,))", "list(self.it)", "WR"),
        (DICT, "self.it.update(**{'c': 3})", "list(self.it)", "WR"),
        (DICT, "self.it['c'] = 3", "get = self.it.get; get('c')", "WR"),
        (DICT, "self.it['c'] = 3", "self.it.get(*('c',))", "WR"),
        ("io.BytesIO()", "self.it.write(*(b'a',))", "self.it.getvalue()", "WR"),
        ("queue.Queue()", "self.it.put(*(1,))", "self.it.qsize()", "WW"),
    ]
]
THREADS = [
    Row(f"threads: {read} {made}", f"{made}()", "self.it.start()", f"self.it.{read}()")
    for made in ("threading.Thread", "OwnThread")
    for read in ("join", "is_alive")
]
EVENTS = [
    Row("events: set", "threading.Event()", "self.it.set()", "self.it.is_set()", "WR"),
    Row("events: clear", "threading.Event()", "self.it.clear()", "self.it.is_set()", "WR"),
]
STATE = [
    Row("io: BytesIO", "io.BytesIO(b'abc')", "self.it.read(1)", "self.it.tell()"),
    Row("io: BytesIO seek", "io.BytesIO(b'abc')", "self.it.seek(1)", "self.it.read()", "WW"),
    Row("io: StringIO", "io.StringIO()", "self.it.write('a')", "self.it.getvalue()"),
    Row("io: closed", "io.StringIO()", "self.it.close()", "self.it.closed"),
    Row("io: file", "open(__file__)", "self.it.seek(1)", "self.it.readline()", "WW"),
    Row("io: lines", "open(__file__)", "self.it.readline()", "for _ in self.it: break", "WW"),
    Row("io: print", "io.StringIO()", "print('a', file=self.it)", "self.it.getvalue()", "WR"),
    Row("io: with", "io.StringIO()", "with self.it: pass", "self.it.closed", "WR"),
    Row(
        "sqlite3: connection",
        "connect()",
        "self.it.execute('insert into t values (1)')",
        "self.it.execute('select * from t')",
        "WR",
    ),
    Row(
        "sqlite3: cursor",
        "connect().cursor()",
        "self.it.execute('select 1')",
        "self.it.fetchone()",
        "WW",
    ),
    Row(
        "sqlite3: database through cursors",
        "connect()",
        "self.it.cursor().execute('delete from t')",
        "self.it.cursor().execute('select * from t').fetchone()",
        "WR",
    ),
    Row(
        "sqlite3: commit",
        "connect()",
        "self.it.execute('insert into t values (1)')",
        "self.it.commit()",
        "WW",
    ),
    Row(
        "sqlite3: two connections to a file",
        "made_database()",
        "sqlite3.connect(self.it).execute('delete from t')",
        "sqlite3.connect(self.it).execute('select * from t').fetchone()",
        "WR",
        "file data.db",
    ),
    Row(
        "sqlite3: close",
        "sqlite3.connect(made_database(), check_same_thread=False)",
        "self.it.execute('select * from t')",
        "self.it.close()",
        "RW",
    ),
    Row(
        "contextvars",
        "contextvars.Context()",
        "self.it.run(variable.set, 1)",
        "self.it.get(variable)",
        "WR",
    ),
    Row(
        "weakref: WeakValueDictionary",
        "weakref.WeakValueDictionary()",
        "self.it['a'] = thing",
        "self.it.get('a')",
        "WW",
    ),
    Row(
        "weakref: WeakKeyDictionary",
        "weakref.WeakKeyDictionary()",
        "self.it[thing] = 1",
        "len(self.it)",
        "WW",
    ),
    Row("weakref: WeakSet", "weakref.WeakSet()", "self.it.add(thing)", "list(self.it)", "WW"),
    Row("random: generator", "random.Random(1)", "self.it.random()", "self.it.random()", "WW"),
    Row("random: state", "random.Random(1)", "self.it.seed(2)", "self.it.getstate()", "WR"),
    Row("random: module", "0", "random.seed(1)", "random.random()", "WW", "random._inst"),
    Row(
        "logging: handlers",
        "logging.getLogger('x')",
        "self.it.addHandler(handler)",
        "self.it.info('a')",
        "WR",
    ),
    Row(
        "logging: level",
        "logging.getLogger('y')",
        "self.it.setLevel(10)",
        "self.it.isEnabledFor(10)",
        "WR",
    ),
    Row(
        "warnings: filters",
        "0",
        "warnings.simplefilter('ignore')",
        "warnings.warn('a')",
        "WR",
        "warnings",
    ),
    Row(
        "os.environ",
        "0",
        "os.environ['UNSNARL_ROW'] = 'a'",
        "os.environ.get('UNSNARL_ROW')",
        "WW",
        "os.environ",
    ),
    Row(
        "os.environ: getenv",
        "0",
        "os.environ['UNSNARL_ROW'] = 'b'",
        "os.getenv('UNSNARL_ROW')",
        "WR",
        "os.environ",
    ),
    *(
        Row(f"the working folder: {read}", "0", "os.chdir(os.getcwd())", read, "WR", "os.cwd")
        for read in ["os.getcwd()", "os.path.exists('rows.py')", "open('rows.py').close()"]
    ),
    *(
        Row(f"standard streams: {write}", "0", write, "print(end='')", "WR", "sys.stdout")
        for write in [
            "with contextlib.redirect_stdout(sys.__stdout__): pass",
            "sys.stdout = sys.__stdout__",
            "setattr(sys, 'stdout', sys.__stdout__)",
        ]
    ),
    Row(
        "standard streams: sys.stdout.flush()",
        "0",
        "sys.stdout = sys.__stdout__",
        "sys.stdout.flush()",
        "WR",
        "sys.stdout",
    ),
    *(
        Row(f"what others assign: {write}", "0", write, "settings.debug", "WR", "settings.debug")
        for write in [
            "settings.debug = 1",
            "mock.patch.object(settings, 'debug', 2).start()",
            "mock.patch('settings.debug', 3).start()",
        ]
    ),
    Row(
        "what others assign: a function",
        "0",
        "mock.patch('settings.load', len).start()",
        "settings.load(())",
        "WR",
        "settings.load",
    ),
    Row("queue: Queue", "queue.Queue()", "self.it.put(1)", "self.it.qsize()", "WW"),
    Row("queue: SimpleQueue", "queue.SimpleQueue()", "self.it.put(1)", "self.it.empty()"),
]
FOLDER = "made_folder()"
ENTRY = "os.path.join(self.it, 'a')"
FILES = [
    *(
        Row(f"files: {read}", FOLDER, f"open({ENTRY}, 'w').close()", read, "WR", "file a")
        for read in [
            f"open({ENTRY}).close()",
            f"open({ENTRY}).read()",
            f"os.path.exists({ENTRY})",
            f"os.path.isfile({ENTRY})",
            f"os.path.getsize({ENTRY})",
            f"os.stat({ENTRY})",
            f"os.access({ENTRY}, 4)",
            f"os.close(os.open({ENTRY}, 0))",
            "pathlib.Path(self.it, 'a').exists()",
            "pathlib.Path(self.it, 'a').stat()",
            "pathlib.Path(self.it, 'a').read_text()",
            f"shutil.copyfile({ENTRY}, {ENTRY} + 'b')",
            f"os.link({ENTRY}, {ENTRY} + 'l')",
            "os.stat(os.path.join(self.it, '..', os.path.basename(self.it), 'a'))",
        ]
    ),
    *(
        Row(f"files: {write}", FOLDER, write, f"os.path.exists({ENTRY})", "WR", "file a")
        for write in [
            "pathlib.Path(self.it, 'a').write_text('x')",
            "pathlib.Path(self.it, 'a').touch()",
            f"open({ENTRY}, 'a').close()",
            f"os.mkdir({ENTRY})",
            f"os.close(os.open({ENTRY}, os.O_CREAT | os.O_WRONLY))",
            f"open({ENTRY} + '0', 'w').close(); os.replace({ENTRY} + '0', {ENTRY})",
            f"open({ENTRY}, 'w').close(); os.remove({ENTRY})",
            f"open({ENTRY}, 'w').close(); os.truncate({ENTRY}, 0)",
            f"os.mkdir({ENTRY}); os.rmdir({ENTRY})",
            f"os.mkdir({ENTRY}); shutil.rmtree({ENTRY})",
            f"os.symlink({ENTRY} + '0', {ENTRY})",
        ]
    ),
    Row(
        "files: what is written later",
        FOLDER,
        f"f = open({ENTRY}, 'w'); f.write('x'); f.close()",
        f"open({ENTRY}).read()",
        "WR",
        "file a",
    ),
    Row(
        "files: made of a descriptor",
        "os.fdopen(os.open(os.path.join(tempfile.mkdtemp(), 'a'), os.O_CREAT | os.O_RDWR), 'w')",
        "self.it.write('x')",
        "os.path.getsize(f'/proc/self/fd/{self.it.fileno()}')",
        "WR",
        "file a",
    ),
    *(
        Row(f"folders: {read}", FOLDER, f"open({ENTRY}, 'w').close()", read, "WR", "folder rows")
        for read in [
            "os.listdir(self.it)",
            "list(os.scandir(self.it))",
            "list(os.walk(self.it))",
            "glob.glob(self.it + '/*')",
            "list(pathlib.Path(self.it).iterdir())",
            "list(pathlib.Path(self.it).glob('*'))",
        ]
    ),
]
ROWS = [
    *ITERTOOLS,
    *BUILTINS,
    *ITERATORS,
    *ATTRIBUTES,
    *COLLECTIONS,
    *METHODS,
    *THREADS,
    *EVENTS,
    *STATE,
    *FILES,
]
