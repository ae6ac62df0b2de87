"""The rule that colours a matrix of transfers, on made-up and on published numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from made_transfers import MISSING, a_matrix
from scipy import stats
from stilt_tables import BERT, NAMES, PUBMEDBERT, published

from mtlv.evaluation.significance import Interval
from mtlv.evaluation.transfer import (
    INTERMEDIATE,
    Transfers,
    baseline_mean,
    effects,
    in_order,
    points,
    verdict_of,
)
from mtlv.evaluation.transfer.words import chance, dependence, pairs_text

THREE = {(0, seed): 0.5 + seed / 10 for seed in range(3)}


def of(after, alone=(0.5, 0.6, 0.7)):
    """The one cell of s -> t with these scores."""
    paired = {(0, seed): score for seed, score in enumerate(after)}
    baseline = {(0, seed): score for seed, score in enumerate(alone)}
    return effects(Transfers(("t",), ("s",), {"t": baseline}, {("s", "t"): paired}))[0]


def test_interval_and_p_are_scipys_paired_t():
    rng = np.random.default_rng(1)
    for n in (3, 5, 12):
        alone, after = rng.random(n), rng.random(n)
        cell = of(after, alone)
        expected = stats.ttest_rel(after, alone)
        assert cell.p == pytest.approx(expected.pvalue)
        interval = expected.confidence_interval(0.95)
        assert (cell.low, cell.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
        assert cell.mean == pytest.approx(float(np.mean(after - alone)))


def test_interval_by_hand():
    # mean 0.02, s 0.01, t(2, 0.975) = 4.3027: half = 4.3027 * 0.01 / sqrt(3)
    cell = of((0.01, 0.02, 0.03), (0.0, 0.0, 0.0))
    assert cell.low == pytest.approx(0.02 - 0.024841, abs=1e-6)
    assert cell.high == pytest.approx(0.02 + 0.024841, abs=1e-6)
    assert (of([0.3]).low, of([0.3]).high) == (None, None)


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        ((0.60, 0.70, 0.81), "helps"),
        ((0.40, 0.50, 0.59), "harms"),
        ((0.60, 0.60, 0.65), "neutral"),
        ((0.60, 0.70), "unknown"),
        ((0.60,), "unknown"),
        ((0.50, 0.60, 0.70), "neutral"),  # all differences zero
        ((0.51, 0.61, 0.71), "helps"),  # all differences equal
    ],
)
def test_verdicts_by_the_rule(after, verdict):
    assert of(after).verdict == verdict


def test_equal_differences_give_an_interval_of_no_width_and_no_p():
    for gain in (0.0, 0.01, -0.01):
        cell = of([score + gain for score in (0.5, 0.6, 0.7)])
        assert (cell.low, cell.high) == (cell.mean, cell.mean)
        assert cell.mean == pytest.approx(gain)
        assert (cell.p, cell.p_holm) == (None, None)


def test_the_interval_that_touches_zero_decides_nothing():
    assert verdict_of(Interval(0.0, 0.1)) == verdict_of(Interval(-0.1, 0.0)) == "neutral"
    assert verdict_of(None) == "unknown"


def test_a_verdict_is_a_p_below_five_percent():
    for cell in effects(a_matrix(11, 5)):
        assert (cell.p < 0.05) == (cell.verdict in ("helps", "harms"))
        assert cell.p_holm >= cell.p


def test_pairs_are_matched_by_fold_and_seed_and_others_do_not_count():
    baseline = {(0, 0): 0.1, (0, 1): 0.2, (1, 0): 0.3, (1, 1): math.nan}
    after = {(1, 0): 0.4, (0, 1): 0.2, (1, 1): 0.9, (2, 0): 0.9, (0, 0): 0.4}
    cell = effects(Transfers(("t",), ("s",), {"t": baseline}, {("s", "t"): after}))[0]
    # two folds, of which the first has two seeds; fold 2 has no baseline, (1, 1) no number
    assert (cell.n, cell.mean) == (2, pytest.approx(((0.3 + 0.0) / 2 + 0.1) / 2))
    assert (cell.baseline, cell.after) == (pytest.approx((0.15 + 0.3) / 2), pytest.approx((0.3 + 0.4) / 2))


def test_cells_without_pairs_and_the_diagonal_are_left_out():
    cells = {(cell.source, cell.target) for cell in effects(a_matrix())}
    assert len(cells) == 6 * 5 - 1
    assert MISSING not in cells
    alone = Transfers(("t",), ("s",), {"t": {(0, 0): 0.5}}, {("s", "t"): {(0, 1): 0.5}})
    assert effects(alone) == ()
    assert baseline_mean(alone, "t") == 0.5
    assert baseline_mean(Transfers(("t",), (), {}, {}), "t") is None
    lost = {(0, 0): 0.5, (1, 0): float("nan"), (2, 0): 0.7}
    assert baseline_mean(Transfers(("t",), (), {"t": lost}, {}), "t") == pytest.approx(0.6)


def test_cells_are_row_by_row():
    transfers = a_matrix()
    cells = [(cell.target, cell.source) for cell in effects(transfers)]
    order = [(target, source) for target in transfers.targets for source in transfers.sources]
    assert cells == [pair for pair in order if pair in cells]


def test_holm_corrects_over_the_cells_that_have_a_verdict():
    transfers = a_matrix()
    found = effects(transfers)
    smallest = min(found, key=lambda cell: cell.p)
    assert smallest.p_holm == pytest.approx(smallest.p * 29)


def test_cells_with_too_few_pairs_do_not_count_in_the_correction():
    alone = {(0, seed): 0.5 for seed in range(3)}
    after = {("a", "t"): {(0, 0): 0.6, (0, 1): 0.61, (0, 2): 0.63}, ("b", "t"): {(0, 0): 0.6, (0, 1): 0.62}}
    enough, too_few = effects(Transfers(("t",), ("a", "b"), {"t": alone}, after))
    assert enough.p_holm == enough.p
    assert (too_few.n, too_few.p, too_few.p_holm, too_few.verdict) == (2, None, None, "unknown")


def test_negative_correlations_are_scores():
    assert of((-0.2, -0.1, -0.3), (-0.5, -0.6, -0.7)).mean == pytest.approx(0.4)


def test_names_are_in_the_order_of_the_targets():
    score = {(0, 1): 0.5}
    made = in_order({"b": score, "a": score}, {("x", "b"): score, ("a", "b"): score, ("b", "a"): {}})
    assert (made.targets, made.sources, made.names) == (("b", "a"), ("b", "a", "x"), ("b", "a", "x"))
    assert in_order({"b": score}, {("x", "a"): score, ("x", "b"): score}).targets == ("b", "a")


@pytest.mark.parametrize(
    ("table", "source", "target", "difference"),
    [
        (BERT, "DDI", "BioASQ", "+15.2"),  # 61.43 -> 76.66
        (BERT, "ChemProt", "BioASQ", "+14.1"),  # 14.05
        (BERT, "DDI", "PubMedQA", "+7.9"),
        (PUBMEDBERT, "BioASQ", "PubMedQA", "+10.4"),
        (PUBMEDBERT, "ChemProt", "PubMedQA", "+7.3"),
        (PUBMEDBERT, "BC2GM", "DDI", "−3.5"),  # 3.46
        (PUBMEDBERT, "BC2GM", "ChemProt", "−2.1"),
    ],
)
def test_differences_of_the_published_tables(table, source, target, difference):
    cells = {(cell.source, cell.target): cell for cell in effects(published(table))}
    assert len(cells) == 110
    cell = cells[source, target]
    assert points(cell.mean) == difference
    assert (cell.verdict, cell.p, cell.low) == ("unknown", None, None)  # means only


def test_a_low_baseline_paints_a_row_of_the_published_table():
    cells = effects(published(PUBMEDBERT))
    assert all(cell.mean > 0 for cell in cells if cell.target in ("BC5-disease", "EBM PICO"))


def test_chance_is_said_in_words():
    text = chance(effects(a_matrix()))
    assert "of 29 cells" in text
    assert "about 1.5 would be coloured by chance alone (1 in 20)" in text  # 29 / 20
    assert "no verdicts" in chance(effects(published(BERT)))
    unlearned = Transfers(("t",), ("s",), {"t": THREE}, {("s", "t"): THREE}, unlearned=frozenset("s"))
    assert chance(effects(unlearned)).startswith("No cell is of a source and a target that were both learned")
    assert "1 cell has the same difference in every pair" in chance([of((0.51, 0.61, 0.71))])


def test_pairs_are_called_seeds_where_there_is_one_fold():
    def told(transfers):
        return pairs_text(transfers, effects(transfers)), dependence(transfers)

    assert told(a_matrix())[0] == "3 seeds in each cell"
    assert "differ only by seed" in told(a_matrix())[1]
    several, folds = told(a_matrix(folds=2))
    assert several == "2 folds (seeds averaged) in each cell"
    assert "Nadeau and Bengio" in folds
    assert told(published(BERT)) == ("1 seed in each cell", "")
    assert pairs_text(a_matrix(), []) == "no cell was measured"


def test_points_have_signs_and_zero_has_none():
    assert [points(value) for value in (0.0151, -0.003, 0.0, -0.0001)] == ["+1.5", "−0.3", "0.0", "0.0"]
    assert INTERMEDIATE.id.isascii()
    assert set(published(BERT).names) == set(NAMES)


def test_cells_of_a_task_that_was_not_learned_have_no_verdict_and_correct_no_other():
    transfers = a_matrix()
    lost = transfers.targets[0]
    known = {(cell.source, cell.target): cell for cell in effects(transfers)}
    cells = effects(replace(transfers, unlearned=frozenset({lost})))
    assert len(cells) == len(known)
    rest = [cell for cell in cells if lost not in (cell.source, cell.target)]
    for cell in cells:
        same = known[cell.source, cell.target]
        assert (cell.mean, cell.p) == (same.mean, same.p)
        if cell in rest:
            assert cell.verdict == same.verdict
            assert cell.p_holm <= same.p_holm
        else:
            assert (cell.verdict, cell.p_holm) == ("unknown", None)
    assert min(cell.p_holm for cell in rest) == pytest.approx(min(1, len(rest) * min(c.p for c in rest)))
