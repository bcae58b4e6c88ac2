# SPDX-License-Identifier: Apache-2.0
"""Settings of a hunt: flags, then `UNSNARL_*`, then `[tool.unsnarl]` in pyproject.toml."""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
import stat
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from unsnarl.errors import UsageError

SWITCHES = ("auto", "gil", "free")
CONTROLLED: Literal["controlled"] = "controlled"
PLANS = (CONTROLLED, "free", "noise")
GRANULARITIES = ("cell", "object")
WIDEST_WINDOW = 64  # UNS_WINDOW_MAX
# What a person waits for an answer after something has failed.
ANSWER_SECONDS = 25.0
# Where neither --max-runs nor --time is given: a fast program that is correct need not be run for a
# minute. Without a failure, so many runs bound its rate below 0.3 % (rule of three).
RUNS_WITHOUT_A_TIME = 1000
ROOT_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")
HIGHEST_STATUS = 255


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of a hunt; the names are those of the options.

    Attributes:
        max_runs: None for as many as fit into the time.
    """

    fail: int = 25
    passed: int = 25
    max_runs: int | None = RUNS_WITHOUT_A_TIME
    time: float = 60.0
    timeout: float = 10.0
    jobs: int = dataclasses.field(default_factory=_cores)
    seed: int = 0
    # How threads run: under the gate, or freely and in parallel, with random delays or without.
    plan: Literal["controlled", "free", "noise"] = "controlled"
    # Part I of N of the hunt, as I/N; "" for all of it.
    shard: str = ""
    # Where runs are made: tcp://HOST:PORT of a dask scheduler, or local; "" for this machine.
    cluster: str = ""
    include: tuple[str, ...] = ()
    switch: Literal["auto", "gil", "free"] = "auto"
    fail_if: str = ""
    ok_exit: tuple[int, ...] = ()
    heap_errors: bool = True
    window: int = 5
    granularity: Literal["cell", "object"] = "cell"
    # Edges that the papers' graphs do not have (docs/adr/0007).
    anti_edges: bool = True
    own_reads: bool = True
    accesses: bool = False
    unlabelled: bool = False
    confirm: int = 5
    # From the first failure to the answer, within `time`.
    answer: float = ANSWER_SECONDS
    # What stays in .unsnarl when a hunt begins; 0 for all of it.
    keep_days: int = 30
    keep_mb: int = 2000
    # Run in an interpreter that nobody has tried.
    force_python: bool = False


def _positive_int(value: Any) -> int:
    number = _natural(value)
    if number < 1:
        raise ValueError("a whole number of 1 or more")
    return number


def _natural(value: Any) -> int:
    expected = "a whole number of 0 or more"
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(expected)
    try:
        number = int(value)
    except ValueError:
        raise ValueError(expected) from None
    if number < 0:
        raise ValueError(expected)
    return number


def _seconds(value: Any) -> float:
    expected = "a number of seconds greater than 0"
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(expected)
    try:
        number = float(value)
    except ValueError:
        raise ValueError(expected) from None
    if not 0 < number < float("inf"):
        raise ValueError(expected)
    return number


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) and v for v in value):
        raise ValueError("a list of package names")
    return tuple(value)


def _switch(value: Any) -> str:
    if not isinstance(value, str) or value not in SWITCHES:
        raise ValueError("one of " + ", ".join(SWITCHES))
    return value


def _window(value: Any) -> int:
    number = _natural(value)
    if number == 1 or number > WIDEST_WINDOW:
        raise ValueError(f"0 (no windows) or a whole number from 2 to {WIDEST_WINDOW}")
    return number


def _granularity(value: Any) -> str:
    if not isinstance(value, str) or value not in GRANULARITIES:
        raise ValueError("one of " + ", ".join(GRANULARITIES))
    return value


def _yes_or_no(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = value.lower() if isinstance(value, str) else ""
    if word not in ("1", "0", "true", "false", "yes", "no"):
        raise ValueError("true or false")
    return word in ("1", "true", "yes")


def _statuses(value: Any) -> tuple[int, ...]:
    """Exit statuses: one, several, or several in a text."""
    rows = value.replace(",", " ").split() if isinstance(value, str) else value
    numbers = tuple(map(_natural, rows if isinstance(rows, (list, tuple)) else [rows]))
    if any(number > HIGHEST_STATUS for number in numbers):
        raise ValueError(f"exit statuses from 0 to {HIGHEST_STATUS}")
    return numbers


def _plan(value: Any) -> str:
    if not isinstance(value, str) or value not in PLANS:
        raise ValueError("one of " + ", ".join(PLANS))
    return value


def _shard(value: Any) -> str:
    text = _text(value) if isinstance(value, str) else ""
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError("a part of the hunt such as 3/8")
    return text


def _cluster(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r"local|(tcp|tls)://\S+:[0-9]+", value):
        return _text(value)
    raise ValueError("local, or an address such as tcp://10.0.0.5:8786")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text")
    return value


# Key as written by the user -> (field, check).
KEYS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "fail": ("fail", _positive_int),
    "pass": ("passed", _positive_int),
    "max-runs": ("max_runs", _positive_int),
    "time": ("time", _seconds),
    "timeout": ("timeout", _seconds),
    "jobs": ("jobs", _positive_int),
    "seed": ("seed", _natural),
    "plan": ("plan", _plan),
    "shard": ("shard", _shard),
    "cluster": ("cluster", _cluster),
    "include": ("include", _names),
    "switch": ("switch", _switch),
    "fail-if": ("fail_if", _text),
    "ok-exit": ("ok_exit", _statuses),
    "heap-errors": ("heap_errors", _yes_or_no),
    "window": ("window", _window),
    "granularity": ("granularity", _granularity),
    "anti-edges": ("anti_edges", _yes_or_no),
    "own-reads": ("own_reads", _yes_or_no),
    "accesses": ("accesses", _yes_or_no),
    "unlabelled": ("unlabelled", _yes_or_no),
    "confirm": ("confirm", _natural),
    "answer": ("answer", _seconds),
    "keep-days": ("keep_days", _natural),
    "keep-mb": ("keep_mb", _natural),
    "force-python": ("force_python", _yes_or_no),
}
# What these mean; the help of `unsnarl hunt` has the others, which are options of it.
WITHOUT_OPTIONS = {
    "answer": "Seconds from the first failure to the answer, within `time`.",
    "keep-days": "Days that campaigns stay in `.unsnarl`; 0 for all.",
    "keep-mb": "Megabytes that campaigns may take there; 0 for no limit.",
}


def find_root(start: Path) -> Path:
    """The project's root: the nearest directory from `start` upwards that has a project file."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if folder != start and _is_anybodys(folder):
            break
        if any((folder / marker).exists() for marker in ROOT_MARKERS):
            return folder
    return start


def _is_anybodys(folder: Path) -> bool:
    """Whether everybody puts files there, as into /tmp: a project file there is somebody else's."""
    return bool(folder.stat().st_mode & stat.S_ISVTX)


def load(root: Path, environ: Mapping[str, str], flags: Mapping[str, Any]) -> Settings:
    """Merge the three sources; `flags` has the user's keys, absent or None where not given."""
    fields = _from_pyproject(root / "pyproject.toml")
    for key in KEYS:
        name = variable(key)
        if environ.get(name):
            fields[KEYS[key][0]] = _checked(key, environ[name], name)
    fields |= _from_flags(flags)
    if "time" in fields:
        # Who gives a time wants it to be used, as long as nothing has failed.
        fields.setdefault("max_runs", None)
    return Settings(**fields)


def variable(key: str) -> str:
    """The environment variable of a setting."""
    return "UNSNARL_" + key.upper().replace("-", "_")


def sources(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """By setting, what it is set by besides flags: a variable, else pyproject.toml."""
    in_file = _from_pyproject(root / "pyproject.toml")
    found = {key: "pyproject.toml" for key, (field, _) in KEYS.items() if field in in_file}
    return found | {key: variable(key) for key in KEYS if environ.get(variable(key))}


def override(stored: Mapping[str, Any], flags: Mapping[str, Any]) -> Settings:
    """The settings of a stored campaign, with those flags that are given now."""
    names = {field.name for field in dataclasses.fields(Settings)}
    fields = {name: value for name, value in stored.items() if name in names}
    # A cluster of that day: what follows a hunt is done here unless one is named anew.
    fields.pop("cluster", None)
    for name in ("include", "ok_exit"):
        fields[name] = tuple(fields.get(name, ()))
    given = _from_flags(flags)
    if "time" in given and fields.get("max_runs") == RUNS_WITHOUT_A_TIME:
        given.setdefault("max_runs", None)
    return Settings(**fields | given)


def _from_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    return {
        KEYS[key][0]: _checked(key, value, f"--{key}")
        for key, value in flags.items()
        if value is not None and value != ()
    }


def _from_pyproject(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError("bad-setting", f"cannot read {path}: {error}") from None
    tool = table.get("tool", {})
    section = tool.get("unsnarl", {}) if isinstance(tool, dict) else {}
    if not isinstance(section, dict):
        raise UsageError("bad-setting", f"{path.name}: tool.unsnarl: expected a table")
    fields = {}
    for key, value in section.items():
        where = f"{path.name}: tool.unsnarl.{key}"
        if key not in KEYS:
            raise UsageError("bad-setting", f"{where}: unknown setting", _nearest(key))
        fields[KEYS[key][0]] = _checked(key, value, where)
    return fields


def _nearest(key: str) -> str:
    close = difflib.get_close_matches(key.replace("_", "-"), KEYS, n=1)
    return f"did you mean {close[0]}?" if close else "known settings: " + ", ".join(KEYS)


def _checked(key: str, value: Any, where: str) -> Any:
    try:
        return KEYS[key][1](value)
    except ValueError as error:
        slug = "bad-argument" if where.startswith("--") else "bad-setting"
        raise UsageError(slug, f"{where}: expected {error}, got {value!r}") from None
