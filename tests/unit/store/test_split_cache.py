"""Splits that a store keeps: made again where documents or rules are others, and units with them only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from made_up import sources_of

from mtlv.data.joined import join
from mtlv.planning.resolve import resolve_all
from mtlv.seeding import content_key
from mtlv.settings import Suite
from mtlv.store.local import Store
from mtlv.store.split_file import save_folds
from mtlv.units import input_cache
from mtlv.units.corpora import read_corpus
from mtlv.units.input_cache import SPLIT_KEYS, InputCache


def test_a_split_that_an_earlier_version_kept_is_not_used(
    suite: Callable[..., Suite], table: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = suite(table("t")).members[0].settings.data
    cache = InputCache(Store(Path(suite(table("t")).members[0].settings.store.uri)))
    assert cache.store is not None
    corpus = cache.corpus(data)
    wanted = {key: getattr(data, key) for key in SPLIT_KEYS}
    earlier = content_key([corpus.digest, data.split_seed, wanted, [corpus.groups]])
    save_folds(cache.store.splits / f"{earlier}.json", corpus, ())
    assert len(cache.folds(data)) == 1
    assert len(list(cache.store.splits.iterdir())) == 2
    monkeypatch.setattr(input_cache, "DIVIDING", input_cache.DIVIDING + 1)
    assert len(InputCache(cache.store).folds(data)) == 1
    assert len(list(cache.store.splits.iterdir())) == 3


def test_a_split_is_made_again_where_a_member_has_other_parts_of_its_own(tmp_path: Path) -> None:
    data = sources_of(tmp_path, "biosses", "chemprot").members[0].settings.data
    store = Store(tmp_path / "store")
    members = read_corpus(data).members
    tests = []
    for parts in (members[0].parts, tuple(reversed(members[0].parts or ()))):
        corpus = join([replace(members[0], parts=parts, seconds=None), *members[1:]])
        cache = InputCache(store)
        cache.corpus = lambda _, corpus=corpus: corpus  # type: ignore[method-assign]
        tests.append(set(cache.folds(data)[0].test.tolist()))
    assert tests[0] != tests[1]


def data_of(suite: Suite) -> dict[str, str]:
    """What stands for documents and split in the key of each task's own model (`tiny` knows all texts)."""
    cache = InputCache(Store(Path(suite.members[0].settings.store.uri)))
    (stl, *_) = resolve_all(cache, suite.members)
    return {job.unit.model.tasks[0]: job.unit.data for job in stl.jobs}


@pytest.mark.parametrize(
    ("text", "changed"), [("@chemical$ 1 drives @gene$", True), ("nothing like it", False)]
)
def test_a_unit_is_another_where_a_second_text_of_another_source_holds_its_documents_out(
    tmp_path: Path, text: str, changed: bool
) -> None:
    suite = sources_of(tmp_path, "biosses", "chemprot", more="architecture: stl")
    before = data_of(suite)
    file = tmp_path / "biosses" / "blurb_split" / "test.tsv"
    rows = file.read_text().splitlines()
    cells = rows[1].split("\t")
    rows[1] = "\t".join([*cells[:2], text.upper(), cells[3]])
    file.write_text("\n".join(rows) + "\n")
    after = data_of(suite)  # with the same store
    assert (before["ChemProt"] != after["ChemProt"]) == changed
    assert before["BIOSSES"] != after["BIOSSES"]


def test_runs_of_other_shares_are_comparable_and_train_other_units(tmp_path: Path) -> None:
    more = "architecture: stl\nmatrix: {data.train_share: [0.5, 1]}"
    suite = sources_of(tmp_path, "biosses", "chemprot", more=more)
    cache = InputCache(Store(Path(suite.members[0].settings.store.uri)))
    half, whole = resolve_all(cache, suite.members)
    assert half.data == whole.data
    assert half.uid != whole.uid
    assert not {job.unit.key for job in half.jobs} & {job.unit.key for job in whole.jobs}
    assert len(list(cache.store.splits.glob("*.json"))) == 1, "the split is drawn once"
    (fold,), (other,) = (cache.folds(member.settings.data) for member in suite.members)
    assert set(fold.train) < set(other.train)
    assert fold.test.tolist() == other.test.tolist()
