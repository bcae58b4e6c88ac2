# SPDX-License-Identifier: Apache-2.0
"""From a flaky multi-threaded program to the interleaving that breaks it.

    import unsnarl
    report = unsnarl.hunt(function)  # or a command: unsnarl.hunt("pytest tests/test_x.py")
    print(unsnarl.text(report))

It is a pytest plugin, too, and imported before pytest is in hunted processes: PYTEST_DONT_REWRITE
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which is slow to load
if TYPE_CHECKING:
    from typing import Any

    from unsnarl.api import (
        InterleavingError,
        ReplayResult,
        Report,
        UnsnarlError,
        VerifyResult,
        check,
        hunt,
        replay,
        report,
        text,
        verify,
    )

__all__ = [
    "InterleavingError",
    "ReplayResult",
    "Report",
    "UnsnarlError",
    "VerifyResult",
    "check",
    "hunt",
    "replay",
    "report",
    "text",
    "verify",
]


def __getattr__(name: str) -> Any:
    """All of it is looked up only when asked: targets and compilers import this package, too."""
    if name == "__version__":
        from importlib import metadata  # noqa: PLC0415  slow to load

        return metadata.version("unsnarl")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module("unsnarl.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
