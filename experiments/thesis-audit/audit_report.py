"""The audit's table and figure, from nothing but measured scores."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from audit_rows import METRICS, Figures, Row

from mtlv.compare import canvas

HEADINGS = {
    "f1_macro": "F1 macro",
    "f1_micro": "F1 micro",
    "subset_accuracy": "subset accuracy",
    "hamming_score": "Jaccard score",
}
COLUMNS = (
    *("section", "row", "title", "twin", "metric", "seeds"),
    *("mean", "sd", "difference", "difference_sd", "twin_sd", "verdict"),
)
LEAST_SEEDS = 3  # fewer give no spread worth the name


@dataclass(frozen=True)
class Line:
    """A row as measured.

    Args:
        row: what it is.
        seeds: those for which it was measured; with a twin, those for which both were.
        values: metric -> one value per seed.
        differences: metric -> one difference from the twin per seed; empty without a twin.
        twin_values: metric -> the twin's values over all its own seeds.
    """

    row: Row
    seeds: tuple[int, ...]
    values: Mapping[str, list[float]]
    differences: Mapping[str, list[float]]
    twin_values: Mapping[str, list[float]]


def measured(rows: Sequence[Row], found: Mapping[str, Mapping[int, Figures]]) -> list[Line]:
    """Lines of the rows of which something was measured.

    Args:
        rows: in the order wanted.
        found: row id -> seed -> figures.
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
                {m: [twin[s][m] for s in sorted(twin)] for m in names},
            )
        )
    return out


def spread(values: Sequence[float]) -> float | None:
    """Standard deviation over seeds (ddof 1); None for a single one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def verdict(line: Line, metric: str) -> str:
    """Whether a difference is larger than what the seeds alone do.

    That is the standard deviation of the honest twin, or that of the difference itself where it is larger.
    """
    if not line.differences:
        return ""
    if not any(line.differences[metric]):
        return "none"
    known = [spread(values) for values in (line.twin_values[metric], line.differences[metric])]
    noise = max((value for value in known if value is not None), default=None)
    if noise is None:
        return "one seed: not known"
    mean = float(np.mean(line.differences[metric]))
    few = "" if min(len(line.seeds), len(line.twin_values[metric])) >= LEAST_SEEDS else ", few seeds"
    return ("above the seeds' spread" if abs(mean) > noise else "within the seeds' spread") + few


def write_csv(lines: Sequence[Line], path: Path) -> None:
    """A line per row and metric; fractions with 6 decimals."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for line in lines:
            for metric in METRICS:
                values, gaps = line.values[metric], line.differences.get(metric, [])
                numbers = [np.mean(values), spread(values), np.mean(gaps) if gaps else None]
                numbers += [spread(gaps), spread(line.twin_values[metric])]
                mean, sd, *rest = ("" if n is None else f"{n:.6f}" for n in numbers)
                row = line.row
                start = (row.section, row.id, row.title, row.twin or "", metric, len(line.seeds))
                writer.writerow([*start, mean, sd, *rest, verdict(line, metric)])


def write_seeds(lines: Sequence[Line], path: Path) -> None:
    """A line per row and seed: the figures as they were measured."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["row", "twin", "seed", *METRICS, "threshold"])
        for line in lines:
            for i, seed in enumerate(line.seeds):
                numbers = [f"{line.values[m][i]:.6f}" for m in (*METRICS, "threshold")]
                writer.writerow([line.row.id, line.row.twin or "", seed, *numbers])


def table(lines: Sequence[Line]) -> str:
    """The table in Markdown, in hundredths; a difference is bold where it passes the seeds' spread."""
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


def _number(values: Sequence[float], sign: str = "") -> str:
    noise = spread(values)
    tail = "" if noise is None else f" ± {100 * noise:.1f}"
    return f"{100 * float(np.mean(values)):{sign}.1f}{tail}"


def _gap(line: Line, metric: str) -> str:
    text = _number(line.differences[metric], "+")
    said = verdict(line, metric)
    if said == "none":
        return "0"
    if said.startswith("within"):
        return f"{text} (≤ spread)"
    if len(line.seeds) == 1:
        return f"{text} (one seed)"
    return f"{text} (few seeds)" if said.endswith("few seeds") else f"**{text}**"


def draw(lines: Sequence[Line], path: Path, *, title: str) -> Path:
    """Macro F1 and the column "subset accuracy": honest and with the defect, joined by a line."""
    pairs = [line for line in lines if line.differences]
    with canvas.style():
        figure = canvas.new_figure(11.5, 1.6 + 0.36 * (len(pairs) + len({p.row.section for p in pairs})))
        figure.suptitle(title, x=0.01, ha="left", weight="bold", size=11)
        axes = figure.subplots(1, 2, sharey=True)
        for ax, metric in zip(axes, ("f1_macro", "subset_accuracy"), strict=True):
            _panel(ax, pairs, metric)
        _row_names(axes[0], pairs)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        return canvas.save(figure, path)


def _places(pairs: Sequence[Line]) -> tuple[list[float], list[tuple[float, str]]]:
    """Height of each row, and of each section's heading above its rows."""
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
    noise = np.array([spread(line.twin_values[metric]) or 0.0 for line in pairs])
    ax.hlines(places, right, wrong, color=canvas.GREY, linewidth=1.2, zorder=1)
    ax.errorbar(
        right, places, xerr=noise, fmt="none", ecolor=canvas.BLUE, elinewidth=1, capsize=2.5, zorder=2
    )
    ax.plot(
        right,
        places,
        "o",
        color=canvas.BLUE,
        markersize=6.5,
        label="honest twin (± its sd over seeds)",
        zorder=3,
    )
    ax.plot(wrong, places, "D", color=canvas.ORANGE, markersize=5, label="with the defect", zorder=4)
    for place, a, b, gap in zip(places, right + noise, wrong, gaps, strict=True):
        text = f"{100 * gap:+.1f}" if abs(gap) >= 5e-5 else "0"
        ax.annotate(text, (max(a, b), place), (9, 0), textcoords="offset points", va="center", fontsize=8)
    for place, _ in heads:
        ax.axhline(place - 0.5, color="#dadce0", linewidth=0.6)
    low, high = min(right.min(), wrong.min()), max((right + noise).max(), wrong.max())
    ax.set_xlim(max(0, low - 0.04), high + 0.13 * (high - low) + 0.02)
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
