# SPDX-License-Identifier: Apache-2.0
"""The page's figures, as SVG. Without matplotlib (group `evaluation`) there are none."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evaluation import bugaboo_tables, recon_tables, windows
from evaluation.results import ALL, Results, Row

FOLDER = "figures"
STYLE = {"svg.hashsalt": "unsnarl", "font.size": 8, "svg.fonttype": "none"}
MISSING = (
    "*(The figure was not drawn: matplotlib, of the dependency group `evaluation`, is not "
    "installed. The figures behind it are in the table.)*"
)

Drawing = Callable[[Any], Any]


def draw_all(results: Results, found: Sequence[Row], folder: Path) -> dict[str, str]:
    """Draws every figure that there are results for; gives what the page says in its place."""
    drawings: dict[str, tuple[str, Drawing]] = {
        "recon-features": ("Features of reconstructions", lambda plt: _features(plt, found)),
        "recon-sensitivity": ("Share of causes found", lambda plt: _sensitivity(plt, found)),
        "bugaboo-convergence": ("New edges by run", lambda plt: _convergence(plt, found)),
        "falcon-windows": ("Window sizes by threads", lambda plt: _boxes(plt, results)),
    }
    plt = _pyplot()
    if plt is None:
        return dict.fromkeys(drawings, MISSING)
    folder.mkdir(parents=True, exist_ok=True)
    for name, (_, drawing) in drawings.items():
        figure = drawing(plt)
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
        plt.close(figure)
    return {name: f"![{text}]({FOLDER}/{name}.svg)" for name, (text, _) in drawings.items()}


def _pyplot() -> Any:
    """Only those who draw need matplotlib."""
    try:
        importlib.import_module("matplotlib").use("svg")
    except ImportError:
        return None
    plt = importlib.import_module("matplotlib.pyplot")
    plt.rcParams.update(STYLE)
    return plt


def _features(plt: Any, found: Sequence[Row]) -> Any:
    """Recon's figure 6 for the programs of its table 1: one row each, three pairs of features."""
    plotted = [row for row in found if any(draw.recon.features for draw in row.known)]
    figure, axes = plt.subplots(max(len(plotted), 1), 3, figsize=(7.5, 2.3 * len(plotted) + 0.5))
    axes = axes if len(plotted) > 1 else [axes]
    names = recon_tables.FEATURES
    for line, row in zip(axes, plotted, strict=False):
        features = next(draw.recon.features for draw in row.known if draw.recon.features)
        for axis, (x, y) in zip(line, ((0, 1), (0, 2), (1, 2)), strict=True):
            _scatter(axis, features, x, y)
            axis.set(xlabel=names[x], ylabel=names[y], title=f"{row.label}: {names[x]}, {names[y]}")
    figure.tight_layout()
    return figure


def _scatter(axis: Any, features: Sequence[tuple[Any, ...]], x: int, y: int) -> None:
    buggy = [one for one in features if one[3]]
    axis.plot([one[x] for one in features], [one[y] for one in features], ".", ms=3, c="0.45")
    axis.plot([one[x] for one in buggy], [one[y] for one in buggy], "o", ms=6, mfc="none", c="C3")
    axis.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05))


def _sensitivity(plt: Any, found: Sequence[Row]) -> Any:
    figure, axes = plt.subplots(1, len(recon_tables.TOPS), figsize=(7.5, 2.3), sharey=True)
    numbers = (*recon_tables.FEW, ALL)
    for axis, top in zip(axes, recon_tables.TOPS, strict=True):
        for method, style in (("recon", "s--"), ("joined", "o-")):
            pairs = [recon_tables.within(found, method, number, top) for number in numbers]
            shares = [100 * part / max(whole, 1) for part, whole in pairs]
            axis.plot(numbers, shares, style, label=method, ms=4)
        axis.set(xlabel="failing runs", title=f"top {top}", xticks=numbers, ylim=(0, 103))
    axes[0].set(ylabel="% of draws")
    axes[-1].legend(loc="lower right")
    return figure


def _convergence(plt: Any, found: Sequence[Row]) -> Any:
    """Bugaboo's figure 7."""
    plotted = [row for row in found if row.bug.name in bugaboo_tables.CONVERGING]
    figure, axes = plt.subplots(1, max(len(plotted), 1), figsize=(7.5, 2.5), sharey=True)
    axes = axes if len(plotted) > 1 else [axes]
    for axis, row in zip(axes, plotted, strict=False):
        for size in bugaboo_tables.SIZES:
            shares = bugaboo_tables.converged(row, size)
            axis.plot(range(2, 2 + len(shares)), shares, label=f"{size} events", lw=1)
        axis.set(title=row.label, xlabel="run")
    axes[0].set(ylabel="% edges added")
    if plotted:
        axes[-1].legend()
    return figure


def _boxes(plt: Any, results: Results) -> Any:
    """Falcon's figure 3: boxes from quartile to quartile, lines to the extremes."""
    figure, axes = plt.subplots(1, 2, figsize=(7.5, 2.8), sharey=True)
    titles = ("every pair of threads", "each pattern once")
    for axis, smallest, title in zip(axes, (False, True), titles, strict=True):
        axis.bxp(_five(results, smallest=smallest), showfliers=False)
        axis.set(xlabel="threads", title=title, ylim=(0, windows.WINDOW + 2))
    axes[0].set(ylabel="window size")
    return figure


def _five(results: Results, *, smallest: bool) -> list[dict[str, Any]]:
    fields = ("whislo", "q1", "med", "q3", "whishi")
    boxes = []
    for threads in sorted({one.threads for one in results.spans}):
        counted = windows.together(results.spans, threads, smallest=smallest)
        five = windows.five_numbers(counted)
        if five:
            boxes.append(dict(zip(fields, five, strict=True), label=str(threads), fliers=[]))
    return boxes
