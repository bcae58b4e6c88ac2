# SPDX-License-Identifier: Apache-2.0
"""State of the whole process that library code swaps for a while: streams, patches, folders."""

import json
import textwrap

import pytest
from tests.integration.in_process import called

HEAD = """
    import contextlib, io, os, threading
    from unittest import mock
    import shop

    def in_threads(function, *names):
        found = {}
        def work(name):
            found[name] = function(name)
        threads = [threading.Thread(target=work, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=10)
        return found
"""
SHOP = "RATE = 1\n\n\ndef price(amount):\n    return amount * RATE\n"
STREAM = """
    def render(name):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            print(name)
        return out.getvalue()

    def test_texts_do_not_mix():
        assert in_threads(render, "a", "b") == {"a": "a\\n", "b": "b\\n"}
"""
PATCH = """
    def price(rate):
        with mock.patch.object(shop, "RATE", rate):
            return shop.price(10)

    def test_rates_do_not_mix():
        assert in_threads(price, 2, 3) == {2: 20, 3: 30}
"""
FOLDER = """
    def written(name):
        os.makedirs(name, exist_ok=True)
        before = os.getcwd()
        os.chdir(name)
        try:
            with open("out.txt", "w") as file:
                file.write(name)
        finally:
            os.chdir(before)

    def test_each_writes_into_its_own(tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        in_threads(written, "a", "b")
        assert [(tmp_path / name / "out.txt").read_text() for name in "ab"] == ["a", "b"]
"""
# One thread at a time: the twin of each of them.
GUARD = """
    free, guard = in_threads, threading.Lock()

    def in_threads(function, *names):
        def held(name):
            with guard:
                return function(name)
        return free(held, *names)
"""


def hunted(folder, program, runs):
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_it.py").write_text(textwrap.dedent(HEAD) + textwrap.dedent(program))
    words = ("--no-confirm", "--max-runs", runs, "--json=found.json", "--", "pytest", "-q")
    done = called(folder, "hunt", *words, "test_it.py")
    assert done.returncode in (0, 1), done.stderr
    return done, json.loads((folder / "found.json").read_text())


@pytest.mark.parametrize(
    ("program", "variable"),
    [(STREAM, "sys.stdout"), (PATCH, "shop.RATE"), (FOLDER, "os.cwd")],
    ids=["stream", "patch", "folder"],
)
def test_what_is_swapped_is_the_variable_at_fault(tmp_path, program, variable):
    done, found = hunted(tmp_path, program, 200)
    assert done.returncode == 1, done.stdout
    variables = found["failures"][0]["findings"][0]["variables"]
    assert variable.rpartition(".")[2] in {one.rpartition(".")[2] for one in variables}
    assert found["instrumented"]["modules"] == 2  # the test's own and shop


@pytest.mark.parametrize("program", [STREAM, PATCH, FOLDER], ids=["stream", "patch", "folder"])
def test_with_a_lock_around_it_nothing_fails(tmp_path, program):
    done, _ = hunted(tmp_path, program + GUARD, 100)
    assert done.returncode == 0, done.stdout
