"""The audit's tables and figure, from measured metrics only."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from audit_rows import METRICS, Figures, Row
from scipy.stats import ttest_1samp

from mtlv.evaluation.significance import FEWEST, holm
from mtlv.figures import canvas

HEADINGS = {
    "f1_macro": "F1 macro",
    "f1_micro": "F1 micro",
    "subset_accuracy": "subset accuracy",
    "hamming_score": "Jaccard score",
}
COLUMNS = (
    *("section", "row", "title", "twin", "metric", "seeds", "mean", "sd"),
    *("difference", "low", "high", "p", "p_holm", "verdict"),
)


@dataclass(frozen=True)
class Line:
    """A row with its measured metrics.

    Args:
        row: the row.
        seeds: seeds for which the row, and its twin if it has one, were measured.
        values: metric -> one value per seed.
        differences: metric -> one difference from the twin per seed; empty without a twin.
    """

    row: Row
    seeds: tuple[int, ...]
    values: Mapping[str, list[float]]
    differences: Mapping[str, list[float]]


def measured(rows: Sequence[Row], found: Mapping[str, Mapping[int, Figures]]) -> list[Line]:
    """Return lines of the rows that were measured.

    Args:
        rows: rows, in the order of the table.
        found: row id -> seed -> metrics.
    """
    out = []
    for row in rows:
        own, twin = found.get(row.id, {}), found.get(row.twin or "", {})
        seeds = tuple(sorted(own.keys() & twin.keys() if row.twin else own))
        if not seeds:
            continue
        names = (*METRICS, "threshold")
        out.append(
            Line(
                row,
                seeds,
                {m: [own[s][m] for s in seeds] for m in names},
                {m: [own[s][m] - twin[s][m] for s in seeds] for m in names} if row.twin else {},
            )
        )
    return out


def spread(values: Sequence[float]) -> float | None:
    """Return the standard deviation over seeds (ddof 1); None for a single seed."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def interval(line: Line, metric: str) -> tuple[float, float] | None:
    """Return Student's 95% interval of the mean of the paired differences.

    None with fewer than three seeds, or if all differences are 0: then the defect changed nothing.
    """
    gaps = line.differences.get(metric, [])
    if not any(gaps) or len(gaps) < FEWEST:
        return None
    low, high = ttest_1samp(gaps, 0).confidence_interval(0.95)
    return float(low), float(high)


def verdict(line: Line, metric: str) -> str:
    """Return the verdict: `higher` or `lower` if the interval excludes 0 (as in `docs/transfer.md`)."""
    if not line.differences:
        return ""
    known = interval(line, metric)
    if known is None:
        return "too few seeds" if any(line.differences[metric]) else "none"
    low, high = known
    return "higher" if low > 0 else "lower" if high < 0 else "not shown"


def p_values(lines: Sequence[Line]) -> dict[tuple[str, str], tuple[float | None, float | None]]:
    """Return (row, metric) -> p of the paired t-test, and p after Holm's correction for all intervals."""
    judged = [(line, metric) for line in lines for metric in METRICS if interval(line, metric)]
    found = [float(ttest_1samp(line.differences[metric], 0).pvalue) for line, metric in judged]
    keys = [(line.row.id, metric) for line, metric in judged]
    return dict(zip(keys, zip(found, holm(found), strict=True), strict=True))


def write_csv(lines: Sequence[Line], path: Path) -> None:
    """Write a line per row and metric; numbers have 6 decimals."""
    tests = p_values(lines)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for line in lines:
            for metric in METRICS:
                values, gaps = line.values[metric], line.differences.get(metric, [])
                numbers = [np.mean(values), spread(values), np.mean(gaps) if gaps else None]
                numbers += interval(line, metric) or (None, None)
                numbers += tests.get((line.row.id, metric), (None, None))
                row = line.row
                start = (row.section, row.id, row.title, row.twin or "", metric, len(line.seeds))
                cells = ("" if n is None else f"{n:.6f}" for n in numbers)
                writer.writerow([*start, *cells, verdict(line, metric)])


def write_seeds(lines: Sequence[Line], path: Path) -> None:
    """Write a line per row and seed with the measured metrics."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["row", "twin", "seed", *METRICS, "threshold"])
        for line in lines:
            for i, seed in enumerate(line.seeds):
                numbers = [f"{line.values[m][i]:.6f}" for m in (*METRICS, "threshold")]
                writer.writerow([line.row.id, line.row.twin or "", seed, *numbers])


def read_seeds(path: Path) -> dict[str, dict[int, Figures]]:
    """Return row id -> seed -> metrics from a file of `write_seeds`."""
    out: dict[str, dict[int, Figures]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for cells in csv.DictReader(file):
            figures = {m: float(cells[m]) for m in (*METRICS, "threshold")}
            out.setdefault(cells["row"], {})[int(cells["seed"])] = figures
    return out


def table(lines: Sequence[Line]) -> str:
    """Return the table in Markdown, in hundredths; a difference is bold if its interval excludes 0."""
    head = ["", "seeds", *HEADINGS.values()]
    out = ["| " + " | ".join(head) + " |", "| --- | ---: |" + " ---: |" * len(METRICS)]
    section = ""
    for line in lines:
        if line.row.section != section:
            section = line.row.section
            out.append(f"| **{section}** | |" + " |" * len(METRICS))
        out.append(f"| {line.row.title} | {len(line.seeds)} | " + " | ".join(_cells(line)) + " |")
        if line.differences:
            gaps = " | ".join(_gap(line, metric) for metric in METRICS)
            out.append(f"| ↳ difference to `{line.row.twin}` | | {gaps} |")
    return "\n".join(out) + "\n"


def _cells(line: Line) -> list[str]:
    return [_number(line.values[metric]) for metric in METRICS]


def _number(values: Sequence[float]) -> str:
    noise = spread(values)
    tail = "" if noise is None else f" ± {100 * noise:.1f}"
    return f"{100 * float(np.mean(values)):.1f}{tail}"


def _gap(line: Line, metric: str) -> str:
    gaps = line.differences[metric]
    if not any(gaps):
        return "0"
    text, known = f"{100 * float(np.mean(gaps)):+.1f}", interval(line, metric)
    if known is None:
        return f"{text} (one seed)" if len(gaps) == 1 else f"{text} ({len(gaps)} seeds)"
    if verdict(line, metric) in ("higher", "lower"):
        text = f"**{text}**"
    return f"{text} ({100 * known[0]:+.1f} to {100 * known[1]:+.1f})"


def draw(lines: Sequence[Line], path: Path, *, title: str) -> Path:
    """Draw macro F1 and the column "subset accuracy", without and with the defect, joined by a line."""
    pairs = [line for line in lines if line.differences]
    with canvas.style():
        height = 1.6 + 0.36 * (len(pairs) + len({p.row.section for p in pairs}))
        figure = canvas.new_figure(11.5, height, title, 150)
        axes = figure.subplots(1, 2, sharey=True)
        for ax, metric in zip(axes, ("f1_macro", "subset_accuracy"), strict=True):
            _panel(ax, pairs, metric)
        _row_names(axes[0], pairs)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        return canvas.save(figure, path)


def _places(pairs: Sequence[Line]) -> tuple[list[float], list[tuple[float, str]]]:
    """Return the position of each row, and of each section's heading above its rows."""
    places, heads, at, section = [], [], 0.0, ""
    for line in pairs:
        if line.row.section != section:
            section = line.row.section
            heads.append((at, section))
            at += 1
        places.append(at)
        at += 1
    return places, heads


def _panel(ax: Any, pairs: Sequence[Line], metric: str) -> None:
    places, heads = _places(pairs)
    wrong = np.array([np.mean(line.values[metric]) for line in pairs])
    gaps = np.array([np.mean(line.differences[metric]) for line in pairs])
    right = wrong - gaps
    known = [interval(line, metric) or (0.0, 0.0) for line in pairs]
    half = np.array([(high - low) / 2 for low, high in known])
    bars = {"fmt": "none", "ecolor": canvas.ORANGE, "elinewidth": 1, "capsize": 2.5, "zorder": 2}
    ax.hlines(places, right, wrong, color=canvas.GREY, linewidth=1.2, zorder=1)
    ax.errorbar(wrong, places, xerr=half, **bars)
    ax.plot(right, places, "o", color=canvas.BLUE, markersize=6.5, label="honest twin", zorder=3)
    label = "with the defect (95% interval of the difference, from three seeds on)"
    ax.plot(wrong, places, "D", color=canvas.ORANGE, markersize=5, label=label, zorder=4)
    for line, place, edge, gap in zip(pairs, places, np.maximum(right, wrong + half), gaps, strict=True):
        text = f"{100 * gap:+.1f}" if abs(gap) >= 5e-5 else "0"
        weight = "bold" if verdict(line, metric) in ("higher", "lower") else "normal"
        ax.annotate(
            text, (edge, place), (9, 0), textcoords="offset points", va="center", fontsize=8, weight=weight
        )
    for place, _ in heads:
        ax.axhline(place - 0.5, color="#dadce0", linewidth=0.6)
    low, high = min(right.min(), (wrong - half).min()), max(right.max(), (wrong + half).max())
    ax.set_xlim(low - 0.04, high + 0.13 * (high - low) + 0.02)
    ax.set_xlabel(
        f"{HEADINGS[metric]}, as the column says" if metric == "subset_accuracy" else HEADINGS[metric]
    )
    ax.grid(axis="x", color="#dadce0", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(length=0)
    canvas.bare(ax)


def _row_names(ax: Any, pairs: Sequence[Line]) -> None:
    places, heads = _places(pairs)
    marks = [(place, line.row.title, "normal") for place, line in zip(places, pairs, strict=True)]
    marks += [(place, section, "bold") for place, section in heads]
    marks.sort()
    ax.set_yticks([m[0] for m in marks], [m[1] for m in marks])
    for label, (_, _, weight) in zip(ax.get_yticklabels(), marks, strict=True):
        label.set_fontweight(weight)
    ax.set_ylim(max(places) + 0.7, -0.7)
