"""Checkpoint files: whole or set aside."""

from __future__ import annotations

import errno
import hashlib
import io
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from mtlv.errors import TrackingError
from mtlv.store import checkpoints
from mtlv.store.checkpoints import ENDING, Checkpoints, read

STATE = {
    "weights": torch.arange(6.0),
    "epoch": 3,
    "names": ["a", "b"],
    "inner": {"loss": [torch.tensor(0.5)]},
}


def written(folder: Path, *steps: int) -> list[Path]:
    of_unit = Checkpoints(folder)
    for step in steps:
        of_unit.write(step, STATE | {"step": step})
    of_unit.wait()
    of_unit.close()
    return sorted(folder.glob(f"*{ENDING}"))


def newest(folder: Path) -> tuple[dict[str, Any] | None, list[str]]:
    warnings: list[str] = []
    return Checkpoints(folder).newest(warnings.append), warnings


def test_what_was_written_is_read(tmp_path: Path) -> None:
    written(tmp_path / "unit", 7)
    found, warnings = newest(tmp_path / "unit")
    assert found is not None
    assert found["step"] == 7
    assert torch.equal(found["weights"], STATE["weights"])
    assert not warnings


def test_two_are_kept_and_nothing_else_lies_about(tmp_path: Path) -> None:
    files = written(tmp_path, 1, 2, 10)
    assert [read(path)["step"] for path in files] == [2, 10]
    assert sorted(tmp_path.iterdir()) == files


@pytest.mark.parametrize("cut", [0, 1, 40, 63, 64, 89, 90, 91, 500])
def test_a_torn_file_is_set_aside_and_the_one_before_it_used(tmp_path: Path, cut: int) -> None:
    last = written(tmp_path, 1, 2)[-1]
    last.write_bytes(last.read_bytes()[: -cut - 1])
    found, warnings = newest(tmp_path)
    assert found is not None
    assert found["step"] == 1
    assert str(last) in warnings[0]
    assert "truncated" in warnings[0]
    assert last.with_name(last.name + ".damaged").exists()
    assert newest(tmp_path)[1] == []


@pytest.mark.parametrize("place", [0, 100, -200, -1])
def test_a_changed_byte_is_found(tmp_path: Path, place: int) -> None:
    last = written(tmp_path, 1, 2)[-1]
    data = bytearray(last.read_bytes())
    data[place] ^= 1
    last.write_bytes(data)
    found, warnings = newest(tmp_path)
    assert found is not None
    assert found["step"] == 1
    assert len(warnings) == 1


@pytest.mark.parametrize("content", [b"", b"\0" * 1000, b"not a checkpoint"])
def test_without_a_whole_one_a_unit_begins_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / f"000000001{ENDING}").write_bytes(content)
    found, warnings = newest(tmp_path)
    assert found is None
    assert len(warnings) == 1


def test_code_in_a_checkpoint_is_not_run(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple:
            return (Path.touch, (tmp_path / "ran",))

    of_unit = Checkpoints(tmp_path / "unit")
    of_unit.write(1, {"weights": Evil()})
    of_unit.wait()
    found, warnings = newest(tmp_path / "unit")
    assert found is None
    assert "cannot be loaded" in warnings[0]
    assert not (tmp_path / "ran").exists()


def test_a_full_disk_leaves_the_checkpoint_before_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, 1)

    def full(path: Path, state: object) -> None:
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoints, "write", full)
    of_unit = Checkpoints(tmp_path)
    of_unit.write(2, STATE | {"large": torch.zeros(10**6)})
    with pytest.raises(TrackingError) as raised:
        of_unit.wait()
    said = re.escape("a checkpoint of 4.0 MB cannot be written to")
    assert re.match(said, str(raised.value))
    free = shutil.disk_usage(tmp_path).free / 1e6
    needed, there = map(float, re.findall(r"([0-9.]+) MB (?:are needed|are free)", str(raised.value)))
    assert needed == 12.0
    assert there == pytest.approx(free, rel=0.01)
    found, _ = newest(tmp_path)
    assert found is not None
    assert found["step"] == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_removing_takes_the_folder(tmp_path: Path) -> None:
    written(tmp_path / "unit", 1, 2)
    Checkpoints(tmp_path / "unit").remove()
    assert not (tmp_path / "unit").exists()


def signed(content: bytes) -> bytes:
    """`content` with the end that a checkpoint has."""
    return content + checkpoints.MARK + hashlib.sha256(content).hexdigest().encode()


def lying(numbers: bytes) -> bytes:
    """A checkpoint whose tensor says that it has other sizes than it has."""
    whole, out = io.BytesIO(), io.BytesIO()
    torch.save({"weights": torch.arange(77.0)}, whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("data.pkl"):
                assert b"K\x4d" in data
                data = data.replace(b"K\x4d", numbers)
            target.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        lying(b"\x8a\x06" + (10**13).to_bytes(6, "little")),
        lying(b"\x8a\x09" + (2**65).to_bytes(9, "little")),
        lying(b"\x8a\x01\xff"),
        b"PK\x05\x06" + b"\xff" * 18,
    ],
    ids=["10 TB", "more than an address", "less than nothing", "a directory of 4 GB"],
)
def test_sizes_that_lie_are_found_before_they_fill_the_memory(tmp_path: Path, content: bytes) -> None:
    (tmp_path / f"000000001{ENDING}").write_bytes(signed(content))
    found, warnings = newest(tmp_path)
    assert found is None
    assert "cannot be loaded" in warnings[0]
    assert len(warnings[0]) < 600


def test_a_huge_file_that_is_no_checkpoint_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / f"000000001{ENDING}").open("wb") as file:
        file.truncate(2**40)  # takes no room on the disk
    found, warnings = newest(tmp_path)
    assert found is None
    assert "truncated, or has another format" in warnings[0]
