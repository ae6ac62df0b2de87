"""Draw results from their JSON: python benchmarks/figure.py [NAME ...]; without a name, all of results/."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

from harness import RESULTS, number

OURS, OTHERS = "#1f6fb4", "#a9bccd"


def draw(content: dict[str, Any], path: Path) -> None:
    """Draw a panel for each row and a bar for each peer, with a line from lowest to highest value."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    rows = content["values"]
    tall = [len(peers) for peers in rows.values()]
    apart = content.get("apart", False)
    height = 0.9 + sum(0.27 * bars + (0.75 if apart else 0.4) for bars in tall)
    figure, panels = pyplot.subplots(
        len(rows),
        figsize=(8, height),
        layout="constrained",
        squeeze=False,
        sharex=not apart,
        height_ratios=[bars + 0.5 for bars in tall],
    )
    most = [max(value for values in peers.values() for value in values) for peers in rows.values()]
    for axes, (row, peers), own in zip(panels[:, 0], rows.items(), most, strict=True):
        _panel(axes, row, peers, 1.15 * (own if apart else max(most)) or 1)
        axes.tick_params(axis="x", bottom=apart or axes is panels[-1, 0])
    unit = content["unit"]
    panels[-1, 0].set_xlabel(f"{unit}: median, lowest to highest", fontsize=9)
    figure.suptitle(content["title"], fontsize=11)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _panel(axes: Any, row: str, peers: dict[str, list[float]], right: float) -> None:
    ours = {name for name in peers if "mtlv" in name}
    for place, (name, values) in enumerate(peers.items()):
        middle = median(values)
        error = [[middle - min(values)], [max(values) - middle]]
        colour = OURS if name in ours or not ours else OTHERS
        axes.barh(place, middle, xerr=error, color=colour, height=0.7, error_kw={"lw": 1})
        axes.annotate(
            number(middle),
            (max(values), place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.set_yticks(range(len(peers)), list(peers), fontsize=9)
    axes.set_ylim(len(peers) - 0.4, -0.6)
    axes.set_title(row, loc="left", fontsize=9, fontweight="bold", pad=3)
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, right)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> int:
    """Draw the figure of each result."""
    for name in sys.argv[1:] or sorted(path.stem for path in RESULTS.glob("*.json")):
        content = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        if "values" in content:
            draw(content, RESULTS / f"{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
