"""The best partner of each task, and the words that say that none helps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_transfers import a_matrix
from stilt_tables import BERT, published

from mtlv.evaluation.partners import as_records, best_partners
from mtlv.evaluation.transfer import Transfers, effects


def of(**gains):
    """Partners of the one target t, alone at 0.5 over three seeds."""
    alone = {(0, seed): 0.5 for seed in range(3)}
    after = {
        (source, "t"): {(0, seed): 0.5 + gain for seed, gain in enumerate(each)}
        for source, each in gains.items()
    }
    return best_partners(Transfers(("t",), tuple(gains), {"t": alone}, after))[0]


def test_the_best_has_the_largest_mean_difference():
    transfers = a_matrix(11)
    cells = effects(transfers)
    for partner in best_partners(transfers):
        row = [cell for cell in cells if cell.target == partner.target]
        assert partner.best.mean == max(cell.mean for cell in row)
        assert partner.tried == partner.judged == len(row)


@pytest.mark.parametrize(
    ("gains", "best", "follows"),
    [
        ({"a": (0.10, 0.11, 0.12), "b": (0.0, 0.0, 0.1)}, "a", "helps"),
        ({"a": (0.0, 0.1, 0.0), "b": (-0.1, 0.0, 0.0)}, "a", "no partner helps"),
        ({"a": (0.0, 0.4, 0.0), "b": (0.01, 0.011, 0.012)}, "a", "neutral; b helps"),
        ({"a": (-0.10, -0.11, -0.12)}, "a", "no partner helps"),
        ({"a": (0.1, 0.1)}, "a", "too few pairs to say"),
        ({"a": (0.1, 0.1, 0.1), "b": (0.1, 0.1, 0.1)}, "a", "helps"),  # of equal ones the first
    ],
)
def test_what_follows(gains, best, follows):
    partner = of(**gains)
    assert (partner.best.source, partner.follows) == (best, follows)


def test_a_target_without_sources_is_not_measured():
    partner = best_partners(Transfers(("t",), ("s",), {}, {}))[0]
    assert (partner.best, partner.baseline, partner.follows) == (None, None, "not measured")
    (record,) = as_records([partner])
    assert {key for key, value in record.items() if value is not None} == {"target", "n", "tried", "follows"}


def test_records_have_fractions():
    last = as_records(best_partners(published(BERT)))[-1]
    assert (last["target"], last["partner"], last["follows"]) == ("BioASQ", "DDI", "too few pairs to say")
    assert last["difference"] == pytest.approx(0.1523)
    assert last["p_holm"] is None


def without(transfers: Transfers, *unlearned: str) -> Transfers:
    return replace(transfers, unlearned=frozenset(unlearned))


def test_what_was_not_learned_is_nobodys_partner_and_has_none():
    transfers = a_matrix()
    first = best_partners(transfers)[0]
    source = first.best.source
    found = {each.target: each for each in best_partners(without(transfers, source))}
    assert found[source].follows == "not learned"
    assert found[source].best is None
    assert found[source].baseline is not None
    assert found[first.target].best.source != source
    assert all(source not in (each.best and each.best.source, *each.helping) for each in found.values())
    assert found[first.target].tried == first.tried - 1


def test_a_target_whose_sources_were_all_not_learned_is_not_called_unmeasured():
    (partner,) = best_partners(
        Transfers(
            ("t",),
            ("s",),
            {"t": {(0, 0): 0.5}},
            {("s", "t"): {(0, 0): 0.6}},
            unlearned=frozenset({"s"}),
        )
    )
    assert partner.follows == "not learned"
