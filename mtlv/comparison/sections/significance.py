"""Differences between runs that are larger than chance, and those that are undecided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mtlv.comparison.blocks import Block, FigureBlock, Section, TableBlock, TableColumn, TextBlock
from mtlv.comparison.pairwise_tests import PairwiseTest, compare_with_intervals
from mtlv.comparison.parts import learned_nothing
from mtlv.comparison.parts.channels import GREY, dots, label, number, run_axis, tip
from mtlv.comparison.verdict_words import dependence, finding, follows, interval_text
from mtlv.evaluation.bootstrap import DOCUMENT_RESAMPLES, not_of_sums
from mtlv.evaluation.compared_runs import Comparison
from mtlv.evaluation.pairs import short_names
from mtlv.evaluation.significance import ALPHA, Interval, fewest_pairs
from mtlv.formatting import list_first
from mtlv.reporting.metric_titles import HOW_SCORE, metric_title, plan_title

BETTER, OPEN, WORSE = "run is better", "cannot tell", "other is better"
SIGNS = {1: BETTER, 0: OPEN, -1: WORSE}
COLOURS = {BETTER: "#0072B2", OPEN: GREY, WORSE: "#D55E00"}  # Okabe and Ito; never red against green
MINUS = "  −  "  # between the names of a pair, which are on two lines
TWO_NAMES = f"[split(datum.label, '{MINUS}')[0] + ' −', split(datum.label, '{MINUS}')[1]]"
ROW = 30  # pixels of a pair: two lines of text
VALUES, DOCUMENTS = "folds and seeds", "test documents"

COLUMNS = (
    TableColumn("name", "run", "text"),
    TableColumn("other_name", "other", "text"),
    TableColumn("n", "pairs", digits=0),
    TableColumn("mean", "difference", signed=True),
    TableColumn("follows", "conclusion", "text"),
    TableColumn("interval", "95% interval", "text"),
    TableColumn("wilcoxon_p", "Wilcoxon p", digits=4),
    TableColumn("wilcoxon_holm", "after Holm", digits=4),
    TableColumn("wilcoxon_method", "computed", "text"),
    TableColumn("rank_biserial", "rank-biserial r", digits=2, signed=True),
    TableColumn("t_p", "t-test p", digits=4),
    TableColumn("t_holm", "after Holm", digits=4),
    TableColumn("d_z", "Cohen's d_z", digits=2, signed=True),
    TableColumn("documents", "95% over documents", "text"),
)
MICRO = TableColumn("documents_micro", "the same, micro F1", "text")


def build(comparison: Comparison) -> Section | None:
    """Build the section; None if no two runs have the same data and a common fold and seed."""
    tested = compare_with_intervals(comparison)
    if not tested:
        return None
    blocks: list[Block] = [TextBlock(finding(tested), "finding")]
    left = [f"“{run.name}”" for run in learned_nothing(comparison)]
    if left:
        blocks.append(TextBlock(f"Not tested, because nothing was learned: {list_first(left)}."))
    caution = dependence(tested)
    if caution:
        blocks.append(TextBlock(caution))
    if undrawn := not_of_sums(comparison.tasks):
        names = list_first([f"“{task.name}” ({metric_title(task.main_metric)})" for task in undrawn])
        text = "Test documents are not resampled for runs with tasks whose metric is not a sum over documents"
        blocks.append(TextBlock(f"{text}: {names}."))
    blocks += [_forest(comparison, tested), _table(comparison, tested)]
    return Section(
        "significance",
        "Significance",
        f"Whether one run is better than another or only by chance: differences in {plan_title(comparison)} "
        f"on the test set, run minus other, paired by fold and seed.{f' {HOW_SCORE}' * comparison.scored}",
        blocks,
    )


def _table(comparison: Comparison, tested: Sequence[PairwiseTest]) -> TableBlock:
    counted = sum(pair.verdict.wilcoxon_holm is not None for pair in tested)
    counted_t = sum(pair.verdict.t_holm is not None for pair in tested)
    some = len(comparison.runs) > len(comparison.shown)
    which = " The table has the pairs of runs shown when the page opens, and all others with the baseline."
    return TableBlock(
        "significance",
        "Pairs of runs" if some else "Every pair of runs",
        f"Each row compares two runs with the same data on {_counts(tested)}. Wilcoxon's signed-rank test "
        "and the paired t-test are two-sided; Wilcoxon's p is exact up to 50 pairs. Holm's correction "
        f"covers the {counted} Wilcoxon and the {counted_t} t-tests of this table, including hidden rows. "
        f"There is no p if there are too few pairs to decide at {ALPHA:g} (Wilcoxon needs "
        f"{fewest_pairs()}). The interval is Student's, for the mean difference of this pair of runs "
        "alone. The effect size r ranges from -1 (other always better) to +1; d_z is the mean in standard "
        f"deviations. Over documents: {DOCUMENT_RESAMPLES:,} resamples of the test documents, for runs "
        "shown when the page opens." + (which if some else ""),
        (*COLUMNS, MICRO) if any(pair.documents and pair.documents.micro for pair in tested) else COLUMNS,
        [_row(pair) for pair in tested],
    )


def _counts(tested: Sequence[PairwiseTest]) -> str:
    low, high = (end(pair.values.n for pair in tested) for end in (min, max))
    if high == 1:
        return "one fold and seed"
    kinds = {pair.over for pair in tested if pair.values.n > 1}
    what = f"{kinds.pop()}s" if len(kinds) == 1 else "folds or seeds"
    return f"{high} {what}" if low == high else f"{low} to {high} {what}"


def _row(pair: PairwiseTest) -> dict[str, Any]:
    values, documents = pair.values, pair.documents
    return _of_pair(pair) | {
        "n": values.n,
        "paired_by": pair.over,
        "mean": values.mean,
        "verdict": SIGNS[pair.verdict.sign],
        **_ends("interval", values.interval),
        "wilcoxon_p": values.wilcoxon.p,
        "wilcoxon_holm": pair.verdict.wilcoxon_holm,
        "wilcoxon_method": None if values.wilcoxon.p is None else values.wilcoxon.method,
        "rank_biserial": values.wilcoxon.effect,
        "t_p": values.t.p,
        "t_holm": pair.verdict.t_holm,
        "d_z": values.t.effect,
        **_ends("documents", documents.main if documents else None),
        **_ends("documents_micro", documents.micro if documents else None),
        "documents_groups": documents.groups if documents else None,
        "follows": follows(pair),
    }


def _of_pair(pair: PairwiseTest) -> dict[str, Any]:
    """Return the fields that connect rows to the switches of both runs."""
    run, other = pair.run, pair.other
    return {"run": run.key, "other": other.key, "name": run.name, "other_name": other.name}


def _ends(key: str, interval: Interval | None) -> dict[str, Any]:
    """Return the interval as text for readers, and its ends as numbers for programs."""
    if interval is None:
        return {key: None, f"{key}_low": None, f"{key}_high": None}
    text = interval_text(interval.low, interval.high)
    return {key: text, f"{key}_low": interval.low, f"{key}_high": interval.high}


def _forest(comparison: Comparison, tested: Sequence[PairwiseTest]) -> FigureBlock:
    short, figure = short_names(comparison.runs), plan_title(comparison)
    rows = [row for pair in tested for row in _forest_rows(pair, short)]
    return FigureBlock(
        "significance_forest",
        "Differences between runs",
        f"Mean difference in {figure} of each pair of runs (dot) with its 95% interval (line). Solid: "
        f"Student's, over {_counts(tested)}; dashed: over resampled test documents. A pair is coloured if "
        "all tests that can decide show a difference after the correction for all pairs of runs, and "
        "otherwise grey, whatever its lines. A line that contains zero is also grey.",
        _spec(figure, len({row["over"] for row in rows})),
        rows,
        wide=True,
    )


def _forest_rows(pair: PairwiseTest, short: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    base = _of_pair(pair) | {
        "pair": f"{short[pair.run.key]}{MINUS}{short[pair.other.key]}",
        "mean": pair.values.mean,
        "n": pair.values.n,
    }
    documents = pair.documents.main if pair.documents else None
    for over, interval in ((VALUES, pair.values.interval), (DOCUMENTS, documents)):
        if interval is not None:
            verdict = SIGNS[pair.verdict.sign if _beyond(interval, pair.verdict.sign) else 0]
            yield base | {"over": over, "low": interval.low, "high": interval.high, "verdict": verdict}
    if pair.values.interval is None and documents is None:
        yield base | {"over": VALUES, "low": None, "high": None, "verdict": OPEN}


def _beyond(interval: Interval, sign: int) -> bool:
    """Whether an interval is entirely on the side of the difference shown by the tests."""
    return interval.low > 0 if sign > 0 else interval.high < 0


_TOOLTIP = [
    tip("name", "run"),
    tip("other_name", "other"),
    tip("over", "interval over"),
    tip("mean", "mean difference", "+.4f"),
    tip("low", "from", "+.4f"),
    tip("high", "to", "+.4f"),
    tip("n", "pairs", "d"),
]
_COLOUR = label(
    "verdict",
    title="test result",
    legend={"orient": "top", "columns": 3},
    scale={"domain": list(COLOURS), "range": list(COLOURS.values())},
)
_DASH = label(
    "over",
    title="interval over",
    legend={"orient": "top", "columns": 2},
    scale={"domain": [VALUES, DOCUMENTS], "range": [[1, 0], [4, 3]]},
)


def _spec(figure: str, lines: int) -> dict[str, Any]:
    # The baseline lets the first line stand above the middle.
    axis = run_axis(labelExpr=TWO_NAMES, labelBaseline="bottom", labelLimit=240)
    return {
        "width": "container",
        "height": {"step": ROW / lines, "for": "offset"},
        "encoding": {
            "y": label("pair", sort={"field": "mean", "op": "max", "order": "descending"}, axis=axis),
            "yOffset": label("over", sort=[VALUES, DOCUMENTS]),
            "tooltip": _TOOLTIP,
        },
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 1.5, "color": GREY},
                "encoding": {"x": {"datum": 0}, "y": None, "yOffset": None, "tooltip": None},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 2.5},
                "encoding": {
                    "x": number("low", title=f"difference in {figure}"),
                    "x2": {"field": "high"},
                    "color": _COLOUR,
                    "strokeDash": _DASH,
                },
            },
            {
                "mark": dots(60),
                "encoding": {"x": number("mean", axis={"format": "+.3~g"}), "color": _COLOUR},
            },
        ],
    }
