# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: `pytest --unsnarl` hunts every selected test that starts a thread.

pytest loads this module in every session, so it imports nothing until it is switched on.
"""

from __future__ import annotations

import pytest

MARKER = (
    "unsnarl(runs, time, switch, include, skip): how --unsnarl hunts this test: at most so many "
    "runs or seconds, where threads may be switched, which installed packages are instrumented"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options and ini settings."""
    group = parser.getgroup("unsnarl", "thread bugs (unsnarl)")
    group.addoption(
        "--unsnarl",
        action="store_true",
        default=None,
        help="Hunt every selected test that starts a thread, and explain what breaks it.",
    )
    group.addoption(
        "--unsnarl-budget",
        metavar="TIME",
        default=None,
        help="Time for all hunts together: 90s, 5m, 1h. Without it, each has 60 s.",
    )
    group.addoption(
        "--unsnarl-html",
        metavar="DIR",
        default=None,
        help="Write a page into DIR for every hunted test that failed.",
    )
    group.addoption(
        "--unsnarl-baseline",
        metavar="FILE",
        default=None,
        help="Keep the findings quiet that FILE has: only others fail their test.",
    )
    group.addoption(
        "--unsnarl-update-baseline",
        action="store_true",
        default=None,
        help="Write what the hunted tests fail with into that FILE.",
    )
    group.addoption(
        "--unsnarl-regress",
        action="store_true",
        default=None,
        help="Replay the interleavings that `unsnarl keep` wrote into tests/interleavings.",
    )
    parser.addini("unsnarl_regress", "the same as --unsnarl-regress", type="bool", default=False)
    parser.addini("unsnarl", "the same as --unsnarl", type="bool", default=False)
    parser.addini("unsnarl_budget", "the same as --unsnarl-budget", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Load the rest, if it is wanted."""
    config.addinivalue_line("markers", MARKER)
    if config.getoption("unsnarl", default=None) or config.getini("unsnarl"):
        from unsnarl.pytest_plugin.session import HuntingSession  # noqa: PLC0415  only if wanted

        config.pluginmanager.register(HuntingSession(config), "unsnarl-session")
    if config.getoption("unsnarl_regress", default=None) or config.getini("unsnarl_regress"):
        from unsnarl.pytest_plugin.regress import RegressSession  # noqa: PLC0415  only if wanted

        config.pluginmanager.register(RegressSession(config), "unsnarl-regress-session")
