"""Archives from elsewhere: no links, no bombs, no traceback."""

from __future__ import annotations

import gzip
import io
import tarfile
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtlv.data import catalog
from mtlv.data.archives import documents
from mtlv.data.options import DataOptions
from mtlv.errors import DataError

FILE, FOLDER = tarfile.REGTYPE, tarfile.DIRTYPE


def archive(members, packing="gz"):
    """(name, type) of each member; files hold `ok`, links lead to /etc/passwd."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{packing}") as tar:
        for name, kind in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            if kind == FILE:
                info.size = 2
                tar.addfile(info, io.BytesIO(b"ok"))
            else:
                info.linkname = "/etc/passwd"
                tar.addfile(info)
    return buffer.getvalue()


def read(path, wanted=lambda _: True):
    return list(documents(path, wanted))


def refused(folder, content, message):
    """Reading refuses it."""
    folder.mkdir(exist_ok=True)
    (folder / "x.tgz").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read(folder / "x.tgz")
    return folder / "x.tgz"


@pytest.mark.parametrize("packing", ["", "gz", "bz2", "xz"])
def test_reads_what_is_plain(tmp_path, packing):
    (tmp_path / "x.tgz").write_bytes(archive([("a", FOLDER), ("a/b.txt", FILE), ("c.txt", FILE)], packing))
    assert read(tmp_path / "x.tgz") == [("a/b.txt", b"ok"), ("c.txt", b"ok")]
    assert read(tmp_path / "x.tgz", lambda name: name.startswith("a")) == [("a/b.txt", b"ok")]
    assert [path.name for path in tmp_path.iterdir()] == ["x.tgz"]


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("link", tarfile.SYMTYPE, "is a link or device"),
        ("hard", tarfile.LNKTYPE, "is a link or device"),
        ("device", tarfile.CHRTYPE, "is a link or device"),
        ("disk", tarfile.BLKTYPE, "is a link or device"),
        ("pipe", tarfile.FIFOTYPE, "is a link or device"),
        ("good.txt", FILE, "is there twice.*got good.txt"),
        ("./good.txt", FILE, "is there twice.*got ./good.txt"),
        ("a/.././/good.txt", FILE, "is there twice.*got a/.././/good.txt"),
    ],
)
def test_a_hostile_archive_is_refused(tmp_path, name, kind, message):
    refused(tmp_path, archive([("good.txt", FILE), (name, kind)]), message)


def header(name, size, kind=FILE):
    """A member's header that says `size`, with nothing behind it."""
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def test_a_bomb_is_refused_by_what_it_says_of_itself(tmp_path):
    content = gzip.compress(header("bomb.txt", 5_000_000_000))
    refused(tmp_path, content, "too large to unpack .got 1 members, 5,000,000,000 bytes and more")


def test_many_small_members_add_up(tmp_path, monkeypatch):
    content = archive([(f"{i}.txt", FILE) for i in range(12)])
    monkeypatch.setattr("mtlv.data.archives.MOST_UNPACKED", 20)
    path = refused(tmp_path, content, "too large to unpack .got 11 members, 22 bytes and more")
    monkeypatch.setattr("mtlv.data.archives.MOST_UNPACKED", 1000)
    monkeypatch.setattr("mtlv.data.archives.MOST_MEMBERS", 10)
    with pytest.raises(DataError, match=r"too large to unpack .*; allowed: up to 10 members"):
        read(path, lambda _: False)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, b"Q"])
def test_a_header_that_would_fill_the_memory(tmp_path, kind):
    refused(
        tmp_path,
        gzip.compress(header("x", 10**9, kind)),
        "cannot be read as an archive .*a header of 1,000,000,000 bytes",
    )


def test_a_zip_archive_is_read_and_nothing_is_unpacked(tmp_path):
    path = tmp_path / "within" / "x.tgz"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as pack:
        pack.mkdir("a")
        pack.writestr("../out.txt", "x")
        pack.writestr("a.bin", b"", zipfile.ZIP_LZMA)
    assert read(path, lambda name: name.endswith(".txt")) == [("../out.txt", b"x")]
    assert list(tmp_path.rglob("*")) == [path.parent, path]
    with pytest.raises(DataError, match=r"a member that has an unusual compression .got a.bin"):
        read(path)


def test_a_folder_is_read_in_order(tmp_path):
    (tmp_path / "b").mkdir()
    for name in ("b/2.txt", "b/1.txt", "a.txt", "b/1.bin"):
        (tmp_path / name).write_text(name)
    names = [f"{tmp_path.name}/{name}" for name in ("a.txt", "b/1.txt", "b/2.txt")]
    assert [name for name, _ in read(tmp_path, lambda name: name.endswith(".txt"))] == names


def test_what_is_no_archive(tmp_path):
    whole = archive([("a.txt", FILE)] * 1)
    for i, content in enumerate([b"", b"text", whole[:30], gzip.compress(b"\xff" * 3000)]):
        refused(tmp_path / str(i), content, "cannot be read as an archive")


def test_documents_that_are_no_files_or_too_large(tmp_path):
    path = tmp_path / "x.tgz"
    for kind, message in (
        (tarfile.SYMTYPE, "is a link"),
        (tarfile.LNKTYPE, "is a link"),
        (FILE, "larger than 1 "),
    ):
        path.write_bytes(archive([("a.txt", kind)]))
        with pytest.raises(DataError, match=message):
            list(documents(path, lambda name: name.endswith(".txt"), largest=1))


HOSTILE = {
    "openi": [("r/1.xml", tarfile.SYMTYPE), ("r/1.xml", tarfile.LNKTYPE), ("r/1.xml", tarfile.FIFOTYPE)],
    "hoc": [("text/1.txt", tarfile.SYMTYPE), ("labels/1.txt", tarfile.LNKTYPE)],
    "ohsumed": [("x/training/C01/1", tarfile.SYMTYPE), ("x/test/C01/1", tarfile.CHRTYPE)],
}


@pytest.mark.parametrize(
    ("name", "member"), [(name, m) for name, members in HOSTILE.items() for m in members]
)
def test_corpora_read_no_links(tmp_path, name, member):
    (tmp_path / "x.tar.gz").write_bytes(archive([member]))
    with pytest.raises(DataError, match="is a link or device"):
        catalog.load(name, DataOptions(path=tmp_path / "x.tar.gz"))


@pytest.mark.parametrize(
    "xml",
    [
        b'<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><r>&b;</r>',
        b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>',
        '<!DOCTYPE r [<!ENTITY a "a">]><r>&a;</r>'.encode("utf-16"),
        b"<r><unclosed>",
        b"\xff\xfe\x00",
        b"",
    ],
)
def test_reports_without_entities(tmp_path, xml):
    (tmp_path / "1.xml").write_bytes(xml)
    with pytest.raises(DataError, match=r"is not a plain report|is invalid XML"):
        catalog.load("openi", DataOptions(path=tmp_path))


@given(st.data())
def test_damage_anywhere_is_answered(data):
    whole = archive(
        [("a", FOLDER), ("a/b.txt", FILE), ("c.txt", FILE)], data.draw(st.sampled_from(["", "gz", "xz"]))
    )
    start = data.draw(st.integers(0, len(whole)))
    damaged = (
        whole[:start] + data.draw(st.binary(max_size=12)) + whole[start + data.draw(st.integers(0, 600)) :]
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.tgz"
        path.write_bytes(damaged)
        with suppress(DataError):
            read(path)
