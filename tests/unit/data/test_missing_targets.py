"""Targets of every kind of which some are not known: in no stratum, no statistic, and marked in a corpus."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mtlv.data import catalog
from mtlv.data.joined import join, merge
from mtlv.data.options import Columns, DataOptions
from mtlv.data.report import CorpusCheck
from mtlv.data.source import PARTS, Corpus
from mtlv.data.splits import make_folds
from mtlv.data.targets import TARGETS, UnknownSpans, spans_column
from mtlv.errors import DataError
from mtlv.plan import Task
from mtlv.plan.spans import Span
from mtlv.plan.task import UNKNOWN

DRUG, GENE = (Span(0, 1, "Drug"),), (Span(1, 3, "Gene"), Span(4, 5, "Drug"))
KINDS = {
    "binary": (np.array([1, UNKNOWN, 0, 0, UNKNOWN, 1], np.int8), ()),
    "multiclass": (np.array([2, UNKNOWN, 0, 1, UNKNOWN, 0]), ("none", "no", "yes")),
    "regression": (np.array([3.5, np.nan, -1, 0, np.nan, 9], np.float32), ()),
    "tagging": (spans_column([DRUG, None, (), GENE, None, ()]), ("Drug", "Gene")),
}
KNOWN = [True, False, True, True, False, True]


def of_kind(kind: str, name: str = "t") -> tuple[Task, np.ndarray]:
    values, classes = KINDS[kind]
    return Task(name, kind, "made", classes), values


def corpus_of(kind: str, times: int = 10) -> Corpus:
    task, values = of_kind(kind)
    count = times * len(values)
    texts = tuple(f"text {n} it is" for n in range(count))
    words = tuple((*text.split(), "so") for text in texts)
    return Corpus(
        "made",
        (task,),
        tuple(map(str, range(count))),
        texts,
        {"t": np.concatenate([values] * times)},
        words=words if kind == "tagging" else None,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_knows_its_unknown_targets(kind: str) -> None:
    task, values = of_kind(kind)
    own = TARGETS[kind]
    assert own.known(values).tolist() == KNOWN
    assert own.known(values[::-1]).tolist() == KNOWN[::-1]
    assert own.none(3).shape == (3,)
    assert own.known(own.none(3)).all()
    assert not np.any([flags & ~np.array(KNOWN) for flags in own.strata(task, values).values()])
    assert own.learnable(values)
    assert not own.learnable(values[[1, 4]])
    assert own.constant(task, values) == ""
    assert own.constant(task, values[[1, 4]]) == "is never known"
    assert own.constant(task, values[[1, 2, 4]]).endswith(" where it is known")
    assert own.constant(task, values[[2, 2]]).endswith(("always 0", "(none)", "always -1", "no entity"))


def test_strata_are_of_known_targets() -> None:
    strata = {kind: corpus_of(kind, 1).strata() for kind in KINDS}
    assert {kind: {name: flags.tolist() for name, flags in own.items()} for kind, own in strata.items()} == {
        "binary": {"t": [1, 0, 0, 0, 0, 1], "t: no": [0, 0, 1, 1, 0, 0]},
        "multiclass": {
            "t: none": [0, 0, 1, 0, 0, 1],
            "t: no": [0, 0, 0, 1, 0, 0],
            "t: yes": [1, 0, 0, 0, 0, 0],
        },
        "regression": {
            "t: quarter 1": [0, 0, 1, 0, 0, 0],
            "t: quarter 2": [0, 0, 0, 1, 0, 0],
            "t: quarter 3": [1, 0, 0, 0, 0, 0],
            "t: quarter 4": [0, 0, 0, 0, 0, 1],
        },
        "tagging": {
            "t: Drug": [1, 0, 0, 1, 0, 0],
            "t: Gene": [0, 0, 0, 1, 0, 0],
            "t: no": [0, 0, 1, 0, 0, 1],
        },
    }


@pytest.mark.parametrize(("kind", "without"), [("binary", 40), ("multiclass", 20), ("tagging", 40)])
def test_a_report_counts_documents_without_a_label(kind: str, without: int) -> None:
    """A class named `no` is a label; to be known to have no label is none."""
    corpus = corpus_of(kind)
    labels = {"binary": 1, "multiclass": 3, "tagging": 2}[kind]
    for each in (corpus, join([corpus])):
        lines = CorpusCheck(each).lines
        assert f"documents   60, {without} with no label set" in lines
        assert f"labels      {labels}" in lines


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_targets_are_spread_over_the_parts_and_part_of_a_digest(kind: str) -> None:
    corpus = corpus_of(kind)
    (fold,) = make_folds(corpus, test_share=0.3, validation_share=0.3)
    for part in PARTS:
        rows = fold.part(part)
        assert corpus.known("t")[rows].mean() == pytest.approx(4 / 6, abs=0.12)
    values = corpus.targets["t"]
    none = replace(corpus, targets={"t": np.concatenate([TARGETS[kind].none(60)[:1], values[1:]])})
    blank = replace(corpus, targets={"t": values[[1, *range(1, 60)]]})
    assert len({corpus.digest, none.digest, blank.digest}) == 3
    assert corpus_of(kind).digest == corpus.digest


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_that_knows_nothing_is_refused(kind: str) -> None:
    corpus = corpus_of(kind)
    known = np.flatnonzero(corpus.known("t"))
    parts = np.array(["train"] * len(corpus), dtype="<U10")
    parts[~corpus.known("t")] = "validation"
    parts[known[-8:]] = "test"
    parted = replace(corpus, parts=tuple(parts.tolist()))
    with pytest.raises(DataError, match=r"a label is not known of any document \(got t: validation\)"):
        make_folds(parted)
    parts[known[0]] = "validation"
    make_folds(replace(corpus, parts=tuple(parts.tolist())))


def test_columns_of_one_table_with_blanks_of_their_own_are_split_alike() -> None:
    rng = np.random.default_rng(0)
    made = {}
    for kind in ("binary", "multiclass", "regression"):
        corpus = corpus_of(kind, 40)
        task = replace(corpus.tasks[0], name=kind)
        made[kind] = replace(
            corpus, name=kind, tasks=(task,), targets={kind: rng.permutation(corpus.targets["t"])}
        )
    (fold,) = make_folds(merge(list(made.values())))
    assert len(fold.train) + len(fold.validation) + len(fold.test) == 240
    for name, corpus in made.items():
        shares = [corpus.known(name)[fold.part(part)].mean() for part in PARTS]
        assert shares == pytest.approx([4 / 6] * 3, abs=0.13)


# ---- Tables ----------------------------------------------------------------------------------------------

ROWS = [
    {"id": "a", "text": "take two aspirin", "sort": "b", "size": 3, "tags": ["O", "O", "B-Drug"]},
    {"id": "b", "text": "walk more", "sort": None, "size": "1.5", "tags": None},
    {"id": "c", "text": "eat less", "sort": "10", "size": None, "tags": []},
    {"id": "d", "text": "no drugs", "sort": 9, "size": 0, "tags": "O O"},
    {"id": "e", "text": "warfarin", "sort": " ", "size": " ", "tags": " "},
]
READ = {
    "sort": (Columns(kind="multiclass", target="sort", id="id"), [2, UNKNOWN, 1, 0, UNKNOWN]),
    "size": (Columns(kind="regression", target="size", id="id"), [3, 1.5, np.nan, 0, np.nan]),
    "tags": (Columns(kind="tagging", tags="tags", id="id"), [(Span(2, 3, "Drug"),), (), (), (), ()]),
}


@pytest.mark.parametrize("name", READ)
def test_empty_cells_of_each_kind_are_unknown_or_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    columns, wanted = READ[name]
    unknown = replace(columns, missing_labels="unknown")
    corpus = catalog.load("table", DataOptions(path=path, columns=unknown))
    assert corpus.ids == ("a", "b", "c", "d", "e")
    np.testing.assert_equal(corpus.targets[name].tolist(), wanted)
    blank = [n for n, row in enumerate(ROWS) if row[name] in (None, " ", [])]
    assert np.flatnonzero(~corpus.known(name)).tolist() == blank
    assert corpus.notes == (f"{len(blank)} of 5 labels are missing, and neither learned nor tested",)
    assert corpus.tasks[0].classes == {"sort": ("9", "10", "b"), "size": (), "tags": ("Drug",)}[name]
    with pytest.raises(DataError, match=rf"column `{name}` .*set `data.columns.missing_labels: unknown` if"):
        catalog.load("table", DataOptions(path=path, columns=columns))


@pytest.mark.parametrize(
    ("name", "cell", "said"),
    [
        ("sort", [1, 2], "is not a class"),
        ("size", "ten", "is not a number"),
        ("tags", ["O"], "has 1 tags for 2 words"),
        ("tags", ["O", "Q-x"], "has an unknown tag `Q-x`"),
    ],
)
def test_other_cells_are_no_unknown_targets(tmp_path: Path, name: str, cell: object, said: str) -> None:
    path = tmp_path / "t.jsonl"
    rows = [*ROWS, {"id": "f", "text": "one more", "sort": 1, "size": 1, "tags": ["O", "O"], name: cell}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    unknown = replace(READ[name][0], missing_labels="unknown")
    with pytest.raises(DataError, match=f"line 6, column `{name}` {said}"):
        catalog.load("table", DataOptions(path=path, columns=unknown))


def test_named_classes_need_not_be_filled(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("text,sort\na,yes\nb,\nc,no\nd,maybe\n")
    columns = Columns(kind="multiclass", target="sort", classes=("no", "yes"), missing_labels="unknown")
    with pytest.raises(DataError, match="line 5, column `sort` is an unknown class"):
        catalog.load("table", DataOptions(path=path, columns=columns))
    path.write_text("text,sort\na,yes\nb,\nc,no\nd,\n")
    corpus = catalog.load("table", DataOptions(path=path, columns=columns))
    assert corpus.targets["sort"].tolist() == [1, UNKNOWN, 0, UNKNOWN]


def test_unknown_spans_survive_a_selection() -> None:
    corpus = corpus_of("tagging", 2)
    taken = corpus.take([4, 3, 1, 2])
    assert taken.known("t").tolist() == [False, True, False, True]
    assert [isinstance(each, UnknownSpans) for each in taken.targets["t"]] == [True, False, True, False]
