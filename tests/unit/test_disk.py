"""A folder that is removed has no name any more, or is removed as far as it can be."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from mtlv.disk import remove, write_atomically


def test_nothing_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "unit"
    folder.mkdir()
    (folder / "file").write_text("x")
    remove(folder)
    remove(folder)  # gone already
    assert list(tmp_path.iterdir()) == []


def test_where_its_name_cannot_be_taken_it_is_removed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    folder = tmp_path / "unit"
    folder.mkdir()
    (folder / "file").write_text("x")
    monkeypatch.setattr(Path, "replace", refuse)
    remove(folder)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    with write_atomically(path) as part:
        part.write_text("1")
        assert not path.exists()
    with suppress(ZeroDivisionError), write_atomically(path) as part:
        part.write_text("2")
        raise ZeroDivisionError
    with write_atomically(path):
        pass  # writes nothing
    assert path.read_text() == "1"
    assert list(path.parent.iterdir()) == [path]
