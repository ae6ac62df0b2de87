"""Tables, pictures, data sets and descriptions, read back as MLflow's page reads them."""

from __future__ import annotations

import json
import re

import pytest

from mtlv.errors import TrackingError
from mtlv.tracking import Chart, DataPart, RunSpec, TableFile, View
from mtlv.tracking.mlflow_pages import with_links

TABLE = TableFile("report/per_task.json", ("task", "f1"), [["肺炎", 0.5], ["<b>", 1.0]])
IMAGE_NAME = re.compile(r"(.+)\+step\+(\d+)\+timestamp\+(\d+)\+([^+]+?)(\+compressed)?\.png")
"""What the page splits a picture's name by."""


@pytest.fixture
def run(tracker):
    return tracker.open_run(RunSpec("u", "name"))


def test_a_table_is_one_of_mlflows_own_and_again_replaces_itself(tracker, client, run):
    import pandas as pd

    for _ in range(2):
        tracker.table(run, TABLE)
    wanted = r"""tags.mlflow.loggedArtifacts LIKE '%"path"%:%"report/per_task.json",%"type"%:%"table"%'"""
    (found,) = client.search_runs([tracker.experiment_id], wanted)  # how MLflow's `load_table` looks for it
    content = pd.read_json(client.download_artifacts(found.info.run_id, TABLE.name), orient="split")
    assert content[["task", "f1"]].to_numpy().tolist() == [["肺炎", 0.5], ["<b>", 1.0]]
    listed = json.loads(client.get_run(run).data.tags["mlflow.loggedArtifacts"])
    assert listed == [{"path": "report/per_task.json", "type": "table"}]


def test_a_second_table_stands_beside_the_first(tracker, client, run):
    for name in ("a.json", "b.json"):
        tracker.table(run, TableFile(name, ("x",), [[1]]))
    listed = json.loads(client.get_run(run).data.tags["mlflow.loggedArtifacts"])
    assert [entry["path"] for entry in listed] == ["a.json", "b.json"]


def test_a_picture_has_the_names_that_the_grid_reads(tracker, client, run, tmp_path):
    (tmp_path / "elbow.png").write_bytes(b"\x89PNG one")
    for _ in range(2):
        tracker.image(run, tmp_path / "elbow.png", "pictures/elbow")
    names = sorted(item.path.removeprefix("images/") for item in client.list_artifacts(run, "images"))
    parts = [IMAGE_NAME.fullmatch(name) for name in names]
    assert all(parts), names
    assert {part[1].replace("~", "/") for part in parts} == {"pictures/elbow"}
    assert {part[2] for part in parts} == {"0"}, "the grid begins at step 0"
    assert sorted(bool(part[5]) for part in parts) == [False, True]
    assert len({part[4] for part in parts}) == 1, "both belong together"
    assert client.get_run(run).data.tags["mlflow.loggedImages"] == "True"


def test_the_picture_names_are_as_mlflows_own(tracker, client, run, tmp_path):
    """So that a release that changes them is noticed."""
    from PIL import Image

    picture = Image.new("RGB", (4, 4))
    client.log_image(run, picture, key="pictures/elbow", step=0)
    names = [item.path.removeprefix("images/") for item in client.list_artifacts(run, "images")]
    assert all(IMAGE_NAME.fullmatch(name.replace(".webp", ".png")) for name in names), names


def test_only_png(tracker, run, tmp_path):
    (tmp_path / "a.svg").write_text("<svg/>")
    with pytest.raises(TrackingError, match=r"a picture for the image grid \(got a\.svg\); allowed: a PNG"):
        tracker.image(run, tmp_path / "a.svg", "a")


def part(role, name="openi", digest="d"):
    return DataPart(f"{name} {role}", f"{digest}-{role}", role, "https://openi.nlm.nih.gov/", 7, ("a", "b"))


def test_parts_of_the_data_keep_their_roles(tracker, client, run):
    roles = ("training", "validation", "test")
    for _ in range(2):
        tracker.data(run, [part(role) for role in roles])
    found = client.get_run(run).inputs.dataset_inputs
    assert {(i.dataset.name, i.dataset.digest, i.tags[0].value) for i in found} == {
        (f"openi {role}", f"d-{role}", role) for role in roles
    }
    (first, *_) = found
    assert json.loads(first.dataset.source) == {"url": "https://openi.nlm.nih.gov/"}
    assert json.loads(first.dataset.profile) == {"num_rows": 7, "num_labels": 2}
    names = [column["name"] for column in json.loads(first.dataset.schema)["mlflow_colspec"]]
    assert names == ["text", "a", "b"]


def test_descriptions_of_runs_and_of_the_experiment(tracker, client):
    run = tracker.open_run(RunSpec("d", "name", description="what it will do", colour="#0072B2"))
    tags = client.get_run(run).data.tags
    assert (tags["mlflow.note.content"], tags["mlflow.runColor"]) == ("what it will do", "#0072B2")
    tracker.describe(run, "see [the elbow](artifact:grouping/my elbow.json) and [it](artifact:elbow.png)")
    text = client.get_run(run).data.tags["mlflow.note.content"]
    base = f"#/experiments/{tracker.experiment_id}/runs/{run}/artifacts"
    assert f"[it]({base}/elbow.png?workflowType=machine_learning)" in text
    assert tracker.view_of_runs == ""
    assert "viewStateShareKey" not in tracker.page
    views = [View("Heads", "fold", sections={"A": (Chart("bar", ("x",)),)}), View("Runs")]
    for _ in range(2):
        tracker.describe_all("[Heads](view:mtlv-heads) [Runs](table:mtlv-runs)", views)
    tags = client.get_experiment(tracker.experiment_id).tags
    link = f"#/experiments/{tracker.experiment_id}/runs?workflowType=machine_learning"
    assert tags["mlflow.note.content"] == (
        f"[Heads]({link}&compareRunsMode=CHART&viewStateShareKey=mtlv-heads)"
        f" [Runs]({link}&viewStateShareKey=mtlv-runs)"
    )
    assert json.loads(tags["mlflow.sharedViewState.mtlv-heads"])["name"] == "Heads"
    tracker.describe_all("[all](page:d)", views)
    page = f"{base}/compare.html?workflowType=machine_learning"
    assert client.get_experiment(tracker.experiment_id).tags["mlflow.note.content"] == f"[all]({page})"
    assert tracker.page.endswith(f"{link}&viewStateShareKey=mtlv-runs")


def test_links_leave_other_text_alone():
    text = "a [b](https://c) artifact:d (view:e) [x](artifact:f)"
    assert with_links(text, "1", "r").startswith("a [b](https://c) artifact:d (view:e) [x](#/experiments/1/")


def test_a_finished_run_that_is_told_again_keeps_its_time(tracker, client, run):
    tracker.close(run)
    ended = client.get_run(run).info.end_time
    client.set_terminated(run, "FINISHED", ended - 60_000)
    tracker.open_run(RunSpec("u", "name"))
    tracker.close(run)
    assert client.get_run(run).info.end_time == ended - 60_000
    tracker.open_run(RunSpec("u", "name"))
    tracker.close(run, "KILLED")
    assert client.get_run(run).info.end_time >= ended
