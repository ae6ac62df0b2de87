"""A store that cannot be used is said so before anything is trained: what, why, and the next step."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from memory_tracker import MemoryTracker
from s3 import s3_server

from mtlv.cli import main
from mtlv.errors import ConfigError, MtlvError, TrackingError
from mtlv.events import ignore
from mtlv.execution.worker import TrainRequest, Worker
from mtlv.planning.check import check_suite
from mtlv.processes import GRACE, Failed
from mtlv.store import open_store
from mtlv.store.location import StoreLocation
from mtlv.store.remote import connect, objects, objects_s3
from mtlv.store.remote.client import ObjectClient
from mtlv.store.remote.connect import check_scheme, open_objects
from mtlv.store.remote.objects import ObjectStoreError, unsealed, with_checksum
from mtlv.store.remote.objects_fsspec import trouble as of_fsspec
from mtlv.store.remote.objects_s3 import trouble as of_s3
from mtlv.suite.run import run_suite

AWS = [name for name in os.environ if name.startswith("AWS_")]


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Of Amazon, as on a machine that has none of its own."""
    for name in AWS:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return monkeypatch


@pytest.fixture
def keys(account: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    account.setenv("AWS_ACCESS_KEY_ID", "user")
    account.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    return account


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as address:
        yield address


def refused(uri: str, tmp_path: Path) -> str:
    with pytest.raises(TrackingError) as caught:
        open_store(StoreLocation(uri, str(tmp_path / "cache")))
    return str(caught.value)


def test_a_bucket_that_is_not_there(keys: pytest.MonkeyPatch, server: str, tmp_path: Path) -> None:
    keys.setenv("AWS_ENDPOINT_URL", server)
    assert refused("s3://nowhere/x", tmp_path) == (
        "`store.uri`: s3://nowhere/x cannot be used (got the bucket does not exist); create the bucket, "
        "or correct the name in `store.uri`."
    )


def test_no_credentials(account: pytest.MonkeyPatch, server: str, tmp_path: Path) -> None:
    account.setenv("AWS_ENDPOINT_URL", server)
    said = refused("s3://bucket/x", tmp_path)
    assert "cannot be used (got Unable to locate credentials)" in said
    assert "AWS_PROFILE" in said


def test_an_endpoint_that_does_not_answer(keys: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        keys.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free.getsockname()[1]}")
        said = refused("s3://bucket/x", tmp_path)
    assert "it does not respond" in said
    assert "AWS_ENDPOINT_URL" in said


def test_an_endpoint_that_is_none(keys: pytest.MonkeyPatch, tmp_path: Path) -> None:
    keys.setenv("AWS_ENDPOINT_URL", "nonsense")
    assert "cannot be opened (got Invalid endpoint: nonsense)" in refused("s3://bucket/x", tmp_path)


def test_a_folder_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = refused(f"file://{tmp_path}/file/store", tmp_path)
    assert "it does not exist" in said
    assert "`store.uri`" in said


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    said = refused("memory://cache-that-cannot-be-written", tmp_path)
    assert said.startswith("`store.cache`: ")
    assert "set `store.cache` to a writable folder of this machine" in said


def test_a_suite_trains_nothing_without_its_store(
    keys: pytest.MonkeyPatch, server: str, suite: Callable, table: Callable, tmp_path: Path
) -> None:
    keys.setenv("AWS_ENDPOINT_URL", server)
    made = suite(table("t"), "store.uri=s3://nowhere/x", f"store.cache={tmp_path}")
    tracker = MemoryTracker()
    with pytest.raises(TrackingError, match="the bucket does not exist"):
        run_suite(made, ignore, tracker)
    assert not tracker.runs


@pytest.mark.parametrize(
    ("uri", "missing", "said"),
    [
        (
            "s3://bucket/x",
            "boto3",
            "`s3://bucket/x` needs the package `boto3`; pip install 'mtlv[s3]'",
        ),
        (
            "gs://bucket/x",
            "gcsfs",
            "`gs://bucket/x` needs the package `gcsfs`; pip install gcsfs",
        ),
        ("abfs://c/x", "adlfs", "`abfs://c/x` needs the package `adlfs`; pip install adlfs"),
        (
            "s4://me:pw@bucket/x",
            "",
            "unknown scheme (got s4); allowed: a folder, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, or another "
            "address that fsspec supports",
        ),
    ],
)
def test_what_is_not_installed_or_not_known_is_a_problem_of_the_config(
    uri: str, missing: str, said: str, suite: Callable, table: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = connect.importlib.util.find_spec
    monkeypatch.setattr(
        connect.importlib.util,
        "find_spec",
        lambda name, *more: None if name == missing else find(name, *more),
    )
    with pytest.raises(ConfigError) as caught:
        check_suite(suite(table("t"), f"store.uri={uri}"))
    assert any(f"`store.uri`: {said}" in problem for problem in caught.value.problems)
    with pytest.raises(ConfigError):
        check_scheme(uri)


def client_error(code: str, status: int = 400) -> ClientError:
    content = {"Error": {"Code": code, "Message": "said"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(content, "PutObject")


@pytest.mark.parametrize(
    ("error", "said", "then", "passing"),
    [
        (of_s3(client_error("AccessDenied")), "access is denied", "credentials", False),
        (of_s3(client_error("", 403)), "access is denied", "credentials", False),
        (of_s3(client_error("XMinioStorageFull")), "it is full", "quota", False),
        (of_s3(client_error("QuotaExceeded")), "it is full", "quota", False),
        (of_s3(client_error("SlowDown")), "SlowDown", "", True),
        (of_s3(client_error("", 503)), "503", "", True),
        (of_fsspec(OSError(errno.ENOSPC, "No space")), "it is full: No space", "quota", False),
        (of_fsspec(OSError(errno.EDQUOT, "Disk quota exceeded")), "it is full", "quota", False),
        (
            of_fsspec(PermissionError(errno.EACCES, "no")),
            "access is denied",
            "permissions",
            False,
        ),
        (of_fsspec(ConnectionRefusedError(errno.ECONNREFUSED, "no")), "it does not respond", "network", True),
        (of_fsspec(TimeoutError()), "it does not respond", "network", True),
        (of_fsspec(FileNotFoundError("bucket")), "it does not exist", "correct the name", False),
        (of_fsspec(ValueError("odd")), "odd", "address", False),
    ],
)
def test_answers_in_words(error: ObjectStoreError, said: str, then: str, passing: bool) -> None:
    assert said in str(error)
    assert then in error.then
    assert error.passing == passing


def test_no_password_is_said(tmp_path: Path) -> None:
    with pytest.raises(MtlvError) as caught:
        open_store(StoreLocation("webdav+http://me:secret@127.0.0.1/x", str(tmp_path)))
    assert "secret" not in str(caught.value)
    assert "secret" not in StoreLocation("sftp://me:secret@host/x").words
    assert "secret" not in str(StoreLocation("sftp://me:secret@host/x").folder)


def test_a_server_without_conditional_writes_is_best_effort(
    keys: pytest.MonkeyPatch, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setattr(objects, "SETTLE", 0.0)
    made = objects_s3.S3Objects("s3://old/x")
    made._client.create_bucket(Bucket="old")
    put = made._client.put_object

    def old(**given: object) -> object:
        if "IfNoneMatch" in given:
            raise client_error("NotImplemented", 501)
        return put(**given)

    monkeypatch.setattr(made._client, "put_object", old)
    assert [made.create("a", b"1"), made.create("a", b"2")] == [True, False]
    assert made.get("a") == b"1"
    assert not made.exclusive


def test_an_upload_tells_as_much_as_a_small_object(
    keys: pytest.MonkeyPatch, server: str, tmp_path: Path
) -> None:
    keys.setenv("AWS_ENDPOINT_URL", server)
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(ObjectStoreError, match="the bucket does not exist"):
        objects_s3.S3Objects("s3://nowhere/x").upload("a", tmp_path / "file")


def test_a_full_disk_of_this_machine_is_not_the_address_that_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = ObjectClient("memory://full-disk", pauses=())
    far.objects.put("a", b"x")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(far.objects._fs, "get_file", full)
    with pytest.raises(TrackingError) as caught:
        far.download("a", tmp_path / "a")
    assert str(caught.value) == (
        f"{tmp_path} on this machine cannot be written (got No space left on device); free disk space, or "
        "set `store.cache` to another folder."
    )


@pytest.mark.parametrize("medium", ["file", "memory", "s3"])
def test_every_medium_keeps_the_same_words(
    medium: str, keys: pytest.MonkeyPatch, server: str, tmp_path: Path
) -> None:
    """What the rest of the store builds on."""
    keys.setenv("AWS_ENDPOINT_URL", server)
    if medium == "s3":
        import boto3

        boto3.client("s3").create_bucket(Bucket="words")
    base = {"file": f"file://{tmp_path}/far", "memory": "memory://words", "s3": "s3://words/deep/er"}[medium]
    made = open_objects(base)
    assert made.exclusive
    assert made.names("a") == {}
    assert made.get("a/b") is None
    assert not made.download("a/b", tmp_path / "got")
    assert [made.create("a/b", b"12"), made.create("a/b", b"3")] == [True, False]
    (tmp_path / "file").write_bytes(b"x" * 9_000_000)  # in several parts
    made.upload("a/c/d", tmp_path / "file")
    made.put("a/b", b"4567")
    assert made.names("a") == {"a/b": 4, "a/c/d": 9_000_000}
    assert made.names("a/c") == {"a/c/d": 9_000_000}
    assert made.get("a/b") == b"4567"
    assert made.download("a/c/d", tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == (tmp_path / "file").read_bytes()
    made.delete(["a/b", "a/c/d", "a/nothing"])
    assert made.names("a") == {}


@pytest.mark.parametrize("content", [b"", b"text\n", bytes(range(256))])
def test_what_is_sealed_is_whole_or_refused(content: bytes) -> None:
    whole = with_checksum(content)
    assert unsealed(whole) == content
    for end in range(len(whole)):
        with pytest.raises(ValueError, match="checksum"):
            unsealed(whole[:end])
    for place in range(len(whole)):
        with pytest.raises(ValueError, match="checksum"):
            unsealed(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])


def test_a_worker_says_that_its_store_is_out_of_its_reach(tmp_path: Path) -> None:
    """What the suite's own machine reaches another may not."""
    worker, said = Worker(StoreLocation("file:///proc/nowhere/store", str(tmp_path)), 1), []
    try:
        ending = worker.train(TrainRequest(None, 1, False), said.append)
    finally:
        worker.end(GRACE)
    assert said == [ending]
    assert isinstance(ending, Failed)
    error = ending.error
    assert isinstance(error, TrackingError)
    assert "`store.uri`: file:///proc/nowhere/store cannot be used" in str(error)


def test_commands_take_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    address = f"file://{tmp_path}/far"
    assert main(["status", "--store", address]) == 0
    assert main(["clean", "--store", address]) == 0
    assert main(["sync", "--store", address]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"no suite has run with the store `{address}` yet")
    assert said[1] == f"{address}: nothing to clean"
    assert said[2].startswith("nothing to upload")
    assert main(["status", "--store", "s4://x"]) == 2
    assert "unknown scheme" in capsys.readouterr().err
