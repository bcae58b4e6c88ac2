# SPDX-License-Identifier: Apache-2.0
"""`unsnarl simulate-hw TRACE…`: what hardware with notes in its caches would have found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from unsnarl.cli.shared import Decorator, check_json_file, json_option, write_json
from unsnarl.errors import warn

if TYPE_CHECKING:
    from unsnarl.workflows.simulate_hw import HardwareResult

# As in traces.hardware, which is too heavy to import for --help (Bugaboo 6.1).
MACHINE = {"cores": 16, "kilobytes": 32, "ways": 8, "line": 64, "entries": 1 << 14, "trap": 1 << 14}


def _size(name: str, text: str) -> Decorator:
    return click.option(
        f"--{name}",
        type=click.IntRange(min=0 if name == "trap" else 1),
        default=MACHINE[name],
        show_default=True,
        metavar="N",
        help=text,
    )


@click.command("simulate-hw")
@_size("cores", "Processors, up to 64; threads take them in turn.")
@_size("kilobytes", "Size of each processor's cache.")
@_size("ways", "Lines that a set of it holds.")
@_size("line", "Bytes of a cache line.")
@_size("entries", "Of the communication table.")
@_size("trap", "Accesses that go by while software reads the full table.")
@click.option(
    "--quiet-locks",
    is_flag=True,
    help="Operations on locks leave contexts alone.",
)
@click.option(
    "--context",
    type=click.IntRange(0, 5),
    default=5,
    show_default=True,
    metavar="N",
    help="Communication events in a context.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Code points to show.",
)
@json_option()
@click.argument("traces", nargs=-1, metavar="[TRACE]...")
def simulate_hw(
    traces: tuple[str, ...], json_file: str | None, context: int, top: int, **machine: Any
) -> int:
    """Rank what caches that remember writers would have collected.

    TRACE is an access trace, a run that has one, or a campaign; the newest campaign by default.
    With failing and passing runs, what only failing ones have is ranked; else, what is rare.

    \b
    Examples:
      unsnarl hunt --accesses -- ./program && unsnarl simulate-hw
      unsnarl simulate-hw --cores 4 .unsnarl/*/runs/*.trace
    """
    check_json_file(json_file)
    from unsnarl.workflows.simulate_hw import HardwareMachine  # noqa: PLC0415  heavy; not for --help
    from unsnarl.workflows.simulate_hw import simulate_hw as run  # noqa: PLC0415

    result = run(traces, HardwareMachine(**machine), context, on_warning=warn)
    if json_file is not None:
        from unsnarl.reports.render.json import indented  # noqa: PLC0415

        write_json(json_file, indented(_document(result, top)))
    if json_file != "-":
        for line in _lines(result, top):
            click.echo(line)
    return 0


def _document(result: HardwareResult, top: int) -> dict[str, Any]:
    from unsnarl.reports.render.json import plain  # noqa: PLC0415

    return {
        "version": 1,
        "campaign": result.campaign,
        "machine": plain(result.machine),
        "runs": {"failing": result.failing, "passing": result.passing},
        "signature": result.signature,
        "labelled": result.labelled,
        "counts": result.counts._asdict(),
        "graph": {
            "with_context": plain(result.with_context),
            "without_context": plain(result.without_context),
        },
        "points": [plain(point) for point in result.points[:top]],
    }


def _lines(result: HardwareResult, top: int) -> list[str]:
    from unsnarl.workflows.simulate_hw import rates  # noqa: PLC0415

    machine, counts, shown = result.machine, result.counts, rates(result.counts)
    traps = shown["traps"]
    figures = ", ".join(f"{name} {rate:.2f}" for name, rate in shown.items() if name != "traps")
    small, large = result.without_context, result.with_context
    lines = [
        f"{result.failing} failing and {result.passing} passing runs of {result.campaign}; "
        f"{machine.cores} cores, L1 of {machine.kilobytes} KB, {machine.ways} ways, "
        f"lines of {machine.line} bytes",
        f"{counts.accesses} accesses; per 10,000 of them: {figures}; per 10 million: traps "
        f"{traps:.1f}",
        f"graph: {large.nodes} nodes and {large.edges} edges; without contexts {small.nodes} and "
        f"{small.edges}",
    ]
    if counts.discarded:
        text = f"{counts.discarded} of {counts.table_writes} entries came during traps and are lost"
        lines.append(text)
    what = "only failing runs have" if result.labelled else "is rare"
    return [*lines, "", f"code points by what {what}:", *_ranked(result, top)]


def _ranked(result: HardwareResult, top: int) -> list[str]:
    if not result.points:
        return ["  none"]
    lines = [
        f"{one.rank:>4}  {one.value:8.4f}  {one.file}:{one.line} in {one.function}  "
        f"({one.runs} run{'s' if one.runs != 1 else ''})"
        for one in result.points[:top]
    ]
    more = len(result.points) - len(lines)
    return [*lines, *([f"      and {more} more (--top)"] if more > 0 else [])]
