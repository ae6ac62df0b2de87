"""A project folder that was moved or copied, or only a part of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mtlv.errors import TrackingError
from mtlv.tracking.mlflow_access import open_client
from mtlv.tracking.mlflow_reader import MlflowReader
from mtlv.tracking.mlflow_tracker import MlflowTracker

NAMES = ("a", "ab")  # the place of one begins with that of the other


def uri(folder: Path) -> str:
    return f"sqlite:///{folder / 'mlflow.db'}"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A folder with a run, and its file, of each of two experiments."""
    folder = tmp_path / "old place"  # a space is written as %20 in the database
    folder.mkdir()
    client = open_client(uri(folder))
    for name in NAMES:
        place = (folder / "mlruns" / name).as_uri()
        run = client.create_run(client.create_experiment(name, artifact_location=place))
        client.log_text(run.info.run_id, name, "x.txt")
    return folder


def texts(folder: Path) -> list[str]:
    reader = MlflowReader(uri(folder))
    places = reader.experiments()
    runs = [reader.runs([places[name]], {})[0] for name in NAMES]
    found = reader.files([(run, "x.txt") for run in runs])
    assert all(path is not None and folder in path.parents for path in found)
    return [path.read_text(encoding="utf-8") for path in found if path is not None]


def test_a_moved_folder_is_read_and_written_where_it_is(old: Path, tmp_path: Path) -> None:
    new = old.rename(tmp_path / "new")
    assert texts(new) == ["a", "ab"]
    client = open_client(uri(new))
    experiment = client.get_experiment_by_name("a")
    run = client.create_run(experiment.experiment_id)
    assert run.info.artifact_uri.startswith((new / "mlruns" / "a").as_uri() + "/")


def test_the_default_store_is_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after the same process has used another folder, as a notebook does."""
    for name in NAMES:
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        MlflowTracker(None, name)
        assert {*MlflowReader(None).experiments()} == {"Default", name}


def test_a_copy_reads_its_own_files(old: Path, tmp_path: Path) -> None:
    new = Path(shutil.copytree(old, tmp_path / "new"))
    for path in new.rglob("x.txt"):
        path.write_text(path.read_text(encoding="utf-8") + " copied", encoding="utf-8")
    assert texts(new) == ["a copied", "ab copied"]
    assert texts(old) == ["a", "ab"]


def test_only_what_is_beside_the_database_is_followed(old: Path, tmp_path: Path) -> None:
    new = Path(shutil.copytree(old, tmp_path / "new"))
    shutil.rmtree(new / "mlruns" / "ab")
    client = open_client(uri(new))
    places = [client.get_experiment_by_name(name).artifact_location for name in NAMES]
    assert places == [(new / "mlruns" / "a").as_uri(), (old / "mlruns" / "ab").as_uri()]
    (run,) = client.search_runs([client.get_experiment_by_name("ab").experiment_id])
    assert run.info.artifact_uri.startswith(old.as_uri())


def test_a_database_alone_is_refused_with_what_is_missing(old: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    new.mkdir()
    (old / "mlflow.db").rename(new / "mlflow.db")
    shutil.rmtree(old)
    reader = MlflowReader(uri(new))
    (run,) = reader.runs([reader.experiments()["a"]], {})
    with pytest.raises(TrackingError, match=r"copy the folder `mlruns` there as well: `.*/new/mlruns/a`"):
        reader.files([(run, "x.txt")])
