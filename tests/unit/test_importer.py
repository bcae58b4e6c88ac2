# SPDX-License-Identifier: Apache-2.0
"""Which code gets probes, and that nothing else notices."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from unsnarl import _core
from unsnarl.probes.python import registry
from unsnarl.probes.python.importer import Importer, Scope

pytestmark = pytest.mark.core

DRIVER = """
import json, sys
from unsnarl.probes.python import importer, registry
importer.install({root!r}, {include!r})
{body}
found = [entry["function"] for entry in registry.dump()["codes"]]
print("\\n" + json.dumps(found))
"""


def run(root: Path, body: str, include: tuple[str, ...] = ()) -> tuple[list[str], str]:
    """Run the body with the importer installed: functions with probes, and what it printed."""
    source = DRIVER.format(root=str(root), include=list(include), body=textwrap.dedent(body))
    done = subprocess.run(
        [sys.executable, "-c", source],
        cwd=root,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    output, _, found = done.stdout.rstrip("\n").rpartition("\n")
    return json.loads(found), output


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))


SUBJECT = "class C:\n    def f(self):\n        return self.x\n"


# ---- which files


@pytest.mark.parametrize(
    ("file", "covered"),
    [
        ("app.py", True),
        ("src/app.py", True),
        ("lib/site-packages/dep.py", False),
        ("env/lib/dep.py", False),
        ("../elsewhere.py", False),
    ],
)
def test_scope_of_files(tmp_path: Path, file: str, covered: bool) -> None:
    root = tmp_path / "root"
    write(root, {"app.py": "", "env/pyvenv.cfg": "home = x"})
    assert Scope(str(root), []).covers(str(root / file)) is covered


def test_a_project_that_is_itself_in_a_virtualenv_folder(tmp_path: Path) -> None:
    """Only a virtualenv below the root is not project code."""
    write(tmp_path, {"pyvenv.cfg": "home = x", "app.py": ""})
    assert Scope(str(tmp_path), []).covers(str(tmp_path / "app.py"))


def test_unsnarl_is_never_covered() -> None:
    own = Path(registry.__file__)
    scope = Scope(str(own.parents[4]), ["unsnarl"])
    assert not scope.covers(str(own))
    assert not scope.covers(str(own), "unsnarl.probes.python.registry")


def test_libraries_are_told_from_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"own_package/__init__.py": "", "own_space/part.py": "", "own_module.py": ""})
    monkeypatch.syspath_prepend(str(tmp_path))
    scope = Scope(str(tmp_path), ["queue"])
    names = ("own_package", "own_package.sub", "own_space.part", "own_module", "queue")
    assert [scope.is_library(name) for name in names] == [False] * 5
    assert [scope.is_library(name) for name in ("json", "heapq", "pytest", "absent_one")] == (
        [True] * 4
    )


# ---- ways to run code


def test_imports(tmp_path: Path) -> None:
    write(tmp_path, {"subject.py": SUBJECT, "vendored/site-packages/dep.py": SUBJECT})
    body = """
    import subject, queue
    sys.path.append("vendored/site-packages")
    import dep
    """
    found, _ = run(tmp_path, body)
    assert found.count("C.f") == 1
    # the cache holds plain code, and what is read from it gets probes again
    assert list(tmp_path.glob("__pycache__/subject.*.pyc"))
    assert run(tmp_path, "import subject")[0] == found


def test_included_modules_of_the_standard_library(tmp_path: Path) -> None:
    found, _ = run(tmp_path, "import colorsys, sched", include=("sched",))
    assert "scheduler.run" in found and "rgb_to_yiq" not in found


def test_loaded_modules_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, {"subject.py": SUBJECT, "early.py": SUBJECT})
    driver = DRIVER.replace("import json, sys", "import json, sys, early")
    source = driver.format(root=str(tmp_path), include=[], body="import early, subject")
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]).count("C.f") == 1


def test_modules_run_as_main(tmp_path: Path) -> None:
    write(tmp_path, {"pack/__init__.py": "", "pack/tool.py": SUBJECT + "print(__name__)\n"})
    body = 'import runpy\nrunpy.run_module("pack.tool", run_name="__main__", alter_sys=True)'
    found, output = run(tmp_path, body)
    assert output.strip() == "__main__"
    assert "C.f" in found


def test_generated_methods_of_dataclasses(tmp_path: Path) -> None:
    source = """
    from dataclasses import dataclass
    @dataclass
    class Point:
        x: int
        y: int = 2
    """
    write(tmp_path, {"subject.py": source})
    body = "import subject\nprint(subject.Point(1), subject.Point(1) == subject.Point(1, 2))"
    found, output = run(tmp_path, body)
    assert output.strip() == "Point(x=1, y=2) True"
    assert any(name.endswith("__init__") for name in found)


def test_pytest_keeps_its_assertion_messages(tmp_path: Path) -> None:
    source = """
    import helper
    def test_it():
        box = helper.Box()
        assert box.items == [1, 2], "why"
    """
    helper = "class Box:\n    def __init__(self):\n        self.items = [1]\n"
    write(tmp_path, {"test_subject.py": source, "helper.py": helper})
    body = """
    import pytest
    pytest.main(["-q", "-p", "no:cacheprovider", "test_subject.py"])
    """
    for _ in range(2):  # the second time from pytest's own cache
        found, output = run(tmp_path, body)
        assert "test_it" in found and "Box.__init__" in found
        assert "assert [1] == [1, 2]" in output
        assert "Right contains one more item: 2" in output
    assert list(tmp_path.glob("__pycache__/test_subject.*pytest*.pyc"))


# ---- exec keeps its meaning


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """exec as a target would see it, for this module only."""
    importer = Importer(Scope("/nowhere", []))
    importer.modules.add(__name__)
    return _core.wrap_exec(exec, importer.transform)


def test_exec_without_names_sees_the_callers(hook: Any) -> None:
    value = 5
    seen: list[int] = []
    hook("seen.append(value)")
    assert seen == [5]
    assert value == 5


def test_exec_stores_where_it_would(hook: Any) -> None:
    for run_it in (exec, hook):
        names: dict[str, Any] = {"__name__": __name__}
        separate: dict[str, Any] = {}
        run_it("x = 1\nglobal y\ny = 2", names, separate)
        assert separate == {"x": 1}
        assert names["y"] == 2 and "__builtins__" in names


def test_exec_takes_closures(hook: Any) -> None:
    cell = 1

    def function() -> None:
        nonlocal cell
        cell += 1

    hook(function.__code__, {"__name__": __name__}, closure=function.__closure__)
    assert cell == 2


@pytest.mark.parametrize(
    "arguments",
    [(), (1,), ("1", 2), ("1", {}, 3), ("1", {}, {}, {}), ("x ==",), ("\0",), ("1/0",)],
)
def test_exec_fails_as_it_would(hook: Any, arguments: tuple[Any, ...]) -> None:
    def failure(run_it: Any) -> tuple[type, str, list[str]]:
        with pytest.raises(Exception) as caught:
            run_it(*arguments)
        frames = [str(entry.path) for entry in caught.traceback]
        return caught.type, str(caught.value), frames

    assert failure(hook) == failure(exec)


def test_exec_compiles_under_the_callers_futures(hook: Any) -> None:
    names: dict[str, Any] = {"__name__": __name__, "hook": hook, "out": {}}
    source = "from __future__ import annotations\nhook('def f(x: int): pass', globals(), out)\n"
    exec(source, names)
    assert names["out"]["f"].__annotations__ == {"x": "int"}
    hook("def f(x: int): pass", {"__name__": __name__}, names["out"])
    assert names["out"]["f"].__annotations__ == {"x": int}


def test_only_known_modules_get_probes(hook: Any) -> None:
    def has_sites(name: str) -> bool:
        names: dict[str, Any] = {"__name__": name}
        hook("def f(a): return a.x", names)
        code: CodeType = names["f"].__code__
        return any(isinstance(const, _core.Site) for const in code.co_consts)

    assert has_sites(__name__)
    assert not has_sites("another")


def test_code_is_never_rewritten_twice() -> None:
    importer = Importer(Scope("/nowhere", []))
    code = compile("def f(a): return a.x", "<string>", "exec")
    once = importer.transform(importer.instrument(code, "m", "<string>"), {"__name__": "m"})
    function = next(const for const in once.co_consts if isinstance(const, CodeType))
    assert sum(isinstance(const, _core.Site) for const in function.co_consts) == 1


def test_code_that_cannot_be_rewritten_runs_without_probes() -> None:
    importer = Importer(Scope("/nowhere", []))
    importer.modules.add("m")
    code = compile("def f(a): return a.x", "<string>", "exec")
    registry.REGISTRY._next, saved = registry.MAX_SITES, registry.REGISTRY._next
    try:
        assert importer.transform(code, {"__name__": "m"}) is code
    finally:
        registry.REGISTRY._next = saved
    assert registry.REGISTRY.refused.pop() == ["<string>", "no site ids are left"]


def test_exec_looks_like_itself(hook: Any) -> None:
    assert (hook.__name__, hook.__module__) == (exec.__name__, exec.__module__)
    assert hook.__text_signature__.startswith("(source, globals=None, locals=None")
