"""What members of a suite share, and what they do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mtlv.data.folds import folds_digest
from mtlv.settings.data_schema import DataSettings
from mtlv.store.local import Store
from mtlv.units.input_cache import InputCache


def data_of(suite: Callable, path: Path, *changes: str) -> DataSettings:
    (member, *_) = suite(path, "data.columns.part=null", *changes).members
    return member.settings.data


@pytest.mark.parametrize(
    "change",
    [
        "data.folds=3",
        "data.scheme=rotate_test",
        "data.test_share=0.4",
        "data.validation_share=0.3",
        "data.split_seed=7",
    ],
)
def test_a_kept_split_is_of_the_settings_that_it_was_made_with(
    change: str, suite: Callable, table: Callable, tmp_path: Path
) -> None:
    """Found again without the number of folds, an earlier run's split was used for another number."""
    path = table("t")
    base = ("data.folds=2", "data.validation_share=0.2") if change != "data.validation_share=0.3" else ()
    plain, changed = data_of(suite, path, *base), data_of(suite, path, *base, change)
    kept = Store(tmp_path / "kept")
    found = [InputCache(kept).folds(data) for data in (plain, changed, plain, changed)]
    wanted = [InputCache().folds(data) for data in (plain, changed)]
    corpus = InputCache().corpus(plain)
    digests = [folds_digest(corpus, folds) for folds in found]
    assert digests == [folds_digest(corpus, folds) for folds in wanted] * 2
    assert digests[0] != digests[1], "the setting matters"
    assert len(list(kept.splits.glob("*.json"))) == 2


def test_repeats_that_are_kept_are_another_split(suite: Callable, tmp_path: Path) -> None:
    lines = [
        f"{n},text {n % 55},{'train' if n < 40 else 'validation' if n < 50 else 'test'}" for n in range(60)
    ]
    rows = [f"{line},{n % 2},{n % 3 == 0:d},{n % 5 == 0:d}" for n, line in enumerate(lines)]
    path = tmp_path / "r.csv"
    path.write_text("id,text,part,heart,lung,bone\n" + "\n".join(rows) + "\n")
    kept = Store(tmp_path / "kept")
    sizes = []
    for repeats in ("leave_out", "keep"):
        (member, *_) = suite(path, f"data.repeats={repeats}").members
        (fold,) = InputCache(kept).folds(member.settings.data)
        sizes.append(len(fold.train))
    assert sizes == [35, 40]


def test_corpora_of_other_documents_or_labels_are_read_by_themselves(
    suite: Callable, table: Callable
) -> None:
    cache = InputCache()
    path = table("t")
    given = [suite(path, change).members[0].settings.data for change in ("data.limit=30", "data.limit=40")]
    assert [len(cache.corpus(data)) for data in given] == [30, 40]
    assert cache.corpus(given[0]) is cache.corpus(given[0])
