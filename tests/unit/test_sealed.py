"""Small files with a checksum: any change is detected, and the file is moved aside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtlv.sealed import read_sealed, seal, unseal, write_sealed

CONTENT = {"name": "Größe 肺", "numbers": [1, 2.5, None], "of": {"a": True, "b": ""}}


def test_content_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "a.json"
    write_sealed(path, CONTENT)
    assert read_sealed(path, pytest.fail, "") == CONTENT
    assert unseal(seal(CONTENT, indent=1)) == CONTENT
    assert [file.name for file in path.parent.iterdir()] == ["a.json"]


def test_a_file_that_is_not_there_is_no_damage(tmp_path: Path) -> None:
    assert read_sealed(tmp_path / "a.json", pytest.fail, "") is None


def test_no_change_of_a_bit_is_read() -> None:
    text = seal(CONTENT).encode()
    for place in range(len(text)):
        for bit in (0, 5, 7):
            changed = text[:place] + bytes([text[place] ^ (1 << bit)]) + text[place + 1 :]
            try:
                assert unseal(changed) == CONTENT, place  # white space
            except ValueError:
                continue


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff", b'{"name": 1}', b"[" * 100_000])
def test_damage_is_moved_aside_and_reported(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    for _ in range(2):
        path.write_bytes(content)
        warnings: list[str] = []
        assert read_sealed(path, warnings.append, "it is made again") is None
        assert len(warnings) == 1
        assert "a.json.damaged" in warnings[0]
        assert "it is made again" in warnings[0]
        assert [file.name for file in tmp_path.iterdir()] == ["a.json.damaged"]


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_sealed(path, {"a": "x" * 1000})
    warnings: list[str] = []
    assert read_sealed(path, warnings.append, "", most_bytes=500) is None
    assert "more than 500" in warnings[0]


def test_the_order_of_keys_is_no_content() -> None:
    def turned(value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {key: turned(value[key]) for key in reversed(value)}

    assert unseal(json.dumps(turned(json.loads(seal(CONTENT))))) == CONTENT


def test_another_value_of_any_key_is_detected() -> None:
    sealed = json.loads(seal(CONTENT))
    for key in sealed:
        with pytest.raises(ValueError, match="checksum"):
            unseal(json.dumps({**sealed, key: "other"}))
        with pytest.raises(ValueError, match="checksum"):
            unseal(json.dumps({name: value for name, value in sealed.items() if name != key}))


def test_what_cannot_be_read_is_damage_too(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    warnings: list[str] = []
    assert read_sealed(tmp_path / "a.json", warnings.append, "it is made again") is None
    assert len(warnings) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["a.json.damaged"]


def test_damage_that_cannot_be_moved_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "a.json").write_text("{")
    monkeypatch.setattr(Path, "replace", full)
    warnings: list[str] = []
    assert read_sealed(tmp_path / "a.json", warnings.append, "it is made again") is None
    assert "cannot be moved aside (No space left on device); it is made again" in warnings[0]
