# SPDX-License-Identifier: Apache-2.0
"""The command that runs one test of a session alone, as the session would run it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import pytest

# What selects tests, counts failures, writes files or starts workers is the session's own business.
DROPPED = (
    "-x", "--exitfirst", "--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first",
    "--sw", "--stepwise", "--stepwise-skip", "--sw-skip", "--unsnarl", "--unsnarl-regress",
    "--unsnarl-update-baseline",
    "--cov", "--no-cov-on-fail", "--pdb", "--trace", "-q", "--quiet", "-v", "--verbose", "-s", "-l",
    "--showlocals",
    "--collect-only", "--forked", "--cache-clear", "--setup-show",
)  # fmt: skip
DROPPED_WITH_VALUE = (
    "-k", "-m", "-n", "--numprocesses", "--maxfail", "--dist", "--tx", "--maxprocesses", "--cov",
    "--cov-report", "--cov-config", "--cov-context", "--junitxml", "--junit-xml", "--html", "--css",
    "--durations", "--durations-min", "--reruns", "--reruns-delay", "--timeout", "--unsnarl-budget",
    "--unsnarl-html", "--unsnarl-baseline", "--deselect", "--ignore", "--ignore-glob", "--rootdir",
    "-c", "--config-file", "--basetemp", "-r", "--tb", "--color", "--log-file", "--report-log",
    "-p",
)  # fmt: skip
# What must not meddle with repeated runs, by plugin; pytest-timeout counts real seconds.
SWITCHED_OFF = {
    "timeout": ("--timeout=0",),
    "_cov": ("--no-cov",),
    "rerunfailures": ("--reruns=0",),
    "xdist": ("-n0",),
}


def command_for(item: pytest.Item) -> tuple[str, ...]:
    """`python -m pytest FILE::TEST` with what the session was given that bears on the test."""
    config = item.config
    words = [sys.executable, "-m", "pytest", f"--rootdir={config.rootpath}"]
    if config.inipath is not None:
        words += ["-c", str(config.inipath)]
    words += kept(config.invocation_params.args, config.option.file_or_dir)
    for plugin, options in SWITCHED_OFF.items():
        if config.pluginmanager.hasplugin(plugin):
            words += options
    return (*words, "-q", _whole_node(item))


def _whole_node(item: pytest.Item) -> str:
    """The node id with the whole path of its file: the command may run elsewhere than the root."""
    _, separator, rest = item.nodeid.partition("::")
    return f"{item.path}{separator}{rest}"


def kept(arguments: Sequence[str], positional: Sequence[str]) -> list[str]:
    """The session's own arguments without those that are only about the session."""
    return list(_kept(list(arguments), set(positional)))


def _kept(arguments: list[str], positional: set[str]) -> Iterator[str]:
    while arguments:
        word = arguments.pop(0)
        name, has_value = word.partition("=")[0], "=" in word
        if name == "-p" and arguments and not arguments[0].startswith("no:"):
            yield from ("-p", arguments.pop(0))
        elif name in DROPPED_WITH_VALUE:
            takes_next = not has_value and name not in DROPPED
            if takes_next and arguments:
                arguments.pop(0)
        elif name in DROPPED or word in positional or _is_glued(word):
            continue
        else:
            yield word


def _is_glued(word: str) -> bool:
    """`-n2`, `-kexpr`, `-qq`: a short option with its value, or several of them."""
    return len(word) > 2 and word[0] == "-" and word[1] in "nkmrqvxsl" and word[1] != "-"
