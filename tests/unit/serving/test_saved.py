"""A saved model as MLflow loads and serves it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mtlv
from mtlv.errors import DataError
from mtlv.events import ignore

TEXTS = ["alpha today", "beta image", "gamma alpha"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model whose training table has numbers as names of columns, and three labels."""
    home = tmp_path_factory.mktemp("saved")
    rows = {0: [f"alpha {n}" if n % 2 else f"beta {n}" for n in range(60)]}
    rows |= {label: [n // label % 2 for n in range(60)] for label in (1, 2, 3)}
    corpus = mtlv.from_dataframe(
        pd.DataFrame(rows), text=0, labels=[1, 2, np.int64(3)], descriptions={2: "every other"}
    )
    assert corpus.tasks == ("1", "2", "3")
    assert corpus.documents.tasks[1].description == "every other"
    settings = {"encoder": "tiny", "epochs": 1, "precision": "fp32", "folder": home, "callback": ignore}
    result = mtlv.train(corpus, **settings)
    np.testing.assert_array_equal(
        result.predict(pd.DataFrame({0: TEXTS, 1: [0, 1, 0]})), result.predict(TEXTS)
    )
    return result.save(home / "model")


@pytest.fixture(scope="module")
def served(folder: Path) -> Any:
    """A client of MLflow's server of the folder."""
    import mlflow
    from mlflow.pyfunc.scoring_server import init
    from starlette.testclient import TestClient

    return TestClient(init(mlflow.pyfunc.load_model(str(folder), model_config={"device": "cpu"})))


def test_names_of_columns_that_cannot_be_told_apart_are_named() -> None:
    table = pd.DataFrame([["a", 1, 1]], columns=["text", 1, "1"])
    with pytest.raises(DataError, match=r"a duplicate column \(got 1\)"):
        mtlv.from_dataframe(table, labels=[1])
    levels = pd.DataFrame([["a", 1]], columns=pd.MultiIndex.from_tuples([("x", "text"), ("y", "b")]))
    with pytest.raises(DataError, match="names of several levels"):
        mtlv.from_dataframe(levels, labels=["b"])


def test_mlflow_loads_the_folder_and_takes_each_kind_of_input(folder: Path) -> None:
    import mlflow

    model = mlflow.pyfunc.load_model(str(folder))
    wanted = mtlv.load_model(folder).predict_frame(TEXTS)
    for given in (
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS)[:, None],
        pd.Series(TEXTS),
        pd.DataFrame({"x": [1, 2, 3], "text": TEXTS}),
        pd.DataFrame({"x": [1, 2, 3], "0": TEXTS, "1": [0, 1, 1]}),
        {"text": TEXTS, "x": np.arange(3)},
        [{"text": text, "x": 1} for text in TEXTS],
    ):
        pd.testing.assert_frame_equal(model.predict(given), wanted)
    pd.testing.assert_frame_equal(model.predict({"text": TEXTS[0], "x": 1}), model.predict(TEXTS[0]))
    with pytest.raises(mlflow.MlflowException, match="differ in length"):
        model.predict({"text": TEXTS, "x": [1]})


def test_the_input_example_is_answered(served: Any, folder: Path) -> None:
    import mlflow

    model = mlflow.pyfunc.load_model(str(folder))
    answer = model.predict(model.input_example)
    assert answer.notna().all(axis=None)
    assert len(answer) == 1
    request = mlflow.models.Model.load(folder).get_serving_input(str(folder))
    (row,) = served.post("/invocations", content=request, headers=JSON).json()["predictions"]
    assert row == pytest.approx(answer.iloc[0].to_dict(), rel=1e-4)


JSON = {"content-type": "application/json"}
RECORDS = [{"id": n, "0": text, "1": 0} for n, text in enumerate(TEXTS)]


@pytest.mark.parametrize(
    "body",
    [
        {"inputs": TEXTS},
        {"inputs": RECORDS},
        {"inputs": {"text": TEXTS, "x": [1, 2, 3]}},
        {"instances": TEXTS},
        {"instances": RECORDS},
        {"dataframe_records": RECORDS},
        {"dataframe_split": {"columns": ["x", "text"], "data": [[n, text] for n, text in enumerate(TEXTS)]}},
    ],
)
def test_each_payload_is_answered(served: Any, folder: Path, body: dict[str, Any]) -> None:
    found = served.post("/invocations", json=body)
    assert found.status_code == 200, found.text
    wanted = mtlv.load_model(folder).predict_frame(TEXTS)
    pd.testing.assert_frame_equal(pd.DataFrame(found.json()["predictions"]), wanted, rtol=1e-4)


@pytest.mark.parametrize("key", ["inputs", "instances", "dataframe_records"])
def test_empty_rows_are_null(served: Any, key: str) -> None:
    texts = [None, *TEXTS, "", " "]
    rows = [{"text": text} for text in texts] if key == "dataframe_records" else texts
    found = served.post("/invocations", json={key: rows})
    predictions = found.json()["predictions"]
    assert [{*row.values()} == {None} for row in predictions] == [True, False, False, False, True, True]
    assert not any(None in row.values() for row in predictions[1:4])


@pytest.mark.parametrize(
    "body", [{"inputs": [1, 2]}, {"inputs": {"a": 1}}, {"instances": []}, {}, {"x": ["a"]}]
)
def test_what_is_no_text_is_refused(served: Any, body: dict[str, Any]) -> None:
    found = served.post("/invocations", json=body)
    assert found.status_code == (200 if body == {"instances": []} else 400)
    assert "Traceback" not in found.text
