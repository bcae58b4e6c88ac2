# SPDX-License-Identifier: Apache-2.0
"""`unsnarl doctor`: is everything in place?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from unsnarl.cli.shared import check_json_file, json_option, write_json
from unsnarl.errors import EXIT_OK, EXIT_TOOL

if TYPE_CHECKING:
    from unsnarl.workflows.doctor import Check, Diagnosis, Folder

# As in workflows.doctor, which is not loaded for --help.
FOLDERS = ("cmake", "pkgconfig")


@click.command()
@click.option(
    "--folder",
    type=click.Choice(FOLDERS),
    help="Print only the folder of the CMake package (unsnarl_DIR) or of the pkg-config files.",
)
@json_option()
def doctor(json_file: str | None, folder: Folder | None) -> int:
    """Check the installation.

    Looks at versions, the native core and processors, and lists the Pythons that can be used. Exits
    with 3 if a hunt could not work.

    \b
    Examples:
      unsnarl doctor
      cmake -B out -Dunsnarl_DIR=$(unsnarl doctor --folder cmake)
    """
    from unsnarl.workflows import doctor as workflow  # noqa: PLC0415  not for --help

    if folder is not None:
        print(workflow.folder(folder))
        return EXIT_OK
    check_json_file(json_file)
    found = workflow.doctor()
    if json_file is not None:
        from unsnarl.reports.render.json import indented  # noqa: PLC0415  heavy

        write_json(json_file, indented(_document(found)))
    else:
        _print(found)
    return EXIT_OK if found.healthy else EXIT_TOOL


def _document(found: Diagnosis) -> dict[str, Any]:
    return {
        "version": 1,
        "healthy": found.healthy,
        "checks": [{"name": n, "ok": good, "detail": d} for n, good, d in found.checks],
        "pythons": [{"python": n, "ok": good, "detail": d} for n, good, d in found.pythons],
    }


def _print(found: Diagnosis) -> None:
    for check in found.checks:
        _print_check(check, "BAD")
    print("\nPythons on PATH:")
    for check in found.pythons:
        _print_check(check, "no ")


def _print_check(check: Check, bad: str) -> None:
    print(f"{'ok ' if check.ok else bad}  {check.name:<12} {check.detail}")
