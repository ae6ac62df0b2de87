"""Fetching: checked and limited. No network: a server of a few lines."""

from __future__ import annotations

import hashlib
import io
import urllib.error
from dataclasses import replace

import pytest

from mtlv.data import catalog
from mtlv.data import fetch as fetching
from mtlv.data.fetch import _HttpsOnly, fetch
from mtlv.data.source import Card, Download
from mtlv.errors import DataError

BODY = bytes(range(256)) * 1000
ITEM = Download(
    "https://example.org/f.bin", "f.bin", max_bytes=1_000_000, sha256=hashlib.sha256(BODY).hexdigest()
)


class Response(io.BytesIO):
    def __init__(self, body, headers):
        super().__init__(body)
        self.headers = headers


class Server:
    """Answers as a web server does; `ends` is where its connection breaks."""

    def __init__(self, body=BODY, ends=None, length=True):
        self.body, self.ends, self.length = body, ends, length

    def __call__(self, request):
        headers = {"Content-Length": str(len(self.body))} if self.length else {}
        return Response(self.body[: self.ends], headers)


def download(item, folder, *, opener, **how):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetching, "_open", opener)
        return fetching.download(item, folder, **how)


def test_download_with_progress(tmp_path):
    seen = []
    path = download(
        ITEM, tmp_path / "new", progress=lambda done, total: seen.append((done, total)), opener=Server()
    )
    assert path.read_bytes() == BODY
    assert seen[-1] == (len(BODY), len(BODY))
    assert [file.name for file in path.parent.iterdir()] == ["f.bin"]


def test_a_broken_download_leaves_nothing(tmp_path):
    with pytest.raises(DataError, match=r"ended after 100,000 of 256,000 bytes.*run the command again"):
        download(ITEM, tmp_path, opener=Server(ends=100_000))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("length", [True, False])
def test_size_limit(tmp_path, length):
    with pytest.raises(DataError, match=r"larger than expected .*allowed: 1,000"):
        download(replace(ITEM, max_bytes=1000), tmp_path, opener=Server(length=length))
    assert not (tmp_path / "f.bin").exists()


def test_wrong_checksum(tmp_path):
    with pytest.raises(DataError, match="wrong checksum and was deleted"):
        download(ITEM, tmp_path, opener=Server(body=b"other"))
    assert not list(tmp_path.iterdir())


def test_https_only(tmp_path):
    with pytest.raises(DataError, match="only https"):
        download(replace(ITEM, url="http://example.org/f.bin"), tmp_path, opener=Server())
    with pytest.raises(DataError, match="only https"):
        _HttpsOnly().redirect_request(None, None, 302, "", {}, "http://example.org/f.bin")


def test_no_connection(tmp_path):
    def refuse(request):
        raise urllib.error.URLError("no route")

    with pytest.raises(DataError, match=r"could not be downloaded .*no route"):
        download(ITEM, tmp_path, opener=refuse)


def test_fetch_knows_what_is_there(tmp_path, monkeypatch):
    item = replace(ITEM, sha256=None)
    card = Card("made", "Made", "-", "-", "-", downloads=(item,))
    monkeypatch.setattr(fetching, "_open", Server())
    lines = fetch(card, tmp_path)
    assert (tmp_path / "f.bin").read_bytes() == BODY
    assert "no published checksum" in lines[1]
    monkeypatch.setattr(fetching, "_open", None)
    assert "already exists" in fetch(card, tmp_path)[0]


def test_a_corpus_without_downloads_says_what_to_do(tmp_path):
    with pytest.raises(DataError, match=r"plain http only.*set `data.path`"):
        fetch(catalog.card("ohsumed"), tmp_path)
