# SPDX-License-Identifier: Apache-2.0
"""Iterators of C code, gone through to their end: what they keep of it may be gone before them."""

from tests.integration.in_process import called
from tests.integration.interpreters import PYTHON

PROGRAM = """
import functools, itertools, operator, threading

class Rows:
    def __init__(self):
        self.few, self.many, self.named = [1], [1, 2, 3], {"a": 1, "b": 2}

rows = Rows()
made = [
    lambda: itertools.zip_longest(rows.few, rows.many, fillvalue=0),
    lambda: itertools.zip_longest(rows.many, rows.few, []),
    lambda: itertools.zip_longest(iter(rows.few), reversed(rows.many)),
    lambda: zip(rows.few, rows.many, rows.named),
    lambda: map(operator.add, rows.few, rows.many),
    lambda: itertools.chain(rows.few, [], rows.many, rows.named.items()),
    lambda: itertools.chain.from_iterable([rows.few, [], rows.many]),
    lambda: itertools.islice(rows.many, 1, 9),
    lambda: itertools.islice(itertools.cycle(rows.many), 7),
    lambda: itertools.tee(rows.many)[1],
    lambda: itertools.pairwise(rows.many),
    lambda: itertools.product(rows.few, rows.many),
    lambda: itertools.permutations(rows.many, 2),
    lambda: itertools.combinations(rows.many, 2),
    lambda: itertools.combinations_with_replacement(rows.many, 2),
    lambda: itertools.compress(rows.many, rows.few),
    lambda: itertools.filterfalse(None, rows.many),
    lambda: itertools.takewhile(bool, rows.many),
    lambda: itertools.dropwhile(bool, rows.many),
    lambda: itertools.starmap(pow, zip(rows.many, rows.few)),
    lambda: itertools.accumulate(rows.many),
    lambda: itertools.groupby(rows.many),
    lambda: filter(None, rows.many),
    lambda: iter(rows.named.values()),
    lambda: iter(functools.partial(rows.named.get, "c"), None),
]

def go():
    for make in made:
        for _ in enumerate(make()):
            pass
        for _ in make():
            pass
        ended = make()
        list(ended)
        assert list(ended) == [] and next(ended, None) is None
        for _ in enumerate(itertools.zip_longest(make(), make(), rows.few)):
            pass

threads = [threading.Thread(target=go) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_every_iterator_comes_to_its_end_as_without_us(tmp_path):
    (tmp_path / "rows.py").write_text(PROGRAM)
    words = ("hunt", "--max-runs", "6", "--no-confirm", "--", PYTHON, "rows.py")
    done = called(tmp_path, *words)
    assert done.returncode == 0, done.stdout
