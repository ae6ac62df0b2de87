"""What measures of transferability said of each source, and what it gained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_transfers import a_matrix

from mtlv.comparison.sections.transfer import transfer_section
from mtlv.evaluation.transfer import Transfers, effects
from mtlv.evaluation.transfer.predicted import measured_transfers


def told(transfers: Transfers, sign: float = 1.0, noise: float = 0.0) -> Transfers:
    rng = np.random.default_rng(0)
    offsets = dict(zip(transfers.targets, rng.normal(0, 9, len(transfers.targets)), strict=True))
    said = {
        (cell.source, cell.target): sign * cell.mean + noise * rng.normal() + offsets[cell.target]
        for cell in effects(transfers)
    }
    return replace(transfers, suits={"h_score": said})


def test_sources_of_one_value_are_named_together() -> None:
    """A measure that says nothing must not know which of them gained most."""
    transfers = a_matrix(7)
    said = dict.fromkeys(((cell.source, cell.target) for cell in effects(transfers)), 0.0)
    (found,) = measured_transfers(replace(transfers, suits={"leep": said}), effects(transfers))
    assert found.named == pytest.approx(found.average)
    assert found.best > found.average


def test_a_measure_that_orders_the_sources_of_each_target_is_shown() -> None:
    transfers = told(a_matrix(7))
    (found,) = measured_transfers(transfers, effects(transfers))
    assert found.order.value == pytest.approx(1), "whatever is different between targets"
    assert found.order.shown
    assert found.named == pytest.approx(found.best)
    assert (found.targets, found.cells) == (7, 41)
    means = {
        target: [cell.mean for cell in effects(transfers) if cell.target == target]
        for target in transfers.targets
    }
    assert found.best == pytest.approx(np.mean([max(each) for each in means.values()]))
    assert found.average == pytest.approx(np.mean([np.mean(each) for each in means.values()]))
    section = transfer_section(transfers)
    table = section.blocks[-1]
    assert (table.id, table.rows[0]["shown"]) == ("transfer_measures", "yes")
    assert section.blocks[-2].text.startswith(
        "Without training on the target, its sources are ordered by h_s"
    )


def test_targets_with_one_source_are_not_counted() -> None:
    transfers = told(a_matrix(7))
    (before,) = measured_transfers(transfers, effects(transfers))
    target = transfers.targets[0]
    cells = [cell for cell in effects(transfers) if cell.target == target]
    assert len(cells) > 2
    left = {(cell.source, target) for cell in cells[1:]}
    fewer = {pair: value for pair, value in transfers.suits["h_score"].items() if pair not in left}
    (after,) = measured_transfers(replace(transfers, suits={"h_score": fewer}), effects(transfers))
    assert (after.targets, after.cells) == (before.targets - 1, before.cells - len(cells))


def test_the_reverse_and_noise_are_not_called_a_prediction() -> None:
    reverse, noise = told(a_matrix(7), -1.0), told(a_matrix(7), 0.0, 1.0)
    (found,) = measured_transfers(reverse, effects(reverse))
    assert found.order.value == pytest.approx(-1)
    assert found.named < found.average
    for transfers, shown in ((reverse, "reversed"), (noise, "no")):
        blocks = transfer_section(transfers).blocks
        assert blocks[-1].rows[0]["shown"] == shown
        assert blocks[-2].text == "It is not shown that h_score predicts which source helps a target more."


def test_few_targets_have_no_order() -> None:
    blocks = transfer_section(told(a_matrix(4))).blocks
    assert blocks[-1].rows[0]["order"] is None
    assert blocks[-1].rows[0]["shown"] == "too few"
    assert "cannot be said of 4 targets: that takes 5 targets with 5 sources each." in blocks[-2].text


def test_what_was_not_learned_or_not_measured_is_left_out() -> None:
    transfers = told(a_matrix(7))
    lost = replace(transfers, unlearned=frozenset({"gad"}))
    (found,) = measured_transfers(lost, effects(lost))
    assert (found.targets, found.cells) == (6, 29)
    assert transfer_section(a_matrix(7)).blocks[-1].id == "transfer_partners"
    some = {cell: value for cell, value in transfers.suits["h_score"].items() if cell[1] == "gad"}
    (found,) = measured_transfers(replace(transfers, suits={"h_score": some}), effects(transfers))
    assert (found.targets, found.cells) == (1, 6)
