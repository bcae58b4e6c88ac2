# SPDX-License-Identifier: Apache-2.0
"""From a flaky multi-threaded program to the interleaving that breaks it.

It is a pytest plugin, too, and imported before pytest is in hunted processes: PYTEST_DONT_REWRITE
"""


def __getattr__(name: str) -> str:
    """`unsnarl.__version__`, looked up only when asked: targets import this package, too."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import metadata  # noqa: PLC0415  slow to load

    return metadata.version("unsnarl")
