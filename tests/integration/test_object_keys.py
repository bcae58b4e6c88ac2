# SPDX-License-Identifier: Apache-2.0
"""Objects and members of enumerations as keys: each has a cell of its own, a name and a value."""

import json
from textwrap import dedent

from tests.integration.in_process import proved
from tests.integration.interpreters import PYTHON

COUNTS = """
    import enum
    import threading

    class Color(enum.Enum):
        RED = 1
        BLUE = 2

    class Job:
        pass

    counts = {Color.RED: 0, Color.BLUE: 0}
    jobs = {Job(): 0, Job(): 0}

    def count(job):
        jobs[job] += 1
        counts[Color.RED] += 1

    threads = [threading.Thread(target=count, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts[Color.RED] == 2, counts
"""


def test_what_is_kept_for_another_object_is_another_variable(tmp_path):
    (tmp_path / "counts.py").write_text(dedent(COUNTS))
    options = ("--switch", "free", "--max-runs", 60, "--json", "answer.json")
    proved(tmp_path, "hunt", *options, "--", PYTHON, "counts.py")
    report = json.loads((tmp_path / "answer.json").read_text())
    (failure,) = report["failures"]
    assert {one["shape"] for one in failure["findings"]} == {"lost update"}
    names = {name for one in failure["findings"] for name in one["variables"]}
    assert names == {"counts[Color.RED]"}
    values = [point["value"] for point in failure["findings"][0]["explanation"]]
    assert "0" in values and "1" in values


HITS = """
    import threading

    class Cache(dict):
        def __init__(self):
            self.hits = 0

        def look(self):
            self.hits += 1

    cache = Cache()
    threads = [threading.Thread(target=cache.look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.hits == 2, cache.hits
"""


def test_an_attribute_of_a_container_is_no_element(tmp_path):
    (tmp_path / "hits.py").write_text(dedent(HITS))
    options = ("--switch", "free", "--max-runs", 60, "--json", "answer.json")
    proved(tmp_path, "hunt", *options, "--", PYTHON, "hits.py")
    report = json.loads((tmp_path / "answer.json").read_text())
    finding = report["failures"][0]["findings"][0]
    assert finding["variables"] == ["Cache.hits"]
    assert [point["value"] for point in finding["explanation"][:3]] == ["0", "0", "1"]
