"""Data sets of Hugging Face: from a folder, by name, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtlv.data import catalog
from mtlv.data.options import Columns, DataOptions
from mtlv.data.source import Corpus
from mtlv.data.tables import hugging_face
from mtlv.errors import DataError
from mtlv.plan.spans import Span


@pytest.fixture
def datasets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    found = pytest.importorskip("datasets", reason="the package is an extra: mtlv[huggingface]")
    monkeypatch.setattr(found.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(found.config, "HF_HUB_OFFLINE", True)
    return found


def made(datasets: Any, rows: dict[str, list[Any]]) -> Any:
    """A data set whose `label`, `topics` and `ner_tags` are numbers of named classes."""
    names = {
        "label": datasets.ClassLabel(names=["no", "yes", "maybe"]),
        "topics": datasets.Sequence(datasets.ClassLabel(names=["heart", "lung"])),
        "ner_tags": datasets.Sequence(datasets.ClassLabel(names=["O", "B-Drug", "I-Drug"])),
    }
    whole = datasets.Dataset.from_dict(rows)
    for name in rows:
        whole = whole.cast_column(name, names[name]) if name in names else whole
    return whole


def load(columns: Columns, path: Path | None = None, **options: Any) -> Corpus:
    return catalog.load("huggingface", DataOptions(path=path, columns=columns, **options))


CLASSES = Columns(kind="multiclass", target="label")


def test_named_classes_keep_their_names_and_order(datasets, tmp_path) -> None:
    train = made(datasets, {"text": ["a", "b", "c"], "label": [1, 0, 1]})
    test = made(datasets, {"text": ["d", "e"], "label": [0, -1]})
    extra = made(datasets, {"text": ["f"], "label": [0]})
    whole = datasets.DatasetDict({"test": test, "train": train, "unsupervised": extra})
    whole.save_to_disk(tmp_path / "saved")
    corpus = load(CLASSES, tmp_path / "saved")
    assert corpus.tasks[0].classes == ("no", "yes", "maybe")
    assert corpus.targets["label"].tolist() == [1, 0, 1, 0]
    assert corpus.parts == ("train", "train", "train", "test")
    assert corpus.ids == ("train.1", "train.2", "train.3", "test.1")
    assert corpus.notes == (
        "1 rows of `saved/test` left out: their class is missing",
        "split `unsupervised`: 1 rows left out, because it is not a part",
    )


def test_a_missing_class_is_unknown_where_that_is_allowed(datasets, tmp_path) -> None:
    rows = {"text": ["a", "b", "c", "d"], "label": [2, -1, 0, -1]}
    made(datasets, rows).save_to_disk(tmp_path / "saved")
    corpus = load(replace(CLASSES, missing_labels="unknown"), tmp_path / "saved")
    assert corpus.targets["label"].tolist() == [2, -1, 0, -1]
    assert corpus.texts == ("a", "b", "c", "d")
    assert corpus.notes == ("2 of 4 labels are missing, and neither learned nor tested",)


def test_a_missing_class_is_an_unknown_label_of_yes_and_no(datasets, tmp_path) -> None:
    rows = {"text": ["a", "b", "c", "d"], "label": [1, -1, 0, -1]}
    made(datasets, rows).save_to_disk(tmp_path / "saved")
    columns = Columns(labels=("label",), missing_labels="unknown")
    assert load(columns, tmp_path / "saved").targets["label"].tolist() == [1, -1, 0, -1]
    with pytest.raises(DataError, match=r"row 2, column `label` is empty.*missing_labels: unknown"):
        load(Columns(labels=("label",)), tmp_path / "saved")


def test_one_split_is_not_divided(datasets, tmp_path) -> None:
    rows = {"id": ["x", "y"], "tokens": [["No", "aspirin"], ["None"]], "ner_tags": [[0, 1], [0]]}
    made(datasets, rows).save_to_disk(tmp_path / "saved")
    corpus = load(Columns(kind="tagging", words="tokens", tags="ner_tags", id="id"), tmp_path / "saved")
    assert corpus.parts is None
    assert corpus.words == (("No", "aspirin"), ("None",))
    assert corpus.targets["ner_tags"].tolist() == [(Span(1, 2, "Drug"),), ()]
    assert corpus.ids == ("x", "y")


def test_lists_of_named_classes_are_labels(datasets, tmp_path) -> None:
    made(datasets, {"text": ["a", "b"], "topics": [[0, 1], [1]]}).save_to_disk(tmp_path / "saved")
    corpus = load(Columns(label_list="topics"), tmp_path / "saved")
    assert corpus.names == ("heart", "lung")
    assert corpus.matrix().tolist() == [[1, 1], [0, 1]]


def test_yes_no_columns_stay_numbers(datasets, tmp_path) -> None:
    made(datasets, {"text": ["a", "b"], "label": [0, 1]}).save_to_disk(tmp_path / "saved")
    assert load(Columns(labels=("label",)), tmp_path / "saved").matrix().tolist() == [[0], [1]]


def test_a_folder_of_files_with_pairs_and_numbers(datasets, tmp_path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("train", "validation", "test"):
        rows = [{"sentence1": f"{name} {n}", "sentence2": "y", "score": n / 2} for n in range(3)]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    columns = Columns(kind="regression", text="sentence1", text_pair="sentence2", target="score")
    corpus = load(columns, folder)
    assert corpus.parts == ("train",) * 3 + ("validation",) * 3 + ("test",) * 3
    assert corpus.targets["score"].tolist() == [0, 0.5, 1] * 3
    assert corpus.seconds == ("y",) * 9
    assert corpus.targets["score"].dtype == np.float32


def test_faults_have_a_place(datasets, tmp_path) -> None:
    made(datasets, {"text": ["a", "b"], "label": [0, 1]}).save_to_disk(tmp_path / "saved")
    with pytest.raises(
        DataError, match=r"`saved` has no column `labels` .*allowed: text, label; did you mean"
    ):
        load(Columns(kind="multiclass", target="labels"), tmp_path / "saved")
    with pytest.raises(DataError, match=r"`saved` row 1, column `label` is not text .got 0"):
        load(Columns(kind="multiclass", text="label", target="text"), tmp_path / "saved")


def test_no_code_is_run(datasets, tmp_path) -> None:
    folder = tmp_path / "scripted"
    folder.mkdir()
    (folder / "scripted.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(
        DataError, match=r"`scripted` cannot be read .got RuntimeError: Dataset scripts are no"
    ):
        load(CLASSES, folder)
    assert not (tmp_path / "ran").exists()


def test_other_formats_are_not_read(datasets, tmp_path) -> None:
    (tmp_path / "a.xml").write_text("<a/>")
    with pytest.raises(DataError, match=r"has an unsupported format: xml; allowed: arrow, cache, csv, json"):
        load(CLASSES, tmp_path)


def test_a_name_on_the_hub_is_split_and_told_without_network(datasets, monkeypatch, tmp_path) -> None:
    asked: list[object] = []

    def build(path: str, **more: object) -> None:
        asked.append((path, more))
        raise ConnectionError("offline")

    monkeypatch.setattr(datasets, "load_dataset_builder", build)
    with pytest.raises(
        DataError, match=r"`nyu-mll/glue:stsb@main` cannot be read .got ConnectionError: offline."
    ):
        load(CLASSES, hub="nyu-mll/glue:stsb@main")
    assert asked == [("nyu-mll/glue", {"name": "stsb", "revision": "main"})]
    with pytest.raises(DataError, match=r"`data.hub` is not a name of a data set .got https"):
        load(CLASSES, hub="https://huggingface.co/datasets/imdb")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "imdb").mkdir()
    with pytest.raises(DataError, match=r"`data.hub`: `imdb` is also a file or folder here"):
        load(CLASSES, hub="imdb")


def test_what_the_hub_gives_is_read_as_a_folder_is(datasets, monkeypatch, tmp_path) -> None:
    (tmp_path / "train.csv").write_text("text,label\na,x\nb,y\n")
    (tmp_path / "test.csv").write_text("text,label\nc,x\n")
    here = datasets.load_dataset_builder
    monkeypatch.setattr(datasets, "load_dataset_builder", lambda path, **more: here(str(tmp_path)))
    corpus = load(CLASSES, hub="someone/something", alias="theirs")
    assert corpus.name == "theirs"
    assert corpus.texts == ("a", "b", "c")
    assert corpus.parts == ("train", "train", "test")
    assert corpus.targets["label"].tolist() == [0, 1, 0]


def test_without_the_package(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(hugging_face, "find_spec", lambda name: None)
    with pytest.raises(
        DataError, match=r"needs the package datasets; install it: pip install 'mtlv.huggingface.'"
    ):
        load(CLASSES, tmp_path)
    monkeypatch.setattr(hugging_face, "find_spec", lambda name: object())
    monkeypatch.setattr(hugging_face, "version", lambda name: "3.6.0")
    with pytest.raises(DataError, match=r"the package datasets is too old .got 3.6.0.; allowed: 4 or newer"):
        load(CLASSES, tmp_path)


def test_nothing_named(tmp_path) -> None:
    with pytest.raises(DataError, match=r"needs a file; set `data.path` to it, or `data.hub` to its name"):
        load(CLASSES)
    (tmp_path / "a.csv").write_text("text,label\nx,y\n")
    with pytest.raises(DataError, match=r"is not a folder; use `data.name: table`"):
        load(CLASSES, tmp_path / "a.csv")


def test_subsets_of_files_that_the_hub_converted_are_folders(datasets, monkeypatch, tmp_path) -> None:
    """The hub cannot be reached in tests: a folder stands for its revision."""
    for number, subset in enumerate(("small", "large")):
        (tmp_path / "hub" / subset / "train").mkdir(parents=True)
        rows = made(datasets, {"text": ["a", "b"], "label": [number, 2]})
        rows.to_parquet(tmp_path / "hub" / subset / "train" / "0000.parquet")
    build = datasets.load_dataset_builder

    def build_local(path: str, revision: str, **more: Any) -> Any:
        assert (path, revision) == ("owner/name", "refs/convert/parquet")
        return build(str(tmp_path / "hub"), **more)

    monkeypatch.setattr(datasets, "load_dataset_builder", build_local)
    for number, subset in enumerate(("small", "large")):
        corpus = load(CLASSES, hub=f"owner/name:{subset}@refs/convert/parquet")
        assert corpus.targets["label"].tolist() == [number, 2]


def test_a_data_set_with_a_script_names_the_converted_files(datasets, monkeypatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError("Dataset scripts are no longer supported, but found name.py")

    monkeypatch.setattr(datasets, "load_dataset_builder", refuse)
    with pytest.raises(DataError, match=r"`data.hub: owner/name:x@refs/convert/parquet`"):
        load(CLASSES, hub="owner/name:x@main")


def test_fields_of_objects_are_columns(datasets, tmp_path) -> None:
    rows = {"note": [{"body": "a"}, {"body": "b"}], "label": [1, 0]}
    made(datasets, rows).save_to_disk(tmp_path / "saved")
    assert load(replace(CLASSES, text="note.body"), tmp_path / "saved").texts == ("a", "b")
