"""mtlv in Python: what notebooks and scripts see."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from pixel import draw_nothing

import mtlv
from mtlv import events
from mtlv.api import result
from mtlv.api.corpus import stored_path
from mtlv.api.training import SuiteRun
from mtlv.comparison.drawing import FigureFiles
from mtlv.errors import ConfigError, DataError, GroupingError, TrackingError
from mtlv.plan.spans import Span
from mtlv.serving.pyfunc import PyfuncPlan
from mtlv.suite.keep_models import package
from mtlv.suite.run import SuiteResult

WORDS = {"heart": "large cardiac shadow", "lung": "hazy airspace change", "bone": "old rib fracture"}
TEXTS = ["large cardiac shadow today", "nothing at all"]


def frame(count: int = 60) -> pd.DataFrame:
    held = np.random.default_rng(0).random((count, len(WORDS))) < 0.4
    texts = [" and ".join(np.array([*WORDS.values()])[row]) or "nothing" for row in held]
    columns = {name: held[:, n].astype(int) for n, name in enumerate(WORDS)}
    return pd.DataFrame({"report": [f"{text} {n}" for n, text in enumerate(texts)], **columns})


def from_frame(name: str = "reports") -> mtlv.Corpus:
    return mtlv.from_dataframe(
        frame(), text="report", labels=list(WORDS), descriptions=WORDS, name=name, group=None
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[mtlv.Result, mtlv.Result, Path, list]:
    """Two results of a corpus in memory, in one folder, and all events of the first."""
    folder, heard = tmp_path_factory.mktemp("api"), list[events.Event]()
    settings = {"encoder": "tiny", "epochs": 2, "precision": "fp32", "folder": folder}
    corpus = from_frame()
    groups = mtlv.cluster(corpus, encoder="tiny", k=2)
    grouped = mtlv.train(
        corpus,
        architecture="gmtl",
        groups=groups,
        callback=heard.append,
        **settings,
    )
    alone = mtlv.train(from_frame(), architecture="stl", callback=events.ignore, **settings)
    return grouped, alone, folder, heard


@pytest.mark.parametrize("name", ["corpus", "groups", "model", "training"])
def test_examples_do_what_they_show(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(import_module(f"mtlv.api.{name}"))
    assert found.attempted
    assert not found.failed


def test_every_public_name_has_a_docstring_and_the_import_is_light() -> None:
    assert sorted(mtlv.__all__) == mtlv.__all__
    assert all(getattr(mtlv, name).__doc__ for name in mtlv.__all__ if name != "__version__")
    assert set(dir(mtlv)) == {*mtlv.__all__, "errors", "events"}
    script = (
        "import mtlv, sys; print([m for m in ('numpy', 'torch', 'pandas', 'pydantic') if m in sys.modules]);"
        "mtlv.errors.MtlvError, mtlv.events.ignore"
    )
    root = Path(mtlv.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=root, check=True
    )
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="no `trian`"):
        _ = mtlv.trian


def test_a_corpus_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = from_frame()
    assert (corpus.name, len(corpus), corpus.tasks) == ("reports", 60, tuple(WORDS))
    shown = corpus.to_frame()
    assert shown["heart"].tolist() == frame()["heart"].tolist()
    assert shown["text"].iloc[0] == frame()["report"].iloc[0]
    assert "large cardiac shadow" in corpus._repr_html_()
    assert f"{frame()['heart'].sum()} yes" in corpus._repr_html_()
    mtlv.cluster(corpus, encoder="tiny")
    assert list(tmp_path.iterdir()) == []


def test_a_named_index_has_the_ids(tmp_path: Path) -> None:
    numbered = frame().set_axis(pd.Index([f"r{n}" for n in range(60)], name="report_id"))
    for named in ({}, {"id": "report_id"}):
        found = mtlv.from_dataframe(numbered, text="report", labels=["heart"], **named)
        assert found.documents.ids[:2] == ("r0", "r1")
    twice = numbered.set_axis(pd.Index(["r"] * 60, name="report_id"))
    for other in (frame(), numbered.rename_axis(None), twice):
        assert mtlv.from_dataframe(other, text="report", labels=["heart"]).documents.ids[:2] == ("1", "2")
    kept = numbered.assign(own=[f"x{n}" for n in range(60)])
    assert mtlv.from_dataframe(kept, text="report", labels=["heart"], id="own").documents.ids[0] == "x0"


def test_dropped_rows_are_said() -> None:
    some = frame().assign(report=lambda rows: rows["report"].where(rows.index > 1))
    corpus = mtlv.from_dataframe(some, text="report", labels=["heart"])
    assert repr(corpus) == "Corpus('dataframe', 58 documents, 1 tasks; 2 rows without text dropped)"


def test_missing_labels_are_na(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = frame().astype({"heart": "float"})
    table.loc[3, "heart"] = float("nan")
    corpus = mtlv.from_dataframe(table, text="report", labels=list(WORDS), missing_labels="unknown")
    shown = corpus.to_frame()
    assert shown["heart"].isna().to_numpy().nonzero()[0].tolist() == [3]
    assert shown["heart"].sum() == table["heart"].sum()
    assert shown["heart"].dtype == "Int8"
    assert shown["lung"].tolist() == table["lung"].tolist()
    assert "1 of" in repr(corpus)


@pytest.mark.parametrize("empty", [None, float("nan"), pd.NA, pd.NaT])
def test_missing_targets_of_every_kind_are_na(empty: object) -> None:
    table = pd.DataFrame(
        {
            "report": [f"report {n} is here" for n in range(6)],
            "sort": ["a", empty, "b", "c", empty, "a"],
            "number": [1.5, empty, 2, 3, empty, 0],
            "tags": ["O O O O", empty, "O B-Drug O O", "O O O O", empty, "B-Drug O O O"],
        }
    )
    for kind, role, name in (
        ("multiclass", "target", "sort"),
        ("regression", "target", "number"),
        ("tagging", "tags", "tags"),
    ):
        given: dict = {role: name}
        made = mtlv.from_dataframe(table, text="report", kind=kind, missing_labels="unknown", **given)
        shown = made.to_frame()[name]
        assert shown.isna().tolist() == [False, True, False, False, True, False]
        assert "2 of 6 labels are missing" in repr(made)
        assert len(made) == 6
        if kind == "multiclass":
            assert shown.dtype == "Int64"
            assert shown.dropna().tolist() == [0, 1, 2, 0]
        with pytest.raises(DataError, match=r"row 2 of the DataFrame.*or set `missing_labels='unknown'` if"):
            mtlv.from_dataframe(table, text="report", kind=kind, **given)


@pytest.mark.parametrize("dtype", ["float", "Int64", "Float64"])
def test_whole_classes_beside_missing_ones_keep_their_names(dtype: str) -> None:
    table = pd.DataFrame({"text": list("uvwxyz"), "sort": pd.array([3, 1, None, 10, 3, None], "Int64")})
    made = mtlv.from_dataframe(
        table.astype({"sort": dtype}), kind="multiclass", target="sort", missing_labels="unknown"
    )
    assert made.documents.tasks[0].classes == ("1", "3", "10")
    assert made.documents.targets["sort"].tolist() == [1, 0, -1, 2, 1, -1]


def test_a_dataset_gives_what_the_same_table_gives() -> None:
    datasets = pytest.importorskip("datasets")
    made = mtlv.from_dataset(datasets.Dataset.from_pandas(frame()), text="report", labels=list(WORDS))
    pd.testing.assert_frame_equal(made.to_frame(), from_frame().to_frame())


def test_a_table_by_its_path(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "t.csv", index=False)
    corpus = mtlv.load(tmp_path / "t.csv", columns={"text": "report", "labels": list(WORDS)})
    assert corpus.to_frame()["lung"].tolist() == frame()["lung"].tolist()
    named = mtlv.load(tmp_path / "t.csv", text="report", labels=list(WORDS))
    pd.testing.assert_frame_equal(named.to_frame(), corpus.to_frame())
    some = mtlv.load(tmp_path / "t.csv", columns={"text": "report", "labels": list(WORDS)}, labels=["lung"])
    assert some.tasks == ("lung",)
    assert len(mtlv.load("synthetic", documents=40, labels=["Catheter"]).tasks) == 1
    for same in (
        mtlv.load("table", tmp_path / "t.csv", text="report", labels=list(WORDS)),
        mtlv.load(tmp_path / "t.csv", columns={"text": "report"}, labels=list(WORDS)),
        mtlv.load(tmp_path / "t.csv", text="report", columns={"labels": list(WORDS)}, documents=50),
    ):
        assert same.settings.items() >= corpus.settings.items()
    number = mtlv.load(tmp_path / "t.csv", text="report", kind="regression", target="lung", metric="pearson")
    assert number.settings["data.columns.metric"] == "pearson"
    with pytest.raises(DataError, match=r"`columns` takes a `Mapping` \(got a `int`\)"):
        mtlv.load(tmp_path / "t.csv", columns=3, labels=["lung"])
    with pytest.raises(ConfigError, match=r"^argument `labels` is missing; name the columns"):
        mtlv.load(tmp_path / "t.csv", text="report")
    with pytest.raises(DataError, match=r"no column `hart` \(argument `labels`\)"):
        mtlv.load(tmp_path / "t.csv", text="report", labels=["hart"])
    short = mtlv.from_dataframe(frame(), text="report", labels=list(WORDS), max_length=4, limit=12)
    assert (len(short), short.settings["data.max_length"]) == (12, 4)


def test_groups_as_numbers_and_figures() -> None:
    corpus = from_frame()
    groups = mtlv.cluster(corpus, encoder="tiny", k=2)
    assert groups.k == len(groups.groups) == 2
    table = groups.to_frame()
    assert [sorted(table.index[table["group"] == n + 1]) for n in range(2)] == [
        sorted(group) for group in groups.groups
    ]
    assert table["medoid"].sum() == 2
    for figure in (groups.plot_elbow(), groups.plot_map()):
        assert isinstance(figure, Figure)
        assert figure._repr_png_().startswith(b"\x89PNG"), "a notebook shows it"
    assert groups.groups[0][0] in groups._repr_html_()
    given = mtlv.cluster(corpus, encoder="tiny", method="given", groups=[["heart"], ["lung", "bone"]])
    assert given.groups == (("heart",), ("lung", "bone"))
    with pytest.raises(GroupingError, match="no elbow"):
        given.plot_elbow()
    random = {mtlv.cluster(corpus, method="random", k=2, seed=seed).groups for seed in range(6)}
    assert len(random) > 1


def test_a_result_has_metrics_and_groups(trained) -> None:
    grouped, alone, folder, heard = trained
    assert grouped.tasks == tuple(WORDS)
    assert grouped.groups is not None
    assert grouped.groups.k == 2
    assert alone.groups is None
    assert grouped.to_frame().loc["heart", "f1"] == pytest.approx(grouped._result.of_task("heart", "f1")[0])
    assert set(grouped.metrics) >= {"f1_macro", "average_precision_macro"}
    assert "heart" in grouped._repr_html_()
    assert repr(grouped).startswith("Result('GMTL")
    kinds = [type(event) for event in heard]
    assert kinds.count(events.UnitStarted) == kinds.count(events.UnitEnded) == 2
    assert kinds.count(events.EpochEnded) == 4
    assert {key for e in heard if isinstance(e, events.EpochEnded) for key in e.validation} == {"AP"}
    assert sorted(path.name for path in folder.iterdir()) == ["mlflow.db", "mlruns", "mtlv-store"]
    assert len(list((folder / "mtlv-store" / "corpora").iterdir())) == 1


def test_a_result_predicts_as_an_estimator(trained, tmp_path: Path) -> None:
    grouped = trained[0]
    probabilities, decided = grouped.predict_proba(TEXTS), grouped.predict(TEXTS)
    assert probabilities.shape == decided.shape == (2, 3)
    assert list(grouped.classes_) == list(WORDS)
    both = grouped.predict_frame(TEXTS)
    np.testing.assert_allclose(both["lung probability"], probabilities[:, 1])
    np.testing.assert_array_equal(both["lung decided"], decided[:, 1])
    from sklearn.base import clone, is_classifier
    from sklearn.metrics import f1_score, get_scorer
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(grouped)
    for call in (clone, mtlv.Result.fit):
        with pytest.raises(DataError, match=r"cannot be trained again; give `mtlv.TextClassifier"):
            call(grouped)
    assert is_classifier(grouped)
    texts, truth = frame()["report"].tolist(), frame()[list(WORDS)].to_numpy()
    score = get_scorer("f1_macro")(grouped, texts, truth)
    assert score == pytest.approx(f1_score(truth, grouped.predict(texts), average="macro"))
    saved = grouped.save(tmp_path / "model")
    loaded = mtlv.load_model(saved)
    np.testing.assert_allclose(loaded.predict_proba(TEXTS), probabilities, rtol=1e-5)
    np.testing.assert_array_equal(loaded.predict(TEXTS), decided)
    table = pd.DataFrame({"text": ["of another column"] * 2, "report": TEXTS})
    np.testing.assert_array_equal(loaded.predict_proba(table), loaded.predict_proba(TEXTS))
    served, context = PyfuncPlan(), SimpleNamespace(artifacts={"served": saved / "served"}, model_config=None)
    served.load_context(context)
    found = served.predict(context, table, params={"columns": "probabilities"})
    np.testing.assert_allclose(found.to_numpy(), probabilities, rtol=1e-5)
    assert loaded.tasks == tuple(loaded.classes_) == grouped.tasks
    assert repr(loaded) == f"Model('{loaded._plan.description.origin}', 3 tasks)"
    with pytest.raises(TrackingError, match="contains no model"):
        mtlv.load_model(tmp_path)
    with pytest.raises(TrackingError, match=r"the folder .*/nomodel does not exist"):
        mtlv.load_model(Path("nomodel"))
    with pytest.raises(DataError, match="got no name; give a folder"):
        mtlv.load_model("")
    with pytest.raises(DataError, match="path or mapping"):
        mtlv.run([1])  # type: ignore[arg-type]
    with pytest.raises(TrackingError, match="there already"):
        grouped.save(saved)


def test_probabilities_may_be_calibrated(trained, tmp_path: Path) -> None:
    saved = trained[0].save(tmp_path / "model")
    described = saved / "served" / "served.json"
    content = json.loads(described.read_text(encoding="utf-8"))
    described.write_text(json.dumps(content | {"temperatures": {}}), encoding="utf-8")
    with pytest.raises(
        DataError, match=r"^`calibrated`: the model has no temperature of heart, lung, bone; leave"
    ):
        mtlv.load_model(saved).predict_frame(TEXTS, calibrated=True)
    described.write_text(json.dumps(content | {"temperatures": dict.fromkeys(WORDS, 2.0)}), encoding="utf-8")
    model = mtlv.load_model(saved)
    odds = model.predict_proba(TEXTS) / (1 - model.predict_proba(TEXTS))
    wanted = 1 / (1 + odds**-0.5)
    np.testing.assert_allclose(model.predict_proba(TEXTS, calibrated=True), wanted, rtol=1e-5)
    named = model.predict_frame(TEXTS, calibrated=True)
    np.testing.assert_allclose(named["lung probability"], wanted[:, 1], rtol=1e-5)
    np.testing.assert_array_equal(named["lung decided"], model.predict(TEXTS)[:, 1])
    served, context = PyfuncPlan(), SimpleNamespace(artifacts={"served": saved / "served"}, model_config=None)
    served.load_context(context)
    found = served.predict(context, TEXTS, params={"columns": "probabilities", "calibrated": True})
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_texts_may_stand_in_a_table(trained) -> None:
    grouped, wanted = trained[0], trained[0].predict_proba(TEXTS)
    index = ["a", "b"]
    for given in (
        pd.DataFrame({"report": TEXTS}, index=index),
        pd.DataFrame({"mentions": TEXTS}, index=index),
        pd.DataFrame({"n": [1, 2], "text": TEXTS}, index=index),
        pd.Series(TEXTS, index=index),
    ):
        np.testing.assert_array_equal(grouped.predict_proba(given), wanted)
        assert grouped.predict_frame(given).index.tolist() == index
    np.testing.assert_array_equal(grouped.predict_proba([{"text": text} for text in TEXTS]), wanted)
    np.testing.assert_array_equal(grouped.predict_proba(text for text in TEXTS), wanted)
    np.testing.assert_array_equal(grouped.predict_proba({"text": TEXTS}), wanted)
    with pytest.warns(UserWarning, match=r"2 empty answers: there is no text at row 0; also at row 2"):
        some = grouped.predict_proba(["", TEXTS[0], None, TEXTS[1]])
    assert np.isnan(some).all(1).tolist() == [True, False, True, False]
    np.testing.assert_allclose(some[[1, 3]], wanted, rtol=1e-5)
    assert grouped.predict([]).shape == (0, 3)
    both = pd.DataFrame({"text": ["of another column"] * 2, "report": TEXTS})
    np.testing.assert_array_equal(grouped.predict_proba(both), wanted)
    np.testing.assert_array_equal(grouped.predict_proba(both.to_dict("records")), wanted)
    for wrong, text in (
        (
            pd.DataFrame({"n": [1], "note": ["x"]}),
            r"not clear which column .* \(got n, note\); allowed: .* named `report` or `text`",
        ),
        ({"text": TEXTS, "n": [1]}, r"the columns of the input differ in length"),
    ):
        with pytest.raises(DataError, match=text):
            grouped.predict(wrong)


def test_pairs_are_predicted_from_a_table(tmp_path: Path) -> None:
    rows = frame().assign(second="a second text", size=np.arange(60) / 10)
    corpus = mtlv.from_dataframe(rows, text="report", text_pair="second", kind="regression", target="size")
    pairs = mtlv.train(corpus, encoder="tiny", epochs=1, folder=tmp_path, callback=events.ignore)
    table = pd.DataFrame({"text": TEXTS, "text_pair": ["one", "two"]})
    assert pairs.predict(table).shape == (2,)
    np.testing.assert_array_equal(pairs.predict(table.to_dict("records")), pairs.predict(table))
    own = pd.DataFrame({"n": [1, 2], "report": TEXTS, "second": ["one", "two"]})
    np.testing.assert_array_equal(pairs.predict(own), pairs.predict(table))
    with pytest.raises(DataError, match="needs `text_pair`"):
        pairs.predict(TEXTS)


@pytest.mark.parametrize("listed", [list, tuple, np.array])
def test_marked_entities_are_lists_in_a_table(listed) -> None:
    spans = [listed([0, 2]), (np.int64(3), 5, "DRUG")]
    rows = frame().assign(marks=[list(spans), np.array([[0, 4]])] * 30)
    before = rows.copy()
    documents = mtlv.from_dataframe(rows, text="report", labels=["heart"], mentions="marks").documents
    assert documents.mentions is not None
    assert documents.mentions[:2] == ((Span(0, 2, ""), Span(3, 5, "DRUG")), (Span(0, 4, ""),))
    pd.testing.assert_frame_equal(rows, before)


def test_what_cannot_be_written_is_said(trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw_nothing(monkeypatch)
    with pytest.raises(TrackingError, match=r"test_api.py/model cannot be written \(got Not a directory"):
        trained[0].save(Path(__file__) / "model")
    page = mtlv.compare(trained[0], folder=tmp_path / "page")
    with pytest.raises(TrackingError, match=r"cannot be written \(got Is a directory\); name a file in an"):
        page.save(tmp_path)


def test_one_text_is_no_list_of_letters(trained) -> None:
    for predict in (trained[0].predict, trained[0].predict_proba, trained[0].predict_frame):
        with pytest.raises(
            DataError, match=r"`texts` is a list of texts \(got 'septic'\); write `\['septic'\]`"
        ):
            predict("septic")
    with pytest.raises(DataError, match="`labels` is a list of texts"):
        mtlv.from_dataframe(frame(), text="report", labels="heart")
    with pytest.raises(DataError, match=r"`labels` takes a `list of texts` \(got a `int`\)"):
        mtlv.from_dataframe(frame(), text="report", labels=5)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: mtlv.train("notes.csv"),
            DataError,
            r"`mtlv.train` takes a `Corpus` \(got a `str`\); make one",
        ),
        (
            lambda: mtlv.from_dataframe("notes.csv"),
            DataError,
            "takes a `DataFrame` .*; read a file with `mtlv.load`",
        ),
        (
            lambda: mtlv.cluster(frame()),
            DataError,
            r"`mtlv.cluster` takes a `Corpus` \(got a `DataFrame`\); make one",
        ),
        (
            lambda: mtlv.from_dataset(frame()),
            DataError,
            r"`mtlv.from_dataset` takes a `Dataset` \(got a `DataFrame`\); give a DataFrame to",
        ),
        (
            lambda: mtlv.from_dataframe(frame(), text="report", labels=list(WORDS), descriptions=["a heart"]),
            DataError,
            r"`descriptions` takes a `Mapping` \(got a `list`\); write `{TASK: TEXT}`",
        ),
        (
            lambda: mtlv.from_dataframe(
                pd.concat([frame(), frame()], axis=1), text="report", labels=["heart"]
            ),
            DataError,
            r"`DataFrame` has a duplicate column \(got bone, heart, lung, report\); rename one",
        ),
        (
            lambda: mtlv.train(from_frame(), encoder="tiny", folder=__file__),
            DataError,
            "cannot be written to",
        ),
        (
            lambda: mtlv.train(mtlv.load("synthetic", documents=60), encoder="tiny", folder=__file__),
            DataError,
            r"`folder` .*test_api.py cannot be created \(got File exists\); choose another",
        ),
        (lambda: mtlv.compare("x"), DataError, r"`mtlv.compare` takes a `Result` \(got a `str`\)"),
        (lambda: mtlv.compare(), ConfigError, "takes one result or more, and none is given"),
        (
            lambda: mtlv.load(frame()),
            DataError,
            "got a `DataFrame`.; give a DataFrame to `mtlv.from_dataframe`",
        ),
        (
            lambda: mtlv.from_dataframe(frame(), text="report", kind="multiclass"),
            ConfigError,
            "`labels` is missing; .*`kind` and `target`",
        ),
        (
            lambda: mtlv.train(from_frame(), architecture="gmtl", groups=["heart", "lung"]),
            ConfigError,
            r"`groups` is a list of lists of tasks \(got \['heart', 'lung'\]\); write",
        ),
        (lambda: mtlv.load("nosuch.csv"), DataError, r"there is no such file \(got nosuch.csv\)"),
        (
            lambda: mtlv.train(from_frame(), groups=[["heart"], ["lung", "bone"]]),
            ConfigError,
            "argument `groups` has no effect with `architecture='mtl'`; allowed: gmtl or gmhl",
        ),
        (
            lambda: mtlv.train(from_frame(), seed=[0, 1, 0], encoder="tiny"),
            ConfigError,
            "names a seed twice, .*: 0",
        ),
    ],
)
def test_mistakes_are_named(call, error, text, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=text):
        call()


def test_files_that_are_no_tables_are_recognized(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("Pain\tB-sign\n\n" * 20)
    assert mtlv.load(tmp_path / "train.tsv", task="signs").tasks == ("signs",)
    assert len(mtlv.load("conll", tmp_path)) == 20
    (tmp_path / "brat").mkdir()
    (tmp_path / "brat" / "a.txt").write_text("Pain.")
    (tmp_path / "brat" / "a.ann").write_text("T1\tSign 0 4\tPain\n")
    assert len(mtlv.load(tmp_path / "brat")) == 1
    assert mtlv.load("standoff", tmp_path / "brat", columns__task="signs").tasks == ("signs",)


def test_a_comparison_of_results(trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw_nothing(monkeypatch)
    grouped, alone, _, _ = trained
    monkeypatch.setattr("mtlv.comparison.files.draw", lambda _: FigureFiles("<svg/>", b""))
    page = mtlv.compare(grouped, alone, folder=tmp_path / "page", title="Two")
    assert {path.name for path in page.folder.iterdir()} == {"compare.html", "comparison.json"}
    mtlv.compare(grouped, alone, folder=tmp_path / "page", title="Two", figures=True)
    assert (page.folder / "figures" / "cost.svg").read_text() == "<svg/>"
    assert (page.folder / "tables" / "overview.csv").read_text().startswith("run,")
    assert page.to_frame().loc[alone.name, "test/f1_macro"] == pytest.approx(alone.metrics["f1_macro"])
    assert "<iframe" in page._repr_html_()
    assert page.save(tmp_path / "copy.html").read_bytes() == page.path.read_bytes()
    assert page.folder == tmp_path / "page"


def test_results_of_equal_settings_and_other_documents_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They differ in their documents, or also in the name of the corpus."""
    draw_nothing(monkeypatch)
    rows = frame(120)
    parts = (rows.head(60), "dataframe"), (rows.tail(60), "dataframe"), (rows.tail(60), "south")
    results = [
        mtlv.train(
            mtlv.from_dataframe(part, text="report", labels=list(WORDS), name=name),
            encoder="tiny",
            epochs=1,
            folder=tmp_path,
            callback=events.ignore,
        )
        for part, name in parts
    ]
    page = mtlv.compare(*results, baseline=results[1], folder=tmp_path / "page")
    table = page.to_frame()
    assert table["test/f1_macro"].tolist() == [found.metrics["f1_macro"] for found in results]
    assert table.columns[0].startswith("test/")
    comparison = page._compared.comparison
    baseline = comparison.run(comparison.baseline)
    assert baseline is comparison.runs[1]
    assert {id_ for child in baseline.children for id_ in child.test.ids} <= set(comparison.texts)
    assert set(comparison.texts.values()) == set(parts[1][0]["report"])
    suite = SuiteRun(SuiteResult((), (), (), ()), "mtlv")
    suite.results = tuple(results[1:])
    names = mtlv.compare(suite, folder=tmp_path / "two").to_frame().index
    assert list(names) == ["MTL, alias dataframe", "MTL, alias south"]


def test_values_are_tried_for_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw_nothing(monkeypatch)
    settings = {"encoder": "tiny", "epochs": 4, "batch_size": 8, "precision": "fp32", "folder": tmp_path}
    tune = {"learning_rate": np.array([1e-12, 5e-3])}
    found = mtlv.train(from_frame(), tune=tune, callback=events.ignore, **settings)
    assert found.name == "MTL, learning rate 0.005"
    with pytest.raises(ConfigError, match="argument `speed`: no setting has this name"):
        mtlv.train(from_frame(), tune={"speed": [1]}, **settings)
    for tune, said in (
        ({"masking__patch": 3}, "no setting has this name"),
        ({"matrix": {"architecture": ["stl", "mtl"]}}, "`matrix`: makes several runs; give it to `mtlv.run`"),
        ({"warmup": 3}, r"`tune.training.warmup`: got 3; allowed: a list of values"),
        ({"epochs": [3]}, r"`tune`: `training.epochs` is an argument, too; leave out one of the two"),
        ({"architecture": ["stl"]}, r"`tune`: `architecture` is an argument, too"),
        ([1e-3], r"`tune` is a mapping of settings to lists of values \(got \[0.001\]\); write \{'learning"),
    ):
        with pytest.raises(ConfigError, match=said):
            mtlv.train(from_frame(), tune=tune, **settings)
    page = mtlv.compare(found, folder=tmp_path / "page")
    assert page._compared.comparison.tried == (), "it is compared with others as it is"


def test_groups_may_have_names(tmp_path: Path) -> None:
    groups = {"chest": ["heart", "lung"], "other": ["bone"]}
    settings = {"encoder": "tiny", "epochs": 1, "folder": tmp_path, "callback": events.ignore}
    found = mtlv.train(from_frame(), architecture="gmtl", groups=groups, **settings).groups
    assert found is not None
    assert found.groups == (("heart", "lung"), ("bone",))


def test_classes_and_numbers_have_the_shapes_of_their_kind(tmp_path: Path) -> None:
    rows = frame()
    rows["grade"] = np.where(rows["heart"] > 0, "high", "low")
    rows["size"] = rows["heart"] + 0.5 * rows["lung"]
    for kind, target in (("multiclass", "grade"), ("regression", "size")):
        corpus = mtlv.from_dataframe(rows, text="report", kind=kind, target=target, name=kind)
        assert ">60<" in corpus._repr_html_()
        heard = list[events.Event]()
        result = mtlv.train(corpus, encoder="tiny", epochs=1, folder=tmp_path, callback=heard.append)
        (ended,) = (event for event in heard if isinstance(event, events.EpochEnded))
        assert list(ended.validation) == ["score"]
        found = result.predict(TEXTS)
        assert found.shape == (2,)
        if kind == "multiclass":
            assert sorted(result.classes_) == ["high", "low"]
            assert result.predict_proba(TEXTS).shape == (2, 2)
            np.testing.assert_array_equal(found, result.classes_[result.predict_proba(TEXTS).argmax(1)])
        else:
            with pytest.raises(DataError, match="predict_frame"):
                result.predict_proba(TEXTS)


WRONG = {
    "no setting": (lambda c: mtlv.train(c, epoch=3), ConfigError, "argument `epoch`: no setting .* `epochs`"),
    "several": (
        lambda c: mtlv.train(c, features="cls"),
        ConfigError,
        "encoder__features` or `grouping__feat",
    ),
    "value": (lambda c: mtlv.train(c, epochs="x"), ConfigError, "^argument `epochs`: got 'x'"),
    "an encoder": (
        lambda c: mtlv.cluster(c, encoder="tinny"),
        ConfigError,
        "^argument `encoder`: `tinny` is",
    ),
    "an architecture without groups": (
        lambda c: mtlv.train(c, k=2),
        ConfigError,
        "argument `k` has no effect with `architecture='mtl'`; allowed: gmtl or gmhl",
    ),
    "documents elsewhere": (
        lambda _: mtlv.from_dataframe(frame(), text="report", labels=["lung"], path="x.csv"),
        ConfigError,
        "^argument `path`: has no effect, because the documents are in memory",
    ),
    "values of groups": (
        lambda c: mtlv.train(c, tune={"k": [1, 2]}),
        ConfigError,
        "argument `k` has no effect with `architecture='mtl'`; allowed: gmtl or gmhl",
    ),
    "another name of the architecture": (
        lambda c: mtlv.train(c, k=2, encoder="tinny", architecture__name="gmtl"),
        ConfigError,
        "^argument `encoder`: `tinny` is",
    ),
    "groups of a stage": (
        lambda c: mtlv.train(c, k=2, encoder="tinny", stages=[{"name": "a", "architecture": "gmtl"}]),
        ConfigError,
        "^argument `encoder`: `tinny` is",
    ),
    "only in training": (
        lambda c: mtlv.cluster(c, encoder="tiny", epochs=2),
        ConfigError,
        "argument `epochs`: has no effect here; give it to `mtlv.train`",
    ),
    "suite": (
        lambda c: mtlv.train(c, matrix={"architecture": ["stl", "mtl"]}),
        ConfigError,
        "argument `matrix`: makes several runs",
    ),
    "a task in no group": (
        lambda c: mtlv.train(c, architecture="gmtl", groups=[["heart"]], encoder="tiny", folder="runs"),
        ConfigError,
        "must hold every task exactly once: missing `lung`, `bone`",
    ),
    "no groups": (lambda c: mtlv.cluster(c, k=9, encoder="tiny"), ConfigError, "above the number of tasks"),
    "no column": (
        lambda _: mtlv.from_dataframe(frame(), text="reprot", labels=["heart"]),
        DataError,
        "no column `reprot`.*did you mean `report`",
    ),
    "no labels": (
        lambda _: mtlv.from_dataframe(frame(), text="report"),
        ConfigError,
        "`labels` is missing; name the columns of 0 and 1",
    ),
    "a typing mistake": (
        lambda _: mtlv.from_dataframe(frame(), text="report", label=["heart"]),
        ConfigError,
        "^argument `label`: no setting has this name; did you mean `labels`",
    ),
    "a setting of training": (
        lambda _: mtlv.from_dataframe(frame(), text="report", labels=["heart"], epochs=3),
        ConfigError,
        "^argument `epochs`: has no effect here; give it to `mtlv.train`",
    ),
    "a name": (
        lambda _: mtlv.from_dataframe(frame(), text="report", labels=["heart"], name=3),
        ConfigError,
        "^argument `name`: got 3",
    ),
    "a description": (
        lambda _: mtlv.from_dataframe(frame(), text="report", labels=["heart"], descriptions={"hart": "x"}),
        DataError,
        "^argument `descriptions`: .* has no label `hart`",
    ),
    "no callback": (
        lambda _: mtlv.run({"data": {"name": "synthetic"}}, callback="x"),
        DataError,
        r"`callback` takes a `function` \(got a `str`\)",
    ),
    "no folder": (
        lambda _: mtlv.train(mtlv.load("synthetic", documents=60), folder=3),
        DataError,
        r"`folder` takes a `path` \(got a `int`\)",
    ),
    "a list of results": (lambda _: mtlv.compare([1]), DataError, r"write `mtlv.compare\(\*results\)`"),
    "no target": (
        lambda _: mtlv.from_dataframe(frame(), text="report", kind="regression"),
        ConfigError,
        "`labels` is missing; .*`kind` and `target`",
    ),
    "a row": (
        lambda _: mtlv.from_dataframe(frame().assign(heart=[1, 1, 5] * 20), text="report", labels=["heart"]),
        DataError,
        r"row 3 of the DataFrame, column `heart` is not 0 or 1 \(got 5\)",
    ),
    "a column": (
        lambda _: mtlv.from_dataframe(frame(), text="reprot", labels=["heart"]),
        DataError,
        r"the DataFrame has no column `reprot` \(argument `text`\); .* mean `report`\?",
    ),
    "no rows": (
        lambda _: mtlv.from_dataframe(frame().iloc[:0], text="report", labels=["heart"]),
        DataError,
        "^the DataFrame has no rows.$",
    ),
    "an unknown label": (
        lambda _: mtlv.from_dataframe(
            frame().assign(heart=[1, None, 0] * 20), text="report", labels=["heart"]
        ),
        DataError,
        "row 2 of the DataFrame, .* or set `missing_labels='unknown'` if",
    ),
    "a constant": (
        lambda _: (
            mtlv.from_dataframe(frame().assign(heart=0), text="report", labels=["heart"], name="mine").tasks
        ),
        DataError,
        "corpus `mine` cannot be learned: column `heart` is always 0",
    ),
    "mixed types": (
        lambda _: mtlv.from_dataframe(frame().assign(heart=[1, "x"] * 30), text="report", labels=["heart"]),
        DataError,
        r"cannot be written as Parquet \(got Conversion failed for column heart .*give each column values",
    ),
    "no entities": (
        lambda _: mtlv.from_dataframe(
            frame().assign(marks=[[], [[0, 2]]] * 30), text="report", labels=["heart"], mentions="marks"
        ),
        DataError,
        "row 1 of the DataFrame, column `marks` is empty",
    ),
    "no corpus": (lambda _: mtlv.load("opni"), DataError, "no known corpus.*`openi`"),
    "config": (
        lambda _: mtlv.run({"trainng": {}, "encoder": "biobrt"}),
        ConfigError,
        r"(?s)`trainng`: unknown key.*`encoder.name`: `biobrt`",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_those_of_the_command(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call, kind, text = WRONG[name]
    corpus = from_frame()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=text):
        call(corpus)
    assert list(tmp_path.iterdir()) == []


def test_each_content_has_its_own_file_and_is_never_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = frame().assign(patient=[n // 2 for n in range(60)], visit=list(range(60)))
    renamed = rows.rename(columns={"heart": "heart_", "report": "note"})
    made = [
        mtlv.from_dataframe(rows, text="report", labels=["heart"]),
        mtlv.from_dataframe(renamed, text="note", labels=["heart_"]),
        mtlv.from_dataframe(rows, text="report", labels=["heart"], group="patient"),
        mtlv.from_dataframe(rows.assign(patient=0), text="report", labels=["heart"], group="patient"),
    ]
    paths = [stored_path(corpus, tmp_path) for corpus in made]
    assert len(set(paths)) == 4
    assert stored_path(mtlv.from_dataframe(rows, text="report", labels=["heart"]), tmp_path) == paths[0]
    assert stored_path(mtlv.load("synthetic", documents=30), tmp_path) is None

    def interrupted(self: pd.DataFrame, path: Path, **_: object) -> None:
        Path(path).write_bytes(b"PAR1")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", interrupted)
    with pytest.raises(DataError, match=r"cannot be written.*No space left"):
        mtlv.train(made[0], encoder="tiny", folder=tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_corpus_is_read_as_it_is_now_not_as_an_earlier_one_was(tmp_path: Path) -> None:
    """The same documents and labels with other column names train in the same store."""
    for text in ("report", "note"):
        rows = frame().rename(columns={"report": text})
        corpus = mtlv.from_dataframe(rows, text=text, labels=list(WORDS), name="renamed")
        mtlv.train(corpus, encoder="tiny", epochs=1, folder=tmp_path, callback=events.ignore)


def test_a_model_is_packed_once(trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = mtlv.Result(trained[1]._result)
    packed = []
    monkeypatch.setattr(result, "package", lambda *args: packed.append(args) or package(*args))
    alone.save(tmp_path / "model")
    alone.predict(TEXTS)
    assert len(packed) == 1
