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
@click.option("--fix-hints", is_flag=True, help="Say what to do about what is not in place.")
@json_option()
def doctor(json_file: str | None, folder: Folder | None, fix_hints: bool) -> int:
    """Check the installation.

    Looks at versions, the native core and processors, and lists the Pythons that can be used. Exits
    with 3 if a hunt could not work.

    \b
    Examples:
      unsnarl doctor
      unsnarl doctor --fix-hints
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
        _print(found, fix_hints)
    return EXIT_OK if found.healthy else EXIT_TOOL


def _document(found: Diagnosis) -> dict[str, Any]:
    return {
        "version": 1,
        "healthy": found.healthy,
        "checks": [one._asdict() for one in found.checks],
        "pythons": [_python(one) for one in found.pythons],
    }


def _python(check: Check) -> dict[str, Any]:
    return {"python": check.name, "ok": check.ok, "detail": check.detail, "hint": check.hint}


def _print(found: Diagnosis, fix_hints: bool) -> None:
    for check in found.checks:
        _print_check(check, "BAD", fix_hints)
    print("\nPythons on PATH:")
    for check in found.pythons:
        _print_check(check, "no ", fix_hints)
    if not fix_hints and not found.healthy:
        print("\nwhat to do about it: unsnarl doctor --fix-hints")


def _print_check(check: Check, bad: str, fix_hints: bool) -> None:
    print(f"{'ok ' if check.ok else bad}  {check.name:<12} {check.detail}")
    if fix_hints and check.hint:
        print(f"     {'':<12} -> {check.hint}")
