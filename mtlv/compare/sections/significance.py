"""Which differences between runs are more than chance, and which cannot be decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mtlv.compare.blocks import Block, Column, Figure, Section, Table, Text
from mtlv.compare.comparison import Comparison
from mtlv.compare.judged import SCORE_SAID, plan_title, titled
from mtlv.compare.pairs import short_names
from mtlv.compare.sections.parts import enumerated, tip
from mtlv.compare.tested import Tested, tested_pairs
from mtlv.compare.verdicts import dependence, finding, follows, signed
from mtlv.evaluation.bootstrap import DOCUMENT_RESAMPLES, RESAMPLES, Interval, not_of_sums
from mtlv.evaluation.significance import ALPHA, fewest_pairs

BETTER, OPEN, WORSE = "run is better", "cannot tell", "other is better"
COLOURS = {BETTER: "#0072B2", OPEN: "#7F7F7F", WORSE: "#D55E00"}  # Okabe and Ito; never red against green
VALUES, DOCUMENTS = "folds and seeds", "test documents"

COLUMNS = (
    Column("name", "run", "text"),
    Column("other_name", "other", "text"),
    Column("n", "pairs", digits=0),
    Column("mean", "difference", signed=True),
    Column("follows", "what follows", "text"),
    Column("interval", "95% interval", "text"),
    Column("wilcoxon_p", "Wilcoxon p", digits=4),
    Column("wilcoxon_holm", "after Holm", digits=4),
    Column("wilcoxon_method", "computed", "text"),
    Column("rank_biserial", "rank-biserial r", digits=2, signed=True),
    Column("t_p", "t-test p", digits=4),
    Column("t_holm", "after Holm", digits=4),
    Column("d_z", "Cohen's d_z", digits=2, signed=True),
    Column("documents", "95% over documents", "text"),
)
MICRO = Column("documents_micro", "the same, micro F1", "text")


def build(comparison: Comparison) -> Section | None:
    """The section; nothing where no two runs have the same data and a common fold and seed."""
    tested = tested_pairs(comparison)
    if not tested:
        return None
    blocks: list[Block] = [Text(finding(tested), "finding")]
    caution = dependence(tested)
    if caution:
        blocks.append(Text(caution))
    blocks += _not_drawn(comparison)
    blocks += [_forest(comparison, tested), _table(comparison, tested)]
    return Section(
        "significance",
        "Significance",
        f"Whether one run is better than another, or only luckier: differences in {plan_title(comparison)} "
        f"on the test set, run minus other, paired by fold and seed.{f' {SCORE_SAID}' * comparison.scored}",
        blocks,
    )


def _not_drawn(comparison: Comparison) -> list[Text]:
    """Which tasks keep documents from being drawn anew."""
    tasks = not_of_sums([task.task for task in comparison.tasks])
    if not tasks:
        return []
    named = enumerated([f"“{task.name}” ({titled(task.main_metric)})" for task in tasks])
    said = "Test documents are not drawn anew for runs with tasks whose figure is no sum over documents"
    return [Text(f"{said}: {named}.")]


def _table(comparison: Comparison, tested: Sequence[Tested]) -> Table:
    counted = sum(pair.wilcoxon_holm is not None for pair in tested)
    counted_t = sum(pair.t_holm is not None for pair in tested)
    some = len(comparison.runs) > len(comparison.shown)
    which = " Here are the pairs of runs that are on when the page opens, and all others with the baseline."
    return Table(
        "significance",
        "Pairs of runs" if some else "Every pair of runs",
        f"Each row compares two runs with the same data on {_counts(tested)}. Wilcoxon's signed-rank test "
        "and the paired t-test are two-sided; Wilcoxon's p is exact up to 50 pairs. Holm's correction runs "
        f"over the {counted} Wilcoxon and the {counted_t} t-tests of this table, hidden rows included. No p "
        f"stands where the pairs are too few to decide at {ALPHA:g} (Wilcoxon needs {fewest_pairs()}). The "
        f"interval of the mean difference is a percentile bootstrap of {RESAMPLES:,} resamples over folds "
        "and seeds; with fewer than about ten pairs it is too narrow. The effect r goes from -1 (other "
        "always better) to +1, d_z is the mean in standard deviations. Over documents: "
        f"{DOCUMENT_RESAMPLES:,} resamples of the test documents, for runs that are on when the page opens."
        + (which if some else ""),
        (*COLUMNS, MICRO) if any(pair.documents and pair.documents.micro for pair in tested) else COLUMNS,
        [_row(pair) for pair in tested],
    )


def _counts(tested: Sequence[Tested]) -> str:
    low, high = (end(pair.values.n for pair in tested) for end in (min, max))
    if high == 1:
        return "one fold and seed"
    return f"{high} folds and seeds" if low == high else f"{low} to {high} folds and seeds"


def _row(pair: Tested) -> dict[str, Any]:
    values, documents = pair.values, pair.documents
    return {
        "run": pair.run.key,
        "other": pair.other.key,
        "name": pair.run.name,
        "other_name": pair.other.name,
        "n": values.n,
        "mean": values.mean,
        **_ends("interval", values.interval),
        "wilcoxon_p": values.wilcoxon.p,
        "wilcoxon_holm": pair.wilcoxon_holm,
        "wilcoxon_method": None if values.wilcoxon.p is None else values.wilcoxon.method,
        "rank_biserial": values.wilcoxon.effect,
        "t_p": values.t.p,
        "t_holm": pair.t_holm,
        "d_z": values.t.effect,
        **_ends("documents", documents.main if documents else None),
        **_ends("documents_micro", documents.micro if documents else None),
        "follows": follows(pair),
    }


def _ends(key: str, interval: Interval | None) -> dict[str, Any]:
    """The interval as text for people, and its ends as numbers for programs."""
    if interval is None:
        return {key: None, f"{key}_low": None, f"{key}_high": None}
    text = f"{signed(interval.low)} to {signed(interval.high)}"
    return {key: text, f"{key}_low": interval.low, f"{key}_high": interval.high}


def _forest(comparison: Comparison, tested: Sequence[Tested]) -> Figure:
    short, figure = short_names(comparison.runs), plan_title(comparison)
    return Figure(
        "significance_forest",
        "Differences between runs",
        f"The mean difference in {figure} of each pair of runs (dot) with its 95% interval (line). Solid: "
        "over folds and seeds; dashed: over test documents drawn anew. Right of zero the first run is "
        "better, left of it the second; a line that holds zero is grey and decides nothing. The p-values "
        "stand in the table.",
        _spec(figure),
        [row for pair in tested for row in _forest_rows(pair, short)],
        wide=True,
    )


def _forest_rows(pair: Tested, short: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    base = {
        "run": pair.run.key,
        "other": pair.other.key,
        "name": pair.run.name,
        "other_name": pair.other.name,
        "pair": f"{short[pair.run.key]}  −  {short[pair.other.key]}",
        "mean": pair.values.mean,
        "n": pair.values.n,
    }
    documents = pair.documents.main if pair.documents else None
    for over, interval in ((VALUES, pair.values.interval), (DOCUMENTS, documents)):
        if interval is not None:
            yield base | _place(over, interval, pair.values.mean)
    if pair.values.interval is None and documents is None:
        yield base | {"over": VALUES, "low": None, "high": None, "verdict": OPEN}


def _place(over: str, interval: Interval, mean: float) -> dict[str, Any]:
    verdict = OPEN if not interval.without_zero else BETTER if mean > 0 else WORSE
    return {"over": over, "low": interval.low, "high": interval.high, "verdict": verdict}


_TOOLTIP = [
    tip("name", "run"),
    tip("other_name", "other"),
    tip("over", "interval over"),
    tip("mean", "mean difference", "+.4f"),
    tip("low", "from", "+.4f"),
    tip("high", "to", "+.4f"),
    tip("n", "folds and seeds", "d"),
]
_COLOUR = {
    "field": "verdict",
    "type": "nominal",
    "title": "interval says",
    "legend": {"orient": "top"},
    "scale": {"domain": list(COLOURS), "range": list(COLOURS.values())},
}
_DASH = {
    "field": "over",
    "type": "nominal",
    "title": "interval over",
    "legend": {"orient": "top"},
    "scale": {"domain": [VALUES, DOCUMENTS], "range": [[1, 0], [4, 3]]},
}


def _spec(figure: str) -> dict[str, Any]:
    return {
        "width": "container",
        "height": {"step": 11, "for": "offset"},
        "encoding": {
            "y": {
                "field": "pair",
                "type": "nominal",
                "sort": {"field": "mean", "op": "max", "order": "descending"},
                "axis": {"title": None, "labelLimit": 360, "ticks": False, "domain": False},
            },
            "yOffset": {"field": "over", "type": "nominal", "sort": [VALUES, DOCUMENTS]},
            "tooltip": _TOOLTIP,
        },
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 1.5, "color": "#7F7F7F"},
                "encoding": {"x": {"datum": 0}, "y": None, "yOffset": None, "tooltip": None},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 2.5},
                "encoding": {
                    "x": {"field": "low", "type": "quantitative", "title": f"difference in {figure}"},
                    "x2": {"field": "high"},
                    "color": _COLOUR,
                    "strokeDash": _DASH,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {
                    "x": {"field": "mean", "type": "quantitative", "axis": {"format": "+.3~g"}},
                    "color": _COLOUR,
                },
            },
        ],
    }
