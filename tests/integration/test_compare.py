"""`mtlv compare` on a real store: every number of the page is the store's, and nothing is logged twice."""

from __future__ import annotations

import base64
import csv
import gzip
import json
import re
import time
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest
from pixel import lay_out_nothing

from mtlv.cli import main

SUITE = """\
experiment: side by side
data:
  name: synthetic
  documents: 150
  labels: [Enlarged heart, Congestion, Hyperinflation, Catheter]
  max_length: 32
  folds: 2
encoder: tiny
grouping: {features: document_centroid, k: 2, k_max: 3}
training: {epochs: 2, learning_rate: 1e-3, precision: fp32}
matrix:
  architecture: [mtl, stl, gmtl, gmhl]
"""
TO_COMPARE = ("compare", "c.yml", "--out", "page")
FILES = {"compare.html", "comparison.json"}


def unpacked(page: Path) -> str:
    """The page's data as JSON."""
    inside = re.search(r'id="data">([^<]+)<', page.read_text(encoding="utf-8"))[1]
    return gzip.decompress(base64.b64decode(inside)).decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("compare")
    (place / "c.yml").write_text(SUITE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        with pytest.MonkeyPatch.context() as undrawn:
            lay_out_nothing(undrawn)
            assert main(["run", "c.yml"]) == 0
        assert main(list(TO_COMPARE)) == 0
    return place


@pytest.fixture
def inside(folder, monkeypatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def client(folder):
    from mlflow import MlflowClient

    uri = f"sqlite:///{folder / 'mlflow.db'}"
    return MlflowClient(tracking_uri=uri, registry_uri=uri)


def texts_of(config: Path) -> tuple[str, ...]:
    from mtlv.settings import load_suite
    from mtlv.units.input_cache import InputCache

    return InputCache().corpus(load_suite(config).members[0].settings.data).texts


def runs_of(client, kind):
    experiment = client.get_experiment_by_name("side by side")
    found = client.search_runs([experiment.experiment_id], max_results=1000)
    return [run for run in found if run.data.tags["mtlv.kind"] == kind]


@pytest.fixture(scope="module")
def numbers(folder):
    return json.loads((folder / "page" / "comparison.json").read_text(encoding="utf-8"))


def rows_of(numbers, block_id):
    blocks = [block for section in numbers["sections"] for block in section["blocks"]]
    columns = next(block["columns"] for block in blocks if block.get("id") == block_id)
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def test_every_metric_of_every_fold_is_the_stores(numbers, client):
    assert [run["architecture"] for run in numbers["runs"]] == ["mtl", "stl", "gmtl", "gmhl"]
    for run in numbers["runs"]:
        assert len(run["children"]) == 2
        for child in run["children"]:
            stored = client.get_run(child["run_id"])
            assert stored.data.tags["mlflow.parentRunId"] == run["run_id"]
            assert child["metrics"] == {k: v for k, v in stored.data.metrics.items() if not np.isnan(v)}
            for task, figures in child["tasks"].items():
                assert figures["f1"] == stored.data.metrics[f"test.tasks.f1/{task}"]


def test_the_overview_is_mean_and_spread_of_the_folds(numbers, client):
    rows = rows_of(numbers, "overview")
    for row, run in zip(rows, numbers["runs"], strict=True):
        values = [client.get_run(c["run_id"]).data.metrics["test/f1_macro"] for c in run["children"]]
        assert row["f1_macro"] == pytest.approx(fmean(values), abs=1e-12)
        spread = next(v for k, v in row.items() if "f1_macro" in k and k != "f1_macro")
        assert spread == pytest.approx(stdev(values), abs=1e-12)


def test_curves_are_the_stores_history(numbers, client):
    rows = rows_of(numbers, "curves_val_f1_macro")
    for run in numbers["runs"]:
        for step in range(2):
            history = [client.get_metric_history(c["run_id"], "val/f1_macro") for c in run["children"]]
            expected = fmean(point.value for each in history for point in each if point.step == step)
            found = [r for r in rows if r["run"] == run["key"] and r["epoch"] == step + 1]
            assert expected in [pytest.approx(v, abs=1e-9) for v in found[0].values() if isinstance(v, float)]


def test_generated_documents_are_called_so(numbers):
    assert [text for text in numbers["warnings"] if "`synthetic` are generated" in text]


def test_differences_are_taken_to_the_run_that_learns_every_task_alone(numbers):
    assert numbers["baseline"] == "r1"


@pytest.mark.slow
def test_figures_are_files_with_content_and_are_not_logged(inside, numbers, client):
    assert main(["compare", "c.yml", "--out", "drawn", "--figures"]) == 0
    figures = [b["id"] for s in numbers["sections"] for b in s["blocks"] if b["kind"] == "figure"]
    assert len(figures) >= 12
    for name in figures:
        with (inside / f"drawn/figures/{name}.csv").open(encoding="utf-8", newline="") as file:
            assert list(csv.DictReader(file)), name
        assert (inside / f"drawn/figures/{name}.svg").stat().st_size > 1000, name
        assert (inside / f"drawn/figures/{name}.png").read_bytes()[:4] == b"\x89PNG"
    (logged,) = runs_of(client, "comparison")
    names = {each.path for each in client.list_artifacts(logged.info.run_id)}
    assert not {"figures", "tables"} & names, "they are in the page"


def test_the_page_is_one_small_file(inside):
    page = (inside / "page/compare.html").read_text(encoding="utf-8")
    assert 'src="http' not in page
    assert len(page) < 1_000_000


def test_it_is_logged_once_with_its_page(inside, client, capsys):
    before = runs_of(client, "comparison")
    assert len(before) == 1, "the suite's own"
    names = {each.path for each in client.list_artifacts(before[0].info.run_id)}
    assert names >= FILES
    assert main(list(TO_COMPARE)) == 0
    out = capsys.readouterr().out
    numbers = json.loads((inside / "page" / "comparison.json").read_text(encoding="utf-8"))
    said = " ".join(block["text"] for block in numbers["sections"][0]["blocks"] if block["kind"] == "text")
    assert said in out.replace("\n", " ")
    note = client.get_run(before[0].info.run_id).data.tags["mlflow.note.content"]
    assert said in re.sub(r"\\([_`])", r"\1", note)
    assert "Open page/compare.html" in out
    assert "GMTL" in out
    assert len(runs_of(client, "comparison")) == 1
    assert main(["compare", "c.yml", "--baseline", numbers["runs"][0]["name"], "--out", "other"]) == 0
    other = {run.info.run_name for run in runs_of(client, "comparison")} - {before[0].info.run_name}
    assert [name.split(" · ")[0] for name in other] == ["compare"]


def test_likely_label_errors_are_by_the_scores_of_the_store(inside, numbers):
    """Each document is in the test or validation part of the models that judge it, and their mean decides."""
    import pyarrow.parquet as pq

    blocks = [block for section in numbers["sections"] for block in section["blocks"]]
    columns = next(block for block in blocks if block.get("id") == "errors_labels")["columns"]
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    files = [pq.read_table(path).to_pandas() for path in inside.glob("mlruns/*/*/artifacts/scores/*.parquet")]
    texts = texts_of(inside / "c.yml")
    assert 0 < len(rows) <= 50
    for row in rows:
        judging = [part[part["id"] == row["document"]] for part in files]
        cells = [part.iloc[0] for part in judging if len(part)]
        yes = np.mean([cell[f"output:{row['task']}"] for cell in cells])
        assert {bool(cell[f"target:{row['task']}"]) for cell in cells} == {row["given"] == "yes"}
        assert row["probability of given"] == pytest.approx(yes if row["given"] == "yes" else 1 - yes)
        assert row["models"] == len(cells)
        assert row["text"] in texts


def test_texts_of_documents_can_be_left_out(inside):
    page = unpacked(inside / "page/compare.html")
    assert main(["compare", "c.yml", "--no-texts", "--no-log", "--out", "bare"]) == 0
    bare = unpacked(inside / "bare/compare.html")
    words = [text[:60] for text in texts_of(inside / "c.yml")]
    assert any(text in page for text in words)
    assert not any(text in bare for text in words)
    assert not any(text in (inside / "bare/comparison.json").read_text(encoding="utf-8") for text in words)


TABLE_SUITE = """\
experiment: grouped
data: {name: table, path: t.csv, columns: {labels: [heart], id: id}, test_share: 0.5, max_length: 16}
encoder: tiny
training: {epochs: 1, learning_rate: 1e-3, precision: fp32}
evaluation: {bag_of_words: false}
"""


def test_subgroups_are_scored_without_another_training(tmp_path, monkeypatch, capsys):
    rows = [
        (f"d{n}", f"note {n} {'large heart' if n % 2 else 'clear'}", n % 2, "FM"[n % 3 > 0])
        for n in range(200)
    ]
    lines = ["id,text,heart,sex", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "c.yml").write_text(TABLE_SUITE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.MonkeyPatch.context() as undrawn:
        lay_out_nothing(undrawn)
        assert main(["run", "c.yml", "--no-compare"]) == 0
    ask = ["compare", "c.yml", "--no-log", "--no-texts", "--out", "page"]
    assert main([*ask, "data.columns.subgroups=[sex]"]) == 0
    numbers = json.loads((tmp_path / "page/comparison.json").read_text(encoding="utf-8"))
    groups = {row["group"]: row for row in rows_of(numbers, "subgroups")}
    assert set(groups) == {"sex: F", "sex: M"}
    assert sum(row["documents"] for row in groups.values()) == numbers["tasks"][0]["documents"]
    assert {row["tasks"] for row in groups.values()} == {1}
    assert "note 1 large heart" not in unpacked(tmp_path / "page/compare.html")
    capsys.readouterr()
    units = sorted((tmp_path / "mtlv-store/units").rglob("*.safetensors"))
    assert units
    assert main(["run", "c.yml", "--no-compare", "data.columns.subgroups=[sex]"]) == 0
    assert sorted((tmp_path / "mtlv-store/units").rglob("*.safetensors")) == units
    assert main(["check", "c.yml", "data.columns.subgroups=[gender]"]) == 2
    error = capsys.readouterr().err
    assert "`t.csv` has no column `gender` (`data.columns.subgroups`)" in error
    assert "id, text, heart, sex" in error
    (tmp_path / "t.csv").unlink()
    assert main([*ask, "data.columns.subgroups=[sex]"]) == 0
    assert "subgroups of documents are not shown: " in capsys.readouterr().err
    with pytest.MonkeyPatch.context() as unread:
        unread.setattr("mtlv.units.corpora.read_corpus", lambda _: pytest.fail("the corpus is read"))
        assert main(ask) == 0
    assert "not shown" not in capsys.readouterr().err


def test_a_hierarchy_makes_groups_and_levels_without_another_training(tmp_path, monkeypatch, capsys):
    names = ["heart", "valve", "lung"]
    lines = [f"d{n},note {n},{n % 2},{int(n % 4 == 1)},{int(n % 3 == 0)}" for n in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["id,text,heart,valve,lung", *lines]), encoding="utf-8")
    (tmp_path / "p.csv").write_text("label,parent\nvalve,heart\nheart,chest\nlung,chest\n", encoding="utf-8")
    suite = TABLE_SUITE.replace("[heart]", f"[{', '.join(names)}]")
    (tmp_path / "c.yml").write_text(f"{suite}architecture: gmtl\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    parents = ["data.parents=p.csv", "grouping.method=parents", "grouping.level=2"]
    groups = "grouping.groups=[[heart, valve], [lung]]"
    with pytest.MonkeyPatch.context() as undrawn:
        lay_out_nothing(undrawn)
        assert main(["run", "c.yml", "--no-compare", "grouping.method=given", groups]) == 0
        units = sorted((tmp_path / "mtlv-store/units").rglob("*.safetensors"))
        assert len(units) == 2
        assert main(["run", "c.yml", "--no-compare", *parents]) == 0
    assert sorted((tmp_path / "mtlv-store/units").rglob("*.safetensors")) == units
    assert main(["compare", "c.yml", *parents, "--no-log", "--no-texts", "--out", "page"]) == 0
    numbers = json.loads((tmp_path / "page/comparison.json").read_text(encoding="utf-8"))
    assert {row["level"]: row["labels"] for row in rows_of(numbers, "levels")} == {
        "labels": 3, "1": 1, "2": 2, "3": 1, "all": 4
    }  # fmt: skip
    (tmp_path / "p.csv").write_text("label,parent\nvalve,heart\n", encoding="utf-8")
    capsys.readouterr()
    assert main(["check", "c.yml", *parents]) == 2
    assert "`p.csv` has no row of `lung`" in capsys.readouterr().err


def test_a_server_does_not_say_which_files_of_this_machine_are_read(inside, capsys, monkeypatch):
    """Who may write to a server could name a file here, whose texts the logged page would show there."""
    monkeypatch.setattr("mtlv.comparison.compare.is_remote", lambda _: True)
    texts = [text[:60] for text in texts_of(inside / "c.yml")]
    named = {
        "by its runs": (["--experiment", "side by side"], False),
        "by a config": (["c.yml"], True),
    }
    for name, (runs, shown) in named.items():
        asked = ["compare", *runs, "--uri", "sqlite:///mlflow.db", "--no-log", "--out", "served"]
        assert main(asked) == 0, name
        said = capsys.readouterr()
        page = unpacked(inside / "served/compare.html")
        assert any(text in page for text in texts) == shown, name
        assert ("files they refer to are not read" in said.out + said.err) == (not shown), name


def test_published_numbers_stand_beside_the_measured(inside):
    (inside / "paper.csv").write_text(
        "row,metric,value,spread,note,architecture\nMTL,f1_macro,0.5,,,mtl\nOther,f1_macro,0.6,,,nothing\n"
    )
    asked = ["compare", "c.yml", "--no-log", "--expected", "paper.csv", "--out", "beside", "--title", "Mine"]
    assert main(asked) == 0
    found = json.loads((inside / "beside/comparison.json").read_text(encoding="utf-8"))
    assert found["title"] == "Mine"
    assert [number["measured"] for number in found["published"]] == ["r0", None]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["compare", "nobody"], "there is no run `nobody` in the store"),
        (["compare", "missing.yml"], "missing.yml"),
        (["compare", "--experiment", "side"], "there is no experiment `side`"),
        (["compare", "c.yml", "--baseline", "xyz"], "`--baseline`: no run is named `xyz`"),
        (["compare", "c.yml", "--expected", "none.csv"], "none.csv"),
        (["compare", "c.yml", "--note", "none.md"], "the note `none.md` cannot be read"),
        (["compare", "c.yml", "training.epochs=9"], "none of its 4 members"),
        (["compare", "c.yml", "--last", "2"], "`--last` selects the newest runs"),
        (["compare", "--uri", "sqlite:///nowhere.db"], "there are no runs yet"),
        (["compare", "c.yml", "--out", "c.yml"], "`--out`"),
    ],
)
def test_what_a_user_can_get_wrong_is_one_line_and_writes_nothing(inside, capsys, argv, said):
    before = sorted(path.name for path in inside.iterdir())
    assert main([*argv, "--no-log"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err
    assert sorted(path.name for path in inside.iterdir()) == before


def test_a_hostile_config_of_a_run_costs_its_texts_only(inside, client, capsys):
    (run,) = [run for run in runs_of(client, "suite member") if run.data.tags["mtlv.architecture"] == "stl"]
    file = Path(run.info.artifact_uri.removeprefix("file://")) / "config.yml"
    config = file.read_bytes()
    levels = (f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))
    try:
        file.write_text("\n".join(["a0: &a0 [x, x]", *levels, "data: {name: table, labels: *a11}"]))
        begun = time.monotonic()
        of_all = [
            "compare",
            "--experiment",
            "side by side",
            "--no-log",
            "--out",
            "bomb",
        ]  # by no config of ours
        assert main(of_all) == 0
        said = capsys.readouterr()
        assert main([*of_all, "--data", "c.csv"]) == 2
        refused = capsys.readouterr().err
    finally:
        file.write_bytes(config)
    assert time.monotonic() - begun < 120
    assert "texts of documents are not shown" in said.out + said.err
    for text in (said.out + said.err, refused):
        assert f"`config.yml` of run `{run.info.run_name}` ({run.info.run_id})" in text
        assert "its aliases repeat too much; up to 100,000 values are allowed" in text
    assert "Traceback" not in refused
