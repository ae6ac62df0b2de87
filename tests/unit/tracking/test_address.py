"""A store that cannot be used is named at once, without its password."""

from __future__ import annotations

import re
import time

import pytest

from mtlv.errors import TrackingError, mask_credentials
from mtlv.tracking.address import check_address, compare_url, page_url, sqlite_file


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("./mlruns", r"is a folder, which MLflow 3.17 does not support.*use `sqlite:///mlflow.db`"),
        ("s/mlflow.db", r"is a path \(got s/mlflow.db\); allowed: .*; write `sqlite:///s/mlflow.db`"),
        ("file:///somewhere/mlruns", r"is a folder, which MLflow 3.17 does not support"),
        (
            "redis://localhost",
            r"has an unknown scheme \(got redis://localhost\); allowed: sqlite:///FILE",
        ),
        ("sqlite://", r"is an in-memory database, which would be lost at the end"),
        ("sqlite:///:memory:", r"is an in-memory database, which would be lost at the end"),
        (
            "sqlite:////no/such/folder/x.db",
            r"folder of the tracking store .* does not exist .*; create the folder",
        ),
        (
            "postgresql://me:secret@127.0.0.1:1/x",
            r"server `postgresql://\*\*\*@127.0.0.1:1/x` cannot be reached",
        ),
    ],
)
def test_unusable_addresses(uri, said):
    start = time.perf_counter()
    with pytest.raises(TrackingError, match=said) as caught:
        check_address(uri)
    assert "secret" not in str(caught.value)
    assert time.perf_counter() - start < 3


def test_a_file_that_is_no_database_stays_as_it_is(tmp_path):
    file = tmp_path / "mlflow.db"
    file.write_bytes(b"not a database at all" * 100)
    with pytest.raises(TrackingError, match=r"cannot be written: file is not a database; set `tracking.uri`"):
        check_address(f"sqlite:///{file}")
    assert file.read_bytes().startswith(b"not a database")


def test_a_folder_in_place_of_the_file(tmp_path):
    with pytest.raises(TrackingError, match=re.escape(f"`sqlite:///{tmp_path}` cannot be written")):
        check_address(f"sqlite:///{tmp_path}")


def test_sqlite_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert sqlite_file("sqlite:///mlflow.db") == tmp_path / "mlflow.db"
    assert sqlite_file("sqlite:////data/x.db?timeout=5").as_posix() == "/data/x.db"
    assert sqlite_file("http://host") is None


def test_passwords_are_masked_everywhere():
    text = "connect to http://me:p@ss/word@host:5000 or postgresql+psycopg2://u:x@db/y failed"
    assert (
        mask_credentials(text) == "connect to http://***@host:5000 or postgresql+psycopg2://***@db/y failed"
    )
    query = "postgresql://db/y?user=me&password=s3cret&sslmode=require"
    assert mask_credentials(query) == "postgresql://db/y?user=***&password=***&sslmode=require"
    assert "s3cret" not in mask_credentials("mssql+pyodbc:///?odbc_connect=DRIVER%3DX%3BPWD%3Ds3cret")
    assert mask_credentials("sqlite:////home/me@work/mlflow.db") == "sqlite:////home/me@work/mlflow.db"


def test_page_url():
    tail = "/#/experiments/3/runs?workflowType=machine_learning"
    assert page_url(None, "3") == "http://127.0.0.1:5000" + tail
    assert page_url("sqlite:///mlflow.db", "3") == "http://127.0.0.1:5000" + tail
    assert page_url("https://me:pw@host:8443/mlflow/", "3") == "https://host:8443/mlflow" + tail
    assert page_url(None, "3", "mtlv-runs").endswith(tail + "&viewStateShareKey=mtlv-runs")


def test_a_page_without_ready_views_links_to_none():
    charts = page_url(None, "3") + "&compareRunsMode=CHART"
    assert compare_url(page_url(None, "3")) == charts
    assert compare_url(page_url(None, "3", "mtlv-runs")) == charts + "&viewStateShareKey=mtlv-compare"
