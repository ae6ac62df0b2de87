"""Which run a user means, and what is said where it has no model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from shelf import Shelf, stored

from mtlv.cli import main
from mtlv.errors import DataError, TrackingError
from mtlv.serving.inputs import InputSchema
from mtlv.serving.predict import find_run, load_plan, predict_texts
from mtlv.serving.texts import from_arguments
from mtlv.tracking.reader import COMPARISON, FOLD

SHELF = Shelf(
    stored("aaaaaa1", "mtl", at=1, **{"mtlv.uid": "aaaaaa2355e1b0cd-1"}),
    stored("aaaaaa2", "mtl", at=2),
    stored("bbbbbb1", "mtl · fold 0", FOLD, at=3),
    stored("cccccc1", "gmtl", experiment="2", at=4),
    stored("dddddd1", "it's", at=5),
    stored("eeeeee1", "comparison of 2 runs", COMPARISON, at=6),
    experiments={"one": "1", "two": "2"},
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("aaaaaa1".ljust(32, "0"), "aaaaaa1"),
        ("mtl", "aaaaaa2"),  # the newest of that name
        ("mtl · fold 0", "bbbbbb1"),
        ("bbbbbb", "bbbbbb1"),
        ("aaaaaa1", "aaaaaa1"),
        ("gmtl", "cccccc1"),
        ("it's", "dddddd1"),  # MLflow's search has no way to write the quote
        ("MTL", "aaaaaa2"),
        ("gm", "cccccc1"),
        ("aaaaaa2355e1b0cd-1", "aaaaaa1"),  # `Result.uid`
    ],
)
def test_a_run_by_id_by_its_beginning_by_name_or_by_uid(text: str, found: str) -> None:
    assert find_run(SHELF, text).id.startswith(found)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "experiment", "said"),
    [
        ("aaaaaa", None, r"`aaaaaa` is the prefix of 2 run ids; give more digits"),
        ("mtk", None, r"there is no run `mtk` in the store; .* did you mean `mtl`\?"),
        (
            "nothing like it",
            None,
            r"such as `it's`, or a folder with a model; `mtlv ui` shows the runs",
        ),
        ("it's not", None, r"there is no run `it's not`"),
        (
            "mtl",
            "tow",
            r"no experiment `tow` in the store; .*`one`, `two`; did you mean `two`",
        ),
        ("gmtl", "one", r"there is no run `gmtl`"),
        ("cccccc1".ljust(32, "0"), "one", r"there is no run"),
    ],
)
def test_what_is_not_there_is_said(name: str, experiment: str | None, said: str) -> None:
    with pytest.raises(TrackingError, match=said):
        find_run(SHELF, name, experiment)  # type: ignore[arg-type]


def test_a_folder_without_a_model_is_said(tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match=r"contains no model; give one with the file MLmodel"):
        load_plan(str(tmp_path))
    with pytest.raises(TrackingError, match=r"the folder nowhere does not exist"):
        load_plan("./nowhere")


def test_a_store_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match=r"there are no runs yet"):
        load_plan("mtl", uri=f"sqlite:///{tmp_path / 'no.db'}")


def test_given_predictions_have_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    run = replace(stored("ffffff1", "llm"), params={"predictions": "llm.csv"})
    shelf = Shelf(run, experiments={"one": "1"})
    shelf.uri = ""  # type: ignore[attr-defined]
    monkeypatch.setattr("mtlv.serving.predict.MlflowReader", lambda _: shelf)
    monkeypatch.setattr("mtlv.serving.predict.fetch_model", lambda *_: None)
    with pytest.raises(TrackingError, match=r"has no model, because its predictions were given"):
        load_plan("llm")


def test_an_input_that_no_task_reads_is_refused() -> None:
    schema = InputSchema(max_length=8)
    plan = SimpleNamespace(description=SimpleNamespace(tasks={"a": SimpleNamespace(schema=schema)}))
    with pytest.raises(DataError, match=r"no task of the model reads `text_pair`; leave it out"):
        predict_texts(plan, from_arguments(["a"], text_pair=["b"]))  # type: ignore[arg-type]


def test_options_of_typed_texts_are_refused_beside_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "mtl", "--file", "a.csv", "--pair", "b"]) == 2
    assert "both `--file` and `--pair` were given; a file has it in a column" in capsys.readouterr().err
