"""A folder that is removed has no name any more, or is removed as far as it can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtlv.disk import remove


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
